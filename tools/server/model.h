// One model that is served: its weights, its scheduler, its tokenizer and template, and one session
// for what goes outside the scheduler (embeddings, scores of a prompt), used by one request at a
// time.
#ifndef KRAFLA_TOOLS_SERVER_MODEL_H_
#define KRAFLA_TOOLS_SERVER_MODEL_H_

#include <cstdint>
#include <krafla/krafla.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

namespace krafla::server {

struct ModelSettings {
  std::string name;
  std::string path;
  krafla_scheduler_options scheduler = KRAFLA_SCHEDULER_OPTIONS_INIT;
  int32_t load = KRAFLA_LOAD_AUTO;
  std::optional<krafla_residency_options> residency;  // points into what it was made of
  int (*progress)(void* user, uint64_t done, uint64_t total) = nullptr;
  void* progress_user = nullptr;
};

struct Call;

class ServedModel {
 public:
  // Opens it; throws Error.
  ServedModel(const ModelSettings& settings, Runtime* runtime);

  const std::string& name() const { return name_; }
  const Model& model() const { return model_; }
  const krafla_model_info& info() const { return info_; }
  // Nothing: all weights are in memory or mapped.
  std::optional<krafla_residency_info> residency() const;
  // Throws what the scheduler does, and ApiError once it is closed.
  krafla::Request Add(const std::vector<int32_t>& ids, const Sampler& sampler,
                      const krafla_generate_options& options);
  krafla_scheduler_info load();
  // Every request ends and the texts that are kept are saved, while others may still call.
  void CloseScheduler();
  int64_t context() const { return context_; }
  int64_t places() const { return places_; }    // for requests, at work and waiting
  int64_t created() const { return created_; }  // seconds since 1970 at which it was opened
  const std::string& fingerprint() const { return fingerprint_; }

  // Each throws ApiError where the model has none.
  const Tokenizer& tokenizer() const;
  Chat NewChat();
  bool has_template() const { return template_.has_value(); }

  std::vector<int32_t> Encode(std::string_view text, uint32_t flags = 0) const;
  // Throws ApiError where a prompt's beginning shows that it cannot fit: all of a large one takes
  // seconds to encode. Rendered: of what the template makes of {"messages", ...}.
  void CheckLength(std::string_view text, uint32_t flags) const;
  void CheckRenderedLength(std::string_view json) const;
  // The bytes of one token as they stand inside a text.
  std::string TokenText(int32_t id) const;
  bool IsSpecial(int32_t id) const;
  // Throws ApiError where an id is none of the vocabulary's.
  void CheckIds(const std::vector<int32_t>& ids, const char* name) const;

  // A session whose text is empty, and the lock under which it is used.
  class Lone {
   public:
    // Waits for the lock as long as somebody waits for the answer: throws what call.CheckWanted()
    // does.
    Lone(const Call& call, ServedModel* model);
    Session& operator*() { return *model_->lone_; }
    Session* operator->() { return &*model_->lone_; }

   private:
    ServedModel* model_;
    std::unique_lock<std::timed_mutex> lock_;
  };

 private:
  std::string name_;
  Model model_;
  krafla_model_info info_;
  std::optional<Tokenizer> tokenizer_;
  std::optional<Template> template_;
  std::shared_mutex scheduler_mutex_;
  std::optional<Scheduler> scheduler_;  // none: closed
  krafla_session_options session_options_ = KRAFLA_SESSION_OPTIONS_INIT;
  std::optional<Session> lone_;
  std::timed_mutex lone_mutex_;
  int64_t context_ = 0;
  int64_t places_ = 0;
  int64_t created_ = 0;
  std::string fingerprint_;
  std::vector<int32_t> before_;  // a text that tokens are decoded behind, and its bytes
  std::string before_text_;
};

}  // namespace krafla::server

#endif  // KRAFLA_TOOLS_SERVER_MODEL_H_
