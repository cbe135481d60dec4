// What the opaque handles hold. Everything shared is a shared_ptr, so that handles may be freed in
// any order: a session keeps its model, a model its runtime and file.
#ifndef KRAFLA_CAPI_HANDLES_H_
#define KRAFLA_CAPI_HANDLES_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "include/krafla/krafla.h"
#include "lib/chat/template.h"
#include "lib/constraint/vocabulary.h"
#include "lib/model/model.h"
#include "lib/runtime/runtime.h"
#include "lib/sampler/sampler.h"
#include "lib/session/session.h"
#include "lib/tokenizer/tokenizer.h"

namespace krafla::capi {

// A tokenizer's tokens as constraints want them, made on first use. Thread-safe.
class SharedVocabulary {
 public:
  StatusOr<std::shared_ptr<const Vocabulary>> Get(
      const std::shared_ptr<const Tokenizer>& tokenizer) {
    std::lock_guard lock(mutex_);
    if (made_ == nullptr) {
      KRAFLA_ASSIGN_OR_RETURN(made_, Vocabulary::Create(tokenizer));
    }
    return made_;
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<const Vocabulary> made_;
};

// A model and what is made from it once, on first use.
struct SharedModel {
  std::shared_ptr<const Model> model;
  std::vector<std::pair<std::string, std::string>> metadata;  // as text
  std::vector<std::string> tensor_names;
  std::vector<int32_t> end_ids;
  const std::shared_ptr<SharedVocabulary> vocabulary = std::make_shared<SharedVocabulary>();

  // The model's tokenizer; NotFoundError where it carries none. Thread-safe.
  StatusOr<std::shared_ptr<const Tokenizer>> tokenizer();

 private:
  std::mutex mutex_;
  std::shared_ptr<const Tokenizer> tokenizer_;
};

// Bounds and enums checked.
StatusOr<SessionOptions> ToSessionOptions(const krafla_session_options& given);

// Held during a call on an object that serves one thread at a time; a second call is refused.
class Busy {
 public:
  explicit Busy(std::atomic<bool>& flag) : flag_(flag), held_(!flag.exchange(true)) {}
  ~Busy() {
    if (held_) flag_.store(false);
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  void Keep() { held_ = false; }  // the flag stays set
  Status status() const {
    return held_ ? OkStatus() : StateError("the object is in use by another call");
  }

 private:
  std::atomic<bool>& flag_;
  bool held_;
};

// What a sampler's handle holds; a generation in slices holds it too.
struct SharedSampler {
  std::unique_ptr<Sampler> sampler;
  std::atomic<bool> busy{false};
};

class Generation;  // capi/generation.h
class Worker;      // capi/worker.h

}  // namespace krafla::capi

struct krafla_runtime {
  std::shared_ptr<krafla::Runtime> runtime;
};

struct krafla_model {
  std::shared_ptr<krafla::capi::SharedModel> shared;
};

struct krafla_tokenizer {
  std::shared_ptr<const void> owner;  // keeps the table's bytes: a model or an open file
  std::shared_ptr<const krafla::Tokenizer> tokenizer;
  std::string_view template_source;
  std::shared_ptr<krafla::capi::SharedVocabulary> vocabulary;
};

struct krafla_template {
  std::shared_ptr<const krafla::ChatTemplate> chat_template;
  std::string source;
};

struct krafla_rendered {
  std::vector<krafla::TextRun> runs;
  std::vector<krafla_piece> pieces;
};

struct krafla_session {
  krafla_session();
  ~krafla_session();  // stops the worker first
  // After an append to `before` positions: all of them were kept, none was read again.
  void NoteAppend(int64_t before) { kept = {session->length(), before, 0}; }
  std::shared_ptr<krafla::capi::SharedModel> shared;
  std::shared_ptr<krafla::Session> session;  // shared by a request and its scheduler
  mutable std::atomic<bool> busy{false};
  krafla::CutReport kept;  // what krafla_session_info tells of the last append, cut or restore
  std::unique_ptr<krafla::capi::Generation> generation;         // begun in slices
  krafla_generate_result result = KRAFLA_GENERATE_RESULT_INIT;  // of the last generation
  std::mutex worker_mutex;
  std::shared_ptr<krafla::capi::Worker> worker;  // keeps `busy` until its end was polled
};

struct krafla_sampler {
  std::shared_ptr<krafla::capi::SharedSampler> shared;
};

namespace krafla::capi {

// Held during a call that changes a session: no other call, no generation in slices.
class SessionUse {
 public:
  explicit SessionUse(const krafla_session* session)
      : busy_(session->busy), begun_(busy_.status().ok() && session->generation != nullptr) {}
  Status status() const {
    if (!begun_) return busy_.status();
    return StateError(
        "session: a generation is begun; only step, abandon and getters are possible");
  }
  void Keep() { busy_.Keep(); }  // whoever takes it over frees the flag

 private:
  Busy busy_;
  bool begun_;
};

// The variables of templates that the host, not the conversation, supplies (capi/template.cc).
StatusOr<std::vector<TrustedVariable>> HostVariables(const Tokenizer& tokenizer);

// Shared by the entry points of sessions (capi/session.cc).
StatusOr<std::span<const int32_t>> ReadIds(const int32_t* ids, size_t n);
StatusOr<AppendOptions> ReadAppendOptions(const krafla_append_options* options);

}  // namespace krafla::capi

#endif  // KRAFLA_CAPI_HANDLES_H_
