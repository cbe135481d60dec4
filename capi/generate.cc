// krafla_session_generate: sample, report, read, again. The loop is the ABI's own, since sessions
// know neither samplers nor text. Text is given in whole code points; whatever ends the loop, the
// session, the sampler's history and the reported count agree.
#include <algorithm>
#include <string>

#include "capi/guard.h"
#include "capi/handles.h"
#include "capi/structs.h"
#include "lib/base/utf8.h"

using namespace krafla;  // NOLINT: the definitions below are the global C functions
using capi::Busy;
using capi::Guard;

namespace {

constexpr size_t kMaxEndIds = 4096;  // searched for every token

// Tokens to text in whole code points: bytes that do not complete one wait for the next token.
class TextStream {
 public:
  explicit TextStream(const Tokenizer* tokenizer) : decoder_(tokenizer, /*skip_special=*/true) {}

  // The text that became complete with this token; valid until the next call.
  StatusOr<std::string_view> Push(int32_t id) {
    pending_.erase(0, given_);
    given_ = 0;
    KRAFLA_RETURN_IF_ERROR(decoder_.Push(id, &pending_));
    const std::string tail = pending_.substr(pending_.size() - IncompleteUtf8Suffix(pending_));
    pending_.resize(pending_.size() - tail.size());
    pending_ = ReplaceInvalidUtf8(pending_);
    given_ = pending_.size();
    pending_ += tail;
    return std::string_view(pending_).substr(0, given_);
  }

  // What is left incomplete at the end, as U+FFFD; empty where nothing is.
  std::string Finish() {
    pending_.erase(0, given_);
    given_ = 0;
    return ReplaceInvalidUtf8(pending_);
  }

 private:
  StreamDecoder decoder_;
  std::string pending_;  // [0, given_): handed out, the rest: incomplete
  size_t given_ = 0;
};

// One generation; `result` counts the tokens that the session has read.
class Generation {
 public:
  Generation(krafla_session* session, Sampler* sampler, const krafla_generate_options& options)
      : session_(session), sampler_(sampler), options_(options) {}

  Status Run(krafla_generate_result* result) {
    KRAFLA_RETURN_IF_ERROR(OpenText());
    if (session_->session->logits().empty()) {
      return StateError("generate: the session has no logits: append a prompt first");
    }
    Status status = OkStatus();
    while (result->finish == 0) {
      status = Next(result);
      if (!status.ok()) break;
    }
    if (status.ok() && text_ != nullptr) {
      const std::string rest = text_->Finish();
      if (!rest.empty()) Tell(-1, rest);
    }
    return status;
  }

 private:
  Status OpenText() {
    if (options_.tokenizer != nullptr) {
      tokenizer_ = options_.tokenizer->tokenizer;
    } else if (!session_->shared->model->tokenizer_table().empty()) {
      KRAFLA_ASSIGN_OR_RETURN(tokenizer_, session_->shared->tokenizer());
    }
    if (tokenizer_ != nullptr) text_ = std::make_unique<TextStream>(tokenizer_.get());
    return OkStatus();
  }

  // Samples one token and reads it, or notes in result why there is none.
  Status Next(krafla_generate_result* result) {
    Session& session = *session_->session;
    if (options_.max_tokens > 0 && result->n_tokens >= options_.max_tokens) {
      result->finish = KRAFLA_FINISH_LENGTH;
      return OkStatus();
    }
    if (session.length() >= session.context()) {
      result->finish = KRAFLA_FINISH_CONTEXT;
      return OkStatus();
    }
    KRAFLA_ASSIGN_OR_RETURN(const int32_t id, sampler_->Sample(session.logits()));
    if (Ends(id)) {
      result->finish = KRAFLA_FINISH_END;
      result->end_id = id;
      return OkStatus();
    }
    std::string_view text;
    if (text_ != nullptr) {
      KRAFLA_ASSIGN_OR_RETURN(text, text_->Push(id));
    }
    const bool stop = Tell(id, text);
    // The session and the sampler's history stay in step: after the append nothing fails.
    sampler_->ReserveForAccept();
    KRAFLA_RETURN_IF_ERROR(session.Append({&id, 1}, AppendOptions{}));
    KRAFLA_RETURN_IF_ERROR(sampler_->Accept(id));
    ++result->n_tokens;
    if (stop) result->finish = KRAFLA_FINISH_CALLBACK;
    return OkStatus();
  }

  bool Ends(int32_t id) const {
    const int32_t* more = options_.end_ids;
    if (std::find(more, more + options_.n_end_ids, id) != more + options_.n_end_ids) return true;
    if (options_.ignore_end != 0) return false;
    const std::vector<int32_t>& own = session_->shared->end_ids;
    return std::find(own.begin(), own.end(), id) != own.end();
  }

  bool Tell(int32_t id, std::string_view text) {
    if (options_.on_token == nullptr) return false;
    krafla_token token{};
    token.struct_size = sizeof(token);
    token.id = id;
    token.position = session_->session->length();
    token.text = text.data();
    token.text_length = text.size();
    return options_.on_token(options_.user, &token) != 0;
  }

  krafla_session* session_;
  Sampler* sampler_;
  const krafla_generate_options& options_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::unique_ptr<TextStream> text_;
};

// Whatever ends a generation, an exception included, the caller learns how many tokens were read.
class Outcome {
 public:
  Outcome(krafla_session* session, krafla_generate_result* result)
      : session_(session), result_(result), before_(session->session->length()) {}
  ~Outcome() {
    session_->reused = before_;
    session_->recomputed = 0;
    if (result_ != nullptr) capi::WriteInfo(filled, result_);
  }
  Outcome(const Outcome&) = delete;
  Outcome& operator=(const Outcome&) = delete;

  krafla_generate_result filled = KRAFLA_GENERATE_RESULT_INIT;

 private:
  krafla_session* session_;
  krafla_generate_result* result_;
  int64_t before_;
};

}  // namespace

extern "C" {

int32_t krafla_session_generate(krafla_session* session, krafla_sampler* sampler,
                                const krafla_generate_options* options,
                                krafla_generate_result* result) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(session);
    KRAFLA_CHECK_POINTER(sampler);
    krafla_generate_options given;
    KRAFLA_RETURN_IF_ERROR(capi::ReadOptions(options, "krafla_generate_options", &given));
    if (given.max_tokens < 0) {
      return ArgumentError("krafla_generate_options: max_tokens: got {}, want 0 or more",
                           given.max_tokens);
    }
    KRAFLA_RETURN_IF_ERROR(
        capi::CheckArray(given.end_ids, given.n_end_ids, "krafla_generate_options: end_ids"));
    if (given.n_end_ids > kMaxEndIds) {
      return ArgumentError("krafla_generate_options: n_end_ids: got {}, want at most {}",
                           given.n_end_ids, kMaxEndIds);
    }
    if (result != nullptr) {
      KRAFLA_RETURN_IF_ERROR(capi::CheckInfo(result, "krafla_generate_result"));
    }
    Busy busy_session(session->busy);
    KRAFLA_RETURN_IF_ERROR(busy_session.status());
    Busy busy_sampler(sampler->busy);
    KRAFLA_RETURN_IF_ERROR(busy_sampler.status());
    Outcome outcome(session, result);
    return Generation(session, sampler->sampler.get(), given).Run(&outcome.filled);
  });
}

}  // extern "C"
