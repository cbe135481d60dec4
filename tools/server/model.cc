// See model.h.
#include "tools/server/model.h"

#include <algorithm>
#include <chrono>

#include "tools/server/errors.h"
#include "tools/server/state.h"

namespace krafla::server {
namespace {

constexpr int64_t kDefaultContext = 4096;
constexpr std::chrono::milliseconds kLook{25};  // how often who waits looks after its client
constexpr size_t kBytesOfToken = 32;            // far more than those of most texts

Model Open(const ModelSettings& settings, Runtime* runtime) {
  krafla_model_options options = KRAFLA_MODEL_OPTIONS_INIT;
  options.load = settings.load;
  options.progress = settings.progress;
  options.user = settings.progress_user;
  if (settings.residency) options.residency = &*settings.residency;
  return Model::Open(settings.path, runtime, options);
}

krafla_scheduler_options OwnThread(krafla_scheduler_options options) {
  options.own_thread = 1;
  return options;
}

// The same of two servers that answer with the same bits: library, arithmetic and file.
std::string Fingerprint(const krafla_model_info& info) {
  const uint32_t version = krafla_version();
  return fmt::format("krafla-{}.{}.{}-a{}-{:016x}", version >> 16, version >> 8 & 0xff,
                     version & 0xff, krafla_arithmetic(), info.file_hash);
}

}  // namespace

ServedModel::ServedModel(const ModelSettings& settings, Runtime* runtime)
    : name_(settings.name),
      model_(Open(settings, runtime)),
      info_(model_.info()),
      scheduler_(std::in_place, model_, OwnThread(settings.scheduler)) {
  if (info_.has_tokenizer != 0) tokenizer_.emplace(model_);
  if (info_.has_template != 0) template_.emplace(model_);
  context_ = settings.scheduler.context > 0 ? settings.scheduler.context
                                            : std::min(kDefaultContext, info_.max_context);
  places_ = settings.scheduler.parallel + settings.scheduler.queue;
  session_options_.context = context_;
  session_options_.kv = settings.scheduler.kv;
  session_options_.has_reserve = 1;
  created_ = std::chrono::duration_cast<std::chrono::seconds>(
                 std::chrono::system_clock::now().time_since_epoch())
                 .count();
  fingerprint_ = Fingerprint(info_);
  if (tokenizer_) {
    before_ = tokenizer_->Encode("a");
    before_text_ = tokenizer_->Decode(before_);
  }
}

std::optional<krafla_residency_info> ServedModel::residency() const {
  krafla_residency_info info{};
  info.struct_size = sizeof(info);
  if (krafla_model_get_residency(model_.get(), &info) != KRAFLA_OK) return std::nullopt;
  return info;
}

krafla::Request ServedModel::Add(const std::vector<int32_t>& ids, const Sampler& sampler,
                                 const krafla_generate_options& options) {
  std::shared_lock lock(scheduler_mutex_);
  if (!scheduler_) throw ApiError(503, "cancelled", "the server is stopping");
  return scheduler_->Add(ids, &sampler, options);
}

krafla_scheduler_info ServedModel::load() {
  std::shared_lock lock(scheduler_mutex_);
  return scheduler_ ? scheduler_->info() : krafla_scheduler_info{};
}

void ServedModel::CloseScheduler() {
  std::unique_lock lock(scheduler_mutex_);
  scheduler_.reset();
}

const Tokenizer& ServedModel::tokenizer() const {
  if (!tokenizer_) {
    throw ApiError(400, "unsupported", name_ + ": the model has no tokenizer, so it takes ids only",
                   "model");
  }
  return *tokenizer_;
}

Chat ServedModel::NewChat() {
  const Tokenizer& with = tokenizer();
  if (!template_) {
    throw ApiError(400, "unsupported",
                   name_ + ": the model has no chat template; use /v1/completions", "model");
  }
  return Chat(with, *template_);
}

std::vector<int32_t> ServedModel::Encode(std::string_view text, uint32_t flags) const {
  return tokenizer().Encode(text, flags);
}

// What follows a text takes tokens from it at the cut alone, so twice the context is enough to
// know.
void ServedModel::CheckLength(std::string_view text, uint32_t flags) const {
  size_t some = static_cast<size_t>(context_) * kBytesOfToken;
  if (text.size() <= 2 * some) return;
  while (some > 0 && (text[some] & 0xC0) == 0x80) --some;  // at the beginning of a character
  if (static_cast<int64_t>(Encode(text.substr(0, some), flags).size()) <= 2 * context_) return;
  ApiError error(
      400, "context_length_exceeded",
      fmt::format("this model's maximum context length is {} tokens: the prompt has more "
                  "than {}",
                  context_, 2 * context_));
  error.extra = {{"n_ctx", context_}};
  throw error;
}

void ServedModel::CheckRenderedLength(std::string_view json) const {
  if (!template_ || json.size() <= 2 * static_cast<size_t>(context_) * kBytesOfToken) return;
  std::string text;
  try {
    for (const Piece& piece : template_->Render(json, &tokenizer())) text += piece.text;
  } catch (const Error&) {
    return;  // for the chat to say
  }
  CheckLength(text, KRAFLA_ENCODE_PARSE);
}

// Some tokenizers drop a space from the beginning of a text, so the token is decoded behind one.
std::string ServedModel::TokenText(int32_t id) const {
  if (!tokenizer_) return {};
  std::vector<int32_t> ids = before_;
  ids.push_back(id);
  try {
    const std::string text = tokenizer_->Decode(ids);
    return text.substr(std::min(before_text_.size(), text.size()));
  } catch (const Error&) {  // an id of the model's that the tokenizer has not
    return {};
  }
}

bool ServedModel::IsSpecial(int32_t id) const {
  int32_t special = 0;
  Check(krafla_tokenizer_is_special(tokenizer().get(), id, &special));
  return special != 0;
}

void ServedModel::CheckIds(const std::vector<int32_t>& ids, const char* name) const {
  for (const int32_t id : ids) {
    if (id < 0 || id >= info_.n_vocab) {
      throw BadField(name, "got token {}, want one from 0 to {}", id, info_.n_vocab - 1);
    }
  }
}

ServedModel::Lone::Lone(const Call& call, ServedModel* model)
    : model_(model), lock_(model->lone_mutex_, std::defer_lock) {
  while (!lock_.try_lock_for(kLook)) call.CheckWanted();
  if (!model_->lone_) model_->lone_.emplace(model_->model_, model_->session_options_);
  model_->lone_->Truncate(0);
}

}  // namespace krafla::server
