// krafla::Runtime and krafla::Model: move-only owners, freed in any order. Part of krafla.hpp;
// C++17.
#ifndef KRAFLA_MODEL_HPP_
#define KRAFLA_MODEL_HPP_

#include <memory>
#include <string_view>
#include <vector>

#include "krafla/error.hpp"
#include "krafla/krafla_batch.h"
#include "krafla/krafla_constraint.h"

namespace krafla {

namespace internal {
// Calls, not addresses of functions: krafla_functions.h may have put a table behind the names.
struct Deleter {
  void operator()(krafla_runtime* handle) const noexcept { krafla_runtime_free(handle); }
  void operator()(krafla_model* handle) const noexcept { krafla_model_free(handle); }
  void operator()(krafla_tokenizer* handle) const noexcept { krafla_tokenizer_free(handle); }
  void operator()(krafla_template* handle) const noexcept { krafla_template_free(handle); }
  void operator()(krafla_rendered* handle) const noexcept { krafla_rendered_free(handle); }
  void operator()(krafla_session* handle) const noexcept { krafla_session_free(handle); }
  void operator()(krafla_scheduler* handle) const noexcept { krafla_scheduler_free(handle); }
  void operator()(krafla_request* handle) const noexcept { krafla_request_free(handle); }
  void operator()(krafla_sampler* handle) const noexcept { krafla_sampler_free(handle); }
  void operator()(krafla_constraint* handle) const noexcept { krafla_constraint_free(handle); }
  void operator()(krafla_constraint_state* handle) const noexcept {
    krafla_constraint_state_free(handle);
  }
};
template <typename T>
using Handle = std::unique_ptr<T, Deleter>;
}  // namespace internal

// Threads, memory and log of one host; models keep what they need of it.
class Runtime {
 public:
  explicit Runtime(const krafla_runtime_options& options = KRAFLA_RUNTIME_OPTIONS_INIT) {
    krafla_runtime* handle = nullptr;
    Check(krafla_runtime_create(&handle, &options));
    handle_.reset(handle);
  }
  krafla_runtime_info info() const {
    krafla_runtime_info info{};
    info.struct_size = sizeof(info);
    Check(krafla_runtime_get_info(handle_.get(), &info));
    return info;
  }
  krafla_runtime* get() const noexcept { return handle_.get(); }

 private:
  internal::Handle<krafla_runtime> handle_;
};

// An open model, shared by any number of sessions and threads.
class Model {
 public:
  static Model Open(std::string_view path, Runtime* runtime = nullptr,
                    const krafla_model_options& options = KRAFLA_MODEL_OPTIONS_INIT) {
    krafla_model* handle = nullptr;
    Check(krafla_model_open_path(&handle, Get(runtime), path.data(), path.size(), &options));
    return Model(handle);
  }
  // `size` bytes (0: to the end) at `offset` of an open file.
  static Model OpenFd(std::int32_t fd, std::uint64_t offset = 0, std::uint64_t size = 0,
                      Runtime* runtime = nullptr,
                      const krafla_model_options& options = KRAFLA_MODEL_OPTIONS_INIT) {
    krafla_model* handle = nullptr;
    Check(krafla_model_open_fd(&handle, Get(runtime), fd, offset, size, &options));
    return Model(handle);
  }
  // The bytes must outlive the model and all made from it.
  static Model OpenMemory(const void* data, std::size_t size, Runtime* runtime = nullptr,
                          const krafla_model_options& options = KRAFLA_MODEL_OPTIONS_INIT) {
    krafla_model* handle = nullptr;
    Check(krafla_model_open_memory(&handle, Get(runtime), data, size, &options));
    return Model(handle);
  }
  static Model OpenReader(const krafla_reader& reader, Runtime* runtime = nullptr,
                          const krafla_model_options& options = KRAFLA_MODEL_OPTIONS_INIT) {
    krafla_model* handle = nullptr;
    Check(krafla_model_open_reader(&handle, Get(runtime), &reader, &options));
    return Model(handle);
  }

  krafla_model_info info() const {
    krafla_model_info info{};
    info.struct_size = sizeof(info);
    Check(krafla_model_get_info(handle_.get(), &info));
    return info;
  }
  std::vector<std::int32_t> end_ids() const {
    const std::int32_t* ids = nullptr;
    std::size_t n = 0;
    Check(krafla_model_get_end_ids(handle_.get(), &ids, &n));
    return {ids, ids + n};
  }
  krafla_plan Plan(const krafla_session_options& options = KRAFLA_SESSION_OPTIONS_INIT) const {
    krafla_plan plan{};
    plan.struct_size = sizeof(plan);
    Check(krafla_plan_session(&plan, handle_.get(), &options));
    return plan;
  }
  krafla_model* get() const noexcept { return handle_.get(); }

 private:
  explicit Model(krafla_model* handle) : handle_(handle) {}
  static krafla_runtime* Get(Runtime* runtime) {
    return runtime == nullptr ? nullptr : runtime->get();
  }
  internal::Handle<krafla_model> handle_;
};

}  // namespace krafla

#endif  // KRAFLA_MODEL_HPP_
