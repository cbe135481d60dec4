// krafla_runtime: everything that would otherwise be global. Threads, allocator, byte budget and
// log of one host; models and sessions hold a reference, so it outlives them.
#ifndef KRAFLA_LIB_RUNTIME_RUNTIME_H_
#define KRAFLA_LIB_RUNTIME_RUNTIME_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "lib/base/status.h"
#include "lib/runtime/memory.h"
#include "lib/runtime/thread_pool.h"

namespace krafla {

enum class LogLevel : int32_t { kError = 1, kWarning = 2, kInfo = 3, kDebug = 4 };
using LogFunction = void (*)(void* user, int32_t level, const char* text, size_t length);

struct RuntimeOptions {
  ThreadOptions threads;
  HostAllocator allocator;      // zero: the system's
  uint64_t budget = kNoBudget;  // bytes that all of this runtime's buffers may take together
  LogFunction log = nullptr;    // null: silent
  void* log_user = nullptr;
  LogLevel log_level = LogLevel::kInfo;
};

class Runtime {
 public:
  static StatusOr<std::shared_ptr<Runtime>> Create(const RuntimeOptions& options);

  Memory& memory() { return memory_; }
  ThreadPool& threads() { return *threads_; }
  void Log(LogLevel level, std::string_view text) const;

 private:
  explicit Runtime(const RuntimeOptions& options);
  RuntimeOptions options_;
  Memory memory_;
  std::unique_ptr<ThreadPool> threads_;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_RUNTIME_RUNTIME_H_
