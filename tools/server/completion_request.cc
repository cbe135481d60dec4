// See completion_request.h.
#include "tools/server/completion_request.h"

#include <algorithm>

#include "tools/server/constraint_fields.h"
#include "tools/server/errors.h"
#include "tools/server/fields.h"
#include "tools/server/token_ids.h"

namespace krafla::server {
namespace {

constexpr size_t kMostPrompts = 64;
constexpr int64_t kMostChoices = 16;
constexpr int64_t kMostTop = 20;

// The markers of a text with a hole, as two families of code models write them.
constexpr const char* kHoleMarkers[][3] = {{"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"},
                                           {"<fim_prefix>", "<fim_suffix>", "<fim_middle>"}};

void AppendTo(std::vector<int32_t>* ids, const std::vector<int32_t>& more) {
  ids->insert(ids->end(), more.begin(), more.end());
}

// The prompt that asks for what is between the two texts.
std::vector<int32_t> FillIn(const ServedModel& model, const std::string& before,
                            const std::string& after) {
  for (const auto& markers : kHoleMarkers) {
    int32_t ids[3];
    bool all = true;
    for (int i = 0; i < 3; ++i) {
      const std::string_view text = markers[i];
      all &= krafla_tokenizer_find(model.tokenizer().get(), text.data(), text.size(), &ids[i]) ==
             KRAFLA_OK;
    }
    if (!all) continue;
    std::vector<int32_t> prompt{ids[0]};
    AppendTo(&prompt, model.Encode(before));
    prompt.push_back(ids[1]);
    AppendTo(&prompt, model.Encode(after));
    prompt.push_back(ids[2]);
    return prompt;
  }
  throw Unsupported("suffix", "the model has no markers for a text with a hole");
}

bool AllIntegers(const Json& array) {
  return std::all_of(array.begin(), array.end(), [](const Json& item) { return item.is_number(); });
}

}  // namespace

CompletionRequest::CompletionRequest(const Json& body, ServedModel* served)
    : model(served), sampling(Fields(body), *served) {
  const Fields fields(body);
  stream = fields.Bool("stream").value_or(false);
  if (const Json* options = fields.Object("stream_options")) {
    include_usage = Fields(*options, "stream_options").Bool("include_usage").value_or(false);
  }
  echo = fields.Bool("echo").value_or(false);
  n = fields.Integer("n", 1, kMostChoices).value_or(1);
  fields.RefuseUnless("best_of", n, "only as many as n are made");
  constraint = TextConstraint(fields, *model);
  if (constraint) sampling.SetConstraint(constraint->get());
  max_tokens = MostTokens(fields, 0).value_or(16);
  if (const auto top = fields.Integer("logprobs", 0, kMostTop)) {
    n_top = *top;
    sampling.SetLogprobs(n_top);
  }
  sampling.SetMaxTokens(max_tokens);

  const std::string suffix = fields.String("suffix").value_or("");
  uint32_t flags = KRAFLA_ENCODE_SPECIAL;
  // Whoever uses this endpoint writes the model's markers themselves.
  if (fields.Bool("parse_special").value_or(true)) flags |= KRAFLA_ENCODE_PARSE;
  const auto add_text = [&](const std::string& text) {
    model->CheckLength(text, flags);
    prompts.push_back(suffix.empty() ? model->Encode(text, flags) : FillIn(*model, text, suffix));
    texts.push_back(text);
    // An empty text: from the token that begins one, where there is such a token.
    const int32_t bos = model->tokenizer().info().bos_id;
    if (prompts.back().empty() && bos >= 0) prompts.back().push_back(bos);
  };
  const auto add_ids = [&](const Json& array) {
    if (!suffix.empty()) throw Unsupported("suffix", "goes with a prompt of text only");
    prompts.push_back(ReadIds(array, *model, "prompt"));
    texts.push_back(echo ? model->tokenizer().Decode(prompts.back()) : std::string());
  };
  const Json* prompt = fields.Find("prompt");
  if (prompt == nullptr) throw BadField("prompt", "is missing, want a string or token ids");
  if (prompt->is_string()) {
    add_text(prompt->get<std::string>());
  } else if (!prompt->is_array()) {
    throw BadField("prompt", "got {}, want a string, token ids, or an array of these",
                   Show(*prompt));
  } else if (AllIntegers(*prompt)) {
    add_ids(*prompt);
  } else {
    if (prompt->size() > kMostPrompts) {
      throw BadField("prompt", "got {} prompts, want at most {}", prompt->size(), kMostPrompts);
    }
    for (const Json& item : *prompt) {
      if (item.is_string()) {
        add_text(item.get<std::string>());
      } else if (item.is_array()) {
        add_ids(item);
      } else {
        throw BadField("prompt", "got {} in the array, want strings or arrays of token ids",
                       Show(item));
      }
    }
  }
  for (const std::vector<int32_t>& ids : prompts) {
    if (ids.empty()) throw BadField("prompt", "has no tokens, want at least one");
  }
}

}  // namespace krafla::server
