// From messages to a streamed reply.
#include "tools/run/talk.h"

#include <krafla/krafla.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <vector>

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

ExitCode FailPrompt(int32_t code) {
  if (code == KRAFLA_E_CONTEXT) {
    return Fail(kExitArguments, "{} (--ctx makes more room)", krafla_error_message());
  }
  // The template refuses what it was given: a role, a text beyond its limits.
  if (code == KRAFLA_E_TEMPLATE) return FailAs(kExitArguments, "chat template");
  return FailWith(code, "prompt");
}

krafla_session_info SessionInfo(const krafla_session* session) {
  krafla_session_info info{};
  info.struct_size = sizeof(info);
  (void)krafla_session_get_info(session, &info);
  return info;
}

// What on_token does and notes.
struct Stream {
  krafla_chat* chat;
  ExitCode written = kExitOk;
  bool empty = true;
  bool line_ended = false;
};

int OnToken(void* user, const krafla_token* token) {
  auto* stream = static_cast<Stream*>(user);
  if (token->text_length > 0) {
    const std::string_view text(token->text, token->text_length);
    stream->written = WriteStdout(text);
    stream->empty = false;
    stream->line_ended = text.ends_with('\n');
  }
  const bool pushed = stream->chat == nullptr || token->id < 0 ||
                      krafla_chat_push(stream->chat, token->id) == KRAFLA_OK;
  return !pushed || stream->written != kExitOk || Interrupted() ? 1 : 0;
}

}  // namespace

ExitCode Talk::Open(const TalkArgs& args) {
  args_ = args;
  if (ExitCode e = CreateSampler(args.sampler, &sampler_)) return e;
  (void)krafla_sampler_get_seed(sampler_.get(), &seed_);
  args_.sampler.seed = seed_;
  if (ExitCode e = OpenRuntime(args.model.threads, &runtime_)) return e;
  if (ExitCode e = OpenModel(args.model, runtime_.get(), &model_)) return e;
  if (ExitCode e = OpenTokenizer(args.model, model_.get(), &tokenizer_)) return e;
  if (ExitCode e = SetBreakers(args.sampler, tokenizer_.get(), sampler_.get())) return e;
  if (ExitCode e = CompileConstraint(args.constraint, tokenizer_.get(), &constraint_)) return e;
  if (ExitCode e = CreateSession(args.model, model_.get(), &session_)) return e;
  context_ = SessionInfo(session_.get()).context;
  if (ExitCode e = OpenChat()) return e;
  return OpenSpeculation();
}

ExitCode Talk::OpenSpeculation() {
  if (args_.lookup) speculation_.kind = KRAFLA_SPECULATE_LOOKUP;
  if (args_.draft.empty()) return kExitOk;
  ModelArgs model = args_.model;
  model.model = args_.draft;
  if (ExitCode e = OpenModel(model, runtime_.get(), &draft_model_)) return e;
  model.context = std::min(context_, ModelInfo(draft_model_.get()).max_context);
  if (ExitCode e = CreateSession(model, draft_model_.get(), &draft_)) return e;
  speculation_.kind = KRAFLA_SPECULATE_MODEL;
  speculation_.draft = draft_.get();
  return kExitOk;
}

ExitCode Talk::OpenChat() {
  TemplatePtr chat_template;
  int32_t code = KRAFLA_E_NOT_FOUND;
  if (args_.chat == "auto") {
    // A tokenizer given with -z brings its own template; without one, the model's still fits the
    // model.
    if (!args_.model.tokenizer.empty()) {
      code = Create(&chat_template, krafla_template_from_tokenizer, tokenizer_.get());
    }
    if (code == KRAFLA_E_NOT_FOUND) {
      code = Create(&chat_template, krafla_template_from_model, model_.get());
    }
  } else if (args_.chat != "none") {
    code = Create(&chat_template, krafla_template_builtin, args_.chat.data(), args_.chat.size());
  }
  if (code == KRAFLA_E_NOT_FOUND) {
    if (!args_.has_system) return kExitOk;
    return Fail(kExitArguments, "--system: there is no chat template to put it into");
  }
  krafla_chat_options options = KRAFLA_CHAT_OPTIONS_INIT;
  options.full = KRAFLA_CHAT_DROP_OLDEST;
  options.reserve = context_ / 8;  // so that a reply is more than its beginning
  if (args_.max_tokens > 0) options.reserve = std::min(options.reserve, args_.max_tokens);
  if (code == KRAFLA_OK) {
    code = Create(&chat_, krafla_chat_create, tokenizer_.get(), chat_template.get(), &options);
  }
  if (code != KRAFLA_OK) {
    // One that does not parse is a fault of its file.
    const ExitCode exit_code = code == KRAFLA_E_TEMPLATE ? kExitModelFile : ExitCodeOf(code);
    return FailAs(exit_code, "chat template (--chat none does without)");
  }
  if (!args_.has_system) return kExitOk;
  if (ExitCode e = CheckUtf8("--system", args_.system)) return e;
  code = krafla_chat_add(chat_.get(), "system", 6, args_.system.data(), args_.system.size());
  return code == KRAFLA_OK ? kExitOk : FailWith(code, "--system");
}

std::string Talk::Messages() const {
  if (chat_ == nullptr) return raw_;
  const char* json = "";
  size_t length = 0;
  (void)krafla_chat_get_json(chat_.get(), &json, &length, nullptr);
  return std::string(json, length);
}

void Talk::SetMessages(const std::string& messages) {
  if (chat_ == nullptr) {
    raw_ = messages;
    return;
  }
  (void)krafla_chat_truncate(chat_.get(), 0);
  (void)krafla_chat_add_json(chat_.get(), messages.data(), messages.size());
}

ExitCode Talk::Say(std::string_view text) {
  if (chat_ == nullptr) {
    raw_ = text;
    return kExitOk;
  }
  if (ExitCode e = CheckUtf8("prompt", text)) return e;
  const int32_t code = krafla_chat_add(chat_.get(), "user", 4, text.data(), text.size());
  return code == KRAFLA_OK ? kExitOk : FailWith(code, "prompt");
}

bool Talk::TakeBackReply() {
  if (chat_ == nullptr) return !raw_.empty();
  const char* json = nullptr;
  size_t length = 0, n = 0;
  (void)krafla_chat_get_json(chat_.get(), &json, &length, &n);
  if (n <= (args_.has_system ? 1 : 0)) return false;
  return krafla_chat_truncate(chat_.get(), n - 1) == KRAFLA_OK;
}

void Talk::Clear() {
  raw_.clear();
  if (chat_ != nullptr) (void)krafla_chat_truncate(chat_.get(), args_.has_system ? 1 : 0);
  seed_ = *args_.sampler.seed;
}

ExitCode Talk::ReadPrompt() {
  std::vector<int32_t> ids(static_cast<size_t>(context_));
  size_t n = 0;
  const int32_t code =
      chat_ != nullptr ? krafla_chat_encode(chat_.get(), ids.data(), ids.size(), &n)
                       : krafla_tokenizer_encode(tokenizer_.get(), raw_.data(), raw_.size(),
                                                 KRAFLA_ENCODE_SPECIAL, ids.data(), ids.size(), &n);
  if (code == KRAFLA_E_BUFFER) {
    return Fail(kExitArguments,
                "prompt: got {} tokens, want at most {}, the context (--ctx; the model allows {})",
                n, context_, ModelInfo(model_.get()).max_context);
  }
  if (code != KRAFLA_OK) return FailPrompt(code);
  if (n == 0) {  // from the token that begins a text, where there is such a token
    krafla_tokenizer_info info{};
    info.struct_size = sizeof(info);
    (void)krafla_tokenizer_get_info(tokenizer_.get(), &info);
    if (info.bos_id < 0) return Fail(kExitArguments, "prompt: got no tokens, want at least one");
    ids[n++] = info.bos_id;
  }
  return Read([&] { return krafla_session_edit(session_.get(), ids.data(), n, nullptr); });
}

ExitCode Talk::ReadTurn(size_t* dropped) {
  *dropped = 0;
  if (chat_ == nullptr) return ReadPrompt();
  return Read([&] { return krafla_chat_append(chat_.get(), session_.get(), nullptr, dropped); });
}

ExitCode Talk::Read(const std::function<int32_t()>& edit) {
  const auto start = Clock::now();
  int32_t code = CallUntilInterrupted(session_.get(), edit);
  krafla_session_info info = SessionInfo(session_.get());
  if (code == KRAFLA_OK && info.recomputed == 0 && late_cancel_) {
    // Only reading uses a cancel up.
    (void)krafla_session_truncate(session_.get(), info.length - 1);
    code = CallUntilInterrupted(session_.get(), edit);
    info = SessionInfo(session_.get());
  }
  late_cancel_ = Interrupted();
  prompt_seconds_ += SecondsSince(start);
  if (code != KRAFLA_OK) return FailPrompt(code);
  prompt_tokens_ += info.recomputed;
  return Interrupted() ? kExitInterrupted : NewSampler();
}

// As that of a cold run: its history is what the session has read. Each reply has the next seed, so
// that another one to the same message is another one.
ExitCode Talk::NewSampler() {
  SamplerArgs args = args_.sampler;
  args.seed = seed_++;
  if (ExitCode e = CreateSampler(args, &sampler_)) return e;
  if (ExitCode e = SetBreakers(args, tokenizer_.get(), sampler_.get())) return e;
  const int32_t* ids = nullptr;
  size_t n = 0;
  (void)krafla_session_get_ids(session_.get(), &ids, &n);
  for (size_t i = 0; i < n; ++i) (void)krafla_sampler_accept(sampler_.get(), ids[i]);
  return kExitOk;
}

ExitCode Talk::Generate(Reply* reply) {
  *reply = Reply();
  Stream stream{chat_.get()};
  krafla_generate_options options = KRAFLA_GENERATE_OPTIONS_INIT;
  options.max_tokens = std::max<int64_t>(args_.max_tokens, 0);
  options.tokenizer = tokenizer_.get();
  options.on_token = OnToken;
  options.user = &stream;
  options.speculation = &speculation_;
  options.constraint = constraint_.get();
  krafla_generate_result result = KRAFLA_GENERATE_RESULT_INIT;
  const auto start = Clock::now();
  int32_t code = KRAFLA_OK;
  if (args_.max_tokens != 0) {
    const CancelOnInterrupt cancel(session_.get());
    code = krafla_session_generate(session_.get(), sampler_.get(), &options, &result);
  }
  late_cancel_ = Interrupted();
  if (chat_ != nullptr) (void)krafla_chat_finish(chat_.get());
  reply_seconds_ += SecondsSince(start);
  reply_tokens_ += result.n_tokens;
  drafted_ += result.drafted;
  accepted_ += result.accepted;
  if (args_.max_tokens != 0 && stream.written == kExitOk && IsTerminal(STDOUT_FILENO) &&
      !stream.line_ended) {
    stream.written = WriteStdout("\n");
  }
  stdout_gone_ = stream.written != kExitOk;
  reply->empty = stream.empty;
  reply->finish = result.finish;
  if (Interrupted()) return kExitInterrupted;
  if (stream.written != kExitOk) return stream.written;
  return code == KRAFLA_OK ? kExitOk : FailWith(code, "reply");
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
