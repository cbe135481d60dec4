// krafla::Session. What a callback throws ends the call and is thrown on to the caller: nothing
// passes through the C ABI. Part of krafla.hpp; C++17.
#ifndef KRAFLA_SESSION_HPP_
#define KRAFLA_SESSION_HPP_

#include <exception>
#include <string_view>
#include <utility>
#include <vector>

#include "krafla/sampler.hpp"
#include "krafla/tokenizer.hpp"

namespace krafla {

// A row of logits, valid until the session's next call.
struct Logits {
  const float* data;
  std::size_t size;
  const float* begin() const noexcept { return data; }
  const float* end() const noexcept { return data + size; }
};

class Session {
 public:
  explicit Session(const Model& model,
                   const krafla_session_options& options = KRAFLA_SESSION_OPTIONS_INIT) {
    krafla_session* handle = nullptr;
    Check(krafla_session_create(&handle, model.get(), &options));
    handle_.reset(handle);
  }

  void Append(const std::vector<std::int32_t>& ids,
              const krafla_append_options& options = KRAFLA_APPEND_OPTIONS_INIT) {
    Check(krafla_session_append(handle_.get(), ids.data(), ids.size(), &options));
  }
  void Begin(const std::vector<std::int32_t>& ids,
             const krafla_append_options& options = KRAFLA_APPEND_OPTIONS_INIT) {
    Check(krafla_session_begin(handle_.get(), ids.data(), ids.size(), &options));
  }
  // flags: KRAFLA_ENCODE_*; with the model's own tokenizer.
  void AppendText(std::string_view text, std::uint32_t flags = 0,
                  const krafla_append_options& options = KRAFLA_APPEND_OPTIONS_INIT) {
    Check(krafla_session_append_text(handle_.get(), text.data(), text.size(), flags, &options));
  }
  // Makes the session hold exactly these ids; info() tells what was kept.
  void Edit(const std::vector<std::int32_t>& ids,
            const krafla_append_options& options = KRAFLA_APPEND_OPTIONS_INIT) {
    Check(krafla_session_edit(handle_.get(), ids.data(), ids.size(), &options));
  }
  // The pooled hidden state of the ids, which are read as by Append.
  std::vector<float> Embed(const std::vector<std::int32_t>& ids,
                           const krafla_embed_options& options = KRAFLA_EMBED_OPTIONS_INIT) {
    std::size_t n = 0;
    const std::int32_t code =
        krafla_session_embed(handle_.get(), ids.data(), ids.size(), &options, nullptr, 0, &n);
    if (code != KRAFLA_E_BUFFER) Check(code);
    std::vector<float> row(n);
    Check(krafla_session_embed(handle_.get(), ids.data(), ids.size(), &options, row.data(), n, &n));
    return row;
  }

  std::vector<unsigned char> Save(
      const krafla_save_options& options = KRAFLA_SAVE_OPTIONS_INIT) const {
    std::size_t size = 0;
    const std::int32_t code = krafla_session_save(handle_.get(), nullptr, 0, &size, &options);
    if (code != KRAFLA_E_BUFFER) Check(code);
    std::vector<unsigned char> data(size);
    Check(krafla_session_save(handle_.get(), data.data(), data.size(), &size, &options));
    return data;
  }
  void Save(std::string_view path,
            const krafla_save_options& options = KRAFLA_SAVE_OPTIONS_INIT) const {
    Check(krafla_session_save_path(handle_.get(), path.data(), path.size(), &options));
  }
  void Restore(const void* data, std::size_t size,
               const krafla_restore_options& options = KRAFLA_RESTORE_OPTIONS_INIT) {
    Check(krafla_session_restore(handle_.get(), data, size, &options));
  }
  void Restore(std::string_view path,
               const krafla_restore_options& options = KRAFLA_RESTORE_OPTIONS_INIT) {
    Check(krafla_session_restore_path(handle_.get(), path.data(), path.size(), &options));
  }

  // True when all that was begun is done.
  bool Step(std::int64_t max_us) {
    return Check(krafla_session_step(handle_.get(), max_us)) == KRAFLA_OK;
  }
  void Abandon() { Check(krafla_session_abandon(handle_.get())); }

  // on_token(const krafla_token&) returns true to go on; what it throws ends the generation and is
  // thrown on to the caller.
  template <typename OnToken>
  krafla_generate_result Generate(Sampler& sampler, krafla_generate_options options,
                                  OnToken&& on_token) {
    struct Call {
      OnToken& on_token;
      std::exception_ptr thrown;
    } call{on_token, nullptr};
    options.user = &call;
    options.on_token = [](void* user, const krafla_token* token) -> int {
      Call& c = *static_cast<Call*>(user);
      try {
        return c.on_token(*token) ? 0 : 1;
      } catch (...) {
        c.thrown = std::current_exception();
        return 1;
      }
    };
    krafla_generate_result result = KRAFLA_GENERATE_RESULT_INIT;
    const std::int32_t code =
        krafla_session_generate(handle_.get(), sampler.get(), &options, &result);
    if (call.thrown) std::rethrow_exception(call.thrown);
    Check(code);
    return result;
  }

  // In slices of Step(), in which options.on_token is called (it must not throw). tokens.hpp has a
  // range over it.
  void BeginGenerate(Sampler& sampler,
                     const krafla_generate_options& options = KRAFLA_GENERATE_OPTIONS_INIT) {
    Check(krafla_session_begin_generate(handle_.get(), sampler.get(), &options));
  }
  krafla_generate_result result() const {
    krafla_generate_result result = KRAFLA_GENERATE_RESULT_INIT;
    Check(krafla_session_get_result(handle_.get(), &result));
    return result;
  }

  // On a thread of the library; Poll() until KRAFLA_EVENT_END. sampler may be null.
  void Start(const std::vector<std::int32_t>& ids, Sampler* sampler,
             const krafla_generate_options& options = KRAFLA_GENERATE_OPTIONS_INIT) {
    Check(krafla_session_start(handle_.get(), ids.data(), ids.size(),
                               sampler == nullptr ? nullptr : sampler->get(), &options));
  }
  // False: no event within wait_us.
  bool Poll(krafla_event* event, std::int64_t wait_us = 0) {
    return Check(krafla_session_poll(handle_.get(), event, wait_us)) == KRAFLA_OK;
  }

  Session Fork() const {
    krafla_session* handle = nullptr;
    Check(krafla_session_fork(&handle, handle_.get()));
    return Session(handle);
  }
  void Truncate(std::int64_t length) { Check(krafla_session_truncate(handle_.get(), length)); }
  void Cancel() noexcept { krafla_session_cancel(handle_.get()); }  // from any thread

  Logits logits() const {
    Logits row{};
    Check(krafla_session_get_logits(handle_.get(), &row.data, &row.size));
    return row;
  }
  std::vector<std::int32_t> ids() const {
    const std::int32_t* ids = nullptr;
    std::size_t n = 0;
    Check(krafla_session_get_ids(handle_.get(), &ids, &n));
    return {ids, ids + n};
  }
  krafla_session_info info() const {
    krafla_session_info info{};
    info.struct_size = sizeof(info);
    Check(krafla_session_get_info(handle_.get(), &info));
    return info;
  }
  krafla_session* get() const noexcept { return handle_.get(); }

 private:
  explicit Session(krafla_session* handle) : handle_(handle) {}
  internal::Handle<krafla_session> handle_;
};

}  // namespace krafla

#endif  // KRAFLA_SESSION_HPP_
