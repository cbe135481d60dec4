// Threads with a stack of a given size, and sleeping on a word until another thread wakes it: what
// the pool needs of the system.
#ifndef KRAFLA_LIB_RUNTIME_NATIVE_THREAD_H_
#define KRAFLA_LIB_RUNTIME_NATIVE_THREAD_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "lib/base/status.h"

namespace krafla {

class NativeThread {
 public:
  NativeThread() = default;
  NativeThread(NativeThread&& other) noexcept : handle_(std::exchange(other.handle_, 0)) {}
  NativeThread& operator=(NativeThread&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  // None of the host's signals runs on it. `name` shows in debuggers; `run` must not throw.
  static StatusOr<NativeThread> Start(size_t stack_bytes, const std::string& name,
                                      void (*run)(void* context), void* context);
  void Join();  // once

 private:
  uintptr_t handle_ = 0;
};

// Returns when the word may have changed from `seen`: look again.
void WaitOn(std::atomic<uint32_t>& word, uint32_t seen);
void WakeOne(std::atomic<uint32_t>& word);
void WakeAll(std::atomic<uint32_t>& word);

}  // namespace krafla

#endif  // KRAFLA_LIB_RUNTIME_NATIVE_THREAD_H_
