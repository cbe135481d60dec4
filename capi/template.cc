// krafla_template_* and krafla_rendered_*. Rendered pieces keep their trust, so that they can go
// into krafla_tokenizer_encode_pieces as they are.
#include <vector>

#include "capi/guard.h"
#include "capi/handles.h"
#include "capi/structs.h"
#include "lib/chat/builtin.h"

using namespace krafla;  // NOLINT: the definitions below are the global C functions
using capi::Guard;

namespace {

Status Make(krafla_template** out, std::string_view source) {
  KRAFLA_ASSIGN_OR_RETURN(std::unique_ptr<ChatTemplate> parsed, ChatTemplate::Parse(source));
  *out = new krafla_template{std::move(parsed), std::string(source)};
  return OkStatus();
}

}  // namespace

namespace krafla::capi {

StatusOr<std::vector<TrustedVariable>> HostVariables(const Tokenizer& tokenizer) {
  std::vector<TrustedVariable> variables;
  const std::pair<const char*, int32_t> named[] = {{"bos_token", tokenizer.bos_id()},
                                                   {"eos_token", tokenizer.eos_id()},
                                                   {"unk_token", tokenizer.unk_id()},
                                                   {"pad_token", tokenizer.pad_id()}};
  for (const auto& [name, id] : named) {
    if (id == Tokenizer::kNoToken) continue;
    KRAFLA_ASSIGN_OR_RETURN(const std::string_view text, tokenizer.TokenText(id));
    variables.push_back({name, text});
  }
  return variables;
}

}  // namespace krafla::capi

extern "C" {

int32_t krafla_template_from_model(krafla_template** out, const krafla_model* model) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(out);
    KRAFLA_CHECK_POINTER(model);
    const Model& inner = *model->shared->model;
    if (inner.chat_template().empty()) {
      return NotFoundError("template: {} carries none", inner.file().source().name());
    }
    return Make(out, inner.chat_template());
  });
}

int32_t krafla_template_from_tokenizer(krafla_template** out, const krafla_tokenizer* tokenizer) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(out);
    KRAFLA_CHECK_POINTER(tokenizer);
    if (tokenizer->template_source.empty()) {
      return NotFoundError("template: the tokenizer's file carries none");
    }
    return Make(out, tokenizer->template_source);
  });
}

int32_t krafla_template_parse(krafla_template** out, const char* source, size_t length) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(out);
    KRAFLA_ASSIGN_OR_RETURN(std::string_view view, capi::ReadString(source, length, "source"));
    return Make(out, view);
  });
}

int32_t krafla_template_builtin(krafla_template** out, const char* name, size_t length) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(out);
    KRAFLA_ASSIGN_OR_RETURN(std::string_view view, capi::ReadString(name, length, "name"));
    KRAFLA_ASSIGN_OR_RETURN(std::string_view source, BuiltinTemplate(view));
    return Make(out, source);
  });
}

void krafla_template_free(krafla_template* tmpl) { delete tmpl; }

int32_t krafla_template_render(krafla_rendered** out, const krafla_template* tmpl,
                               const krafla_tokenizer* tokenizer, const char* json, size_t length) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(out);
    KRAFLA_CHECK_POINTER(tmpl);
    KRAFLA_ASSIGN_OR_RETURN(std::string_view view, capi::ReadString(json, length, "json"));
    std::vector<TrustedVariable> variables;
    if (tokenizer != nullptr) {
      KRAFLA_ASSIGN_OR_RETURN(variables, capi::HostVariables(*tokenizer->tokenizer));
    }
    auto rendered = std::make_unique<krafla_rendered>();
    KRAFLA_ASSIGN_OR_RETURN(rendered->runs, tmpl->chat_template->Render(view, variables));
    for (const TextRun& run : rendered->runs) {
      rendered->pieces.push_back({run.text.data(), run.text.size(), run.trusted ? 1 : 0, 0});
    }
    *out = rendered.release();
    return OkStatus();
  });
}

void krafla_rendered_free(krafla_rendered* rendered) { delete rendered; }

int32_t krafla_rendered_get_pieces(const krafla_rendered* rendered, const krafla_piece** pieces,
                                   size_t* n) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(rendered);
    KRAFLA_CHECK_POINTER(pieces);
    KRAFLA_CHECK_POINTER(n);
    *pieces = rendered->pieces.data();
    *n = rendered->pieces.size();
    return OkStatus();
  });
}

}  // extern "C"
