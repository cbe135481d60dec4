// From messages to ids to a streamed reply.
#include "tools/run/talk.h"

#include <krafla/krafla.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "tools/interrupt.h"
#include "tools/output.h"
#include "tools/text_cells.h"

namespace krafla::tools {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double Rate(int64_t tokens, double seconds) {
  return seconds > 0 ? static_cast<double>(tokens) / seconds : 0;
}

ExitCode CheckUtf8(std::string_view what, std::string_view text) {
  const size_t at = FindMalformed(text);
  if (at == std::string_view::npos) return kExitOk;
  return Fail(kExitArguments, "{}: got a byte 0x{:02x} at offset {}, want UTF-8", what,
              static_cast<unsigned char>(text[at]), at);
}

// What on_token writes and notes.
struct Stream {
  std::string* text;
  ExitCode written = kExitOk;
};

int OnToken(void* user, const krafla_token* token) {
  auto* stream = static_cast<Stream*>(user);
  const std::string_view text(token->text_length > 0 ? token->text : "", token->text_length);
  stream->text->append(text);
  stream->written = WriteStdout(text);
  return stream->written != kExitOk || Interrupted() ? 1 : 0;
}

}  // namespace

ExitCode Talk::Open(const TalkArgs& args) {
  if (ExitCode e = CreateSampler(args.sampler, &sampler_)) return e;
  if (ExitCode e = OpenRuntime(args.model.threads, &runtime_)) return e;
  if (ExitCode e = OpenModel(args.model, runtime_.get(), &model_)) return e;
  if (ExitCode e = OpenTokenizer(args.model, model_.get(), &tokenizer_)) return e;
  if (ExitCode e = SetBreakers(args.sampler, tokenizer_.get(), sampler_.get())) return e;
  if (ExitCode e = CompileConstraint(args.constraint, tokenizer_.get(), &constraint_)) return e;
  if (ExitCode e = OpenTemplate(args)) return e;
  if (ExitCode e = CheckUtf8("--system", args.system)) return e;
  if (args.has_system && !has_template()) {
    return Fail(kExitArguments, "--system: there is no chat template to put it into");
  }
  if (ExitCode e = CreateSession(args.model, model_.get(), &session_)) return e;
  krafla_session_info info{};
  info.struct_size = sizeof(info);
  (void)krafla_session_get_info(session_.get(), &info);
  context_ = info.context;
  return OpenSpeculation(args);
}

ExitCode Talk::OpenSpeculation(const TalkArgs& args) {
  if (args.lookup) speculation_.kind = KRAFLA_SPECULATE_LOOKUP;
  if (args.draft.empty()) return kExitOk;
  ModelArgs model = args.model;
  model.model = args.draft;
  if (ExitCode e = OpenModel(model, runtime_.get(), &draft_model_)) return e;
  model.context = std::min(context_, ModelInfo(draft_model_.get()).max_context);
  if (ExitCode e = CreateSession(model, draft_model_.get(), &draft_)) return e;
  speculation_.kind = KRAFLA_SPECULATE_MODEL;
  speculation_.draft = draft_.get();
  return kExitOk;
}

ExitCode Talk::OpenTemplate(const TalkArgs& args) {
  if (args.chat == "none") return kExitOk;
  if (args.chat != "auto") {
    const int32_t code =
        Create(&template_, krafla_template_builtin, args.chat.data(), args.chat.size());
    if (code == KRAFLA_E_NOT_FOUND) {
      return FailAs(kExitArguments, "--chat");
    }
    return code == KRAFLA_OK ? kExitOk : FailWith(code, "--chat");
  }
  // A tokenizer given with -z brings its own template; without one, the model's still fits the
  // model.
  int32_t code = KRAFLA_E_NOT_FOUND;
  if (!args.model.tokenizer.empty()) {
    code = Create(&template_, krafla_template_from_tokenizer, tokenizer_.get());
  }
  if (code == KRAFLA_E_NOT_FOUND) {
    code = Create(&template_, krafla_template_from_model, model_.get());
  }
  if (code == KRAFLA_OK || code == KRAFLA_E_NOT_FOUND) return kExitOk;
  // One that does not parse is a fault of its file.
  const ExitCode exit_code = code == KRAFLA_E_TEMPLATE ? kExitModelFile : ExitCodeOf(code);
  return FailAs(exit_code, "chat template (--chat none does without)");
}

ExitCode Talk::Render(const std::vector<Message>& messages, std::vector<int32_t>* ids) const {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Message& message : messages) {
    if (ExitCode e = CheckUtf8("prompt", message.content)) return e;
    list.push_back({{"role", message.role}, {"content", message.content}});
  }
  const nlohmann::ordered_json input = {{"messages", list}, {"add_generation_prompt", true}};
  const std::string json = input.dump();
  RenderedPtr rendered;
  int32_t code = Create(&rendered, krafla_template_render, template_.get(), tokenizer_.get(),
                        json.data(), json.size());
  // The template refuses what it was given: a role, a text beyond its limits.
  if (code == KRAFLA_E_TEMPLATE) return FailAs(kExitArguments, "chat template");
  if (code != KRAFLA_OK) return FailWith(code, "chat template");
  const krafla_piece* pieces = nullptr;
  size_t n_pieces = 0;
  code = krafla_rendered_get_pieces(rendered.get(), &pieces, &n_pieces);
  if (code != KRAFLA_OK) return FailWith(code, "chat template");
  return EncodePieces(pieces, n_pieces, 0, ids);  // a template writes the special tokens itself
}

ExitCode Talk::Encode(std::string_view text, std::vector<int32_t>* ids) const {
  const krafla_piece piece{text.data(), text.size(), 0, 0};
  if (ExitCode e = EncodePieces(&piece, 1, KRAFLA_ENCODE_SPECIAL, ids)) return e;
  if (!ids->empty()) return kExitOk;
  // An empty text: from the token that begins one, where there is such a token.
  krafla_tokenizer_info info{};
  info.struct_size = sizeof(info);
  (void)krafla_tokenizer_get_info(tokenizer_.get(), &info);
  if (info.bos_id < 0) return Fail(kExitArguments, "prompt: got no tokens, want at least one");
  ids->push_back(info.bos_id);
  return kExitOk;
}

ExitCode Talk::EncodePieces(const krafla_piece* pieces, size_t n_pieces, uint32_t flags,
                            std::vector<int32_t>* ids) const {
  size_t bytes = 16;  // room for special tokens; a token has at least one byte, mostly
  for (size_t i = 0; i < n_pieces; ++i) bytes += pieces[i].length;
  ids->resize(bytes);
  size_t n = 0;
  int32_t code = krafla_tokenizer_encode_pieces(tokenizer_.get(), pieces, n_pieces, flags,
                                                ids->data(), ids->size(), &n);
  if (code == KRAFLA_E_BUFFER) {
    ids->resize(n);
    code = krafla_tokenizer_encode_pieces(tokenizer_.get(), pieces, n_pieces, flags, ids->data(),
                                          ids->size(), &n);
  }
  if (code != KRAFLA_OK) return FailWith(code, "prompt");
  ids->resize(n);
  return kExitOk;
}

ExitCode Talk::ReadPrompt(const std::vector<int32_t>& ids) {
  if (static_cast<int64_t>(ids.size()) > context_) {
    return Fail(kExitArguments,
                "prompt: got {} tokens, want at most {}, the context (--ctx; the model allows {})",
                ids.size(), context_, ModelInfo(model_.get()).max_context);
  }
  if (ids.empty()) return Fail(kExitArguments, "prompt: got no tokens, want at least one");
  const auto start = Clock::now();
  const int32_t* known = nullptr;
  size_t n_known = 0;
  if (int32_t code = krafla_session_get_ids(session_.get(), &known, &n_known); code != KRAFLA_OK) {
    return FailWith(code, "session");
  }
  // One id at least is read, since its logits begin the reply.
  const size_t limit = std::min(n_known, ids.size() - 1);
  const size_t common =
      static_cast<size_t>(std::mismatch(known, known + limit, ids.begin()).first - known);
  if (common < n_known) {
    const int32_t code = CallUntilInterrupted(session_.get(), [&] {
      return krafla_session_truncate(session_.get(), static_cast<int64_t>(common));
    });
    if (code != KRAFLA_OK) return FailWith(code, "session");
  }
  const int32_t code = CallUntilInterrupted(session_.get(), [&] {
    return krafla_session_append(session_.get(), ids.data() + common, ids.size() - common, nullptr);
  });
  prompt_seconds_ += SecondsSince(start);
  if (code != KRAFLA_OK) return FailWith(code, "prompt");
  prompt_tokens_ += static_cast<int64_t>(ids.size() - common);
  for (size_t i = common; i < ids.size(); ++i) (void)krafla_sampler_accept(sampler_.get(), ids[i]);
  return Interrupted() ? kExitInterrupted : kExitOk;
}

ExitCode Talk::Generate(int64_t max_tokens, Reply* reply) {
  *reply = Reply();
  if (max_tokens == 0) return kExitOk;
  Stream stream{&reply->text};
  krafla_generate_options options = KRAFLA_GENERATE_OPTIONS_INIT;
  options.max_tokens = max_tokens > 0 ? max_tokens : 0;
  options.tokenizer = tokenizer_.get();
  options.on_token = OnToken;
  options.user = &stream;
  options.speculation = &speculation_;
  options.constraint = constraint_.get();
  krafla_generate_result result = KRAFLA_GENERATE_RESULT_INIT;
  const auto start = Clock::now();
  int32_t code = KRAFLA_OK;
  {
    const CancelOnInterrupt cancel(session_.get());
    code = krafla_session_generate(session_.get(), sampler_.get(), &options, &result);
  }
  reply_seconds_ += SecondsSince(start);
  reply_tokens_ += result.n_tokens;
  drafted_ += result.drafted;
  accepted_ += result.accepted;
  if (stream.written == kExitOk && IsTerminal(STDOUT_FILENO) && !reply->text.ends_with('\n')) {
    stream.written = WriteStdout("\n");
  }
  stdout_gone_ = stream.written != kExitOk;
  if (Interrupted()) return kExitInterrupted;
  if (stream.written != kExitOk) return stream.written;
  if (code != KRAFLA_OK) return FailWith(code, "reply");
  reply->finish = result.finish;
  return kExitOk;
}

void Talk::Forget() {
  (void)CallUntilInterrupted(session_.get(),
                             [&] { return krafla_session_truncate(session_.get(), 0); });
  (void)krafla_sampler_reset(sampler_.get());
}

std::string Talk::Statistics() const {
  std::string text = fmt::format(
      "prompt: {} tokens in {:.3f} s ({:.1f}/s); reply: {} tokens in {:.3f} s ({:.1f}/s)",
      prompt_tokens_, prompt_seconds_, Rate(prompt_tokens_, prompt_seconds_), reply_tokens_,
      reply_seconds_, Rate(reply_tokens_, reply_seconds_));
  if (speculation_.kind != KRAFLA_SPECULATE_NONE) {
    text += fmt::format("; drafted: {}, accepted: {}", drafted_, accepted_);
  }
  krafla_residency_info residency;
  if (GetResidency(model_.get(), &residency)) text += "\n" + StreamStatistics(residency);
  return text;
}

}  // namespace krafla::tools
