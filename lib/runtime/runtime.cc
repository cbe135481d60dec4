// Options are checked here, once: what a Runtime holds afterwards is usable.
#include "lib/runtime/runtime.h"

#include <utility>

namespace krafla {

Runtime::Runtime(const RuntimeOptions& options)
    : options_(options), memory_(options.allocator, options.budget) {}

StatusOr<std::shared_ptr<Runtime>> Runtime::Create(const RuntimeOptions& options) {
  if ((options.allocator.allocate == nullptr) != (options.allocator.release == nullptr)) {
    return ArgumentError("allocator: got one function, want both allocate and release or neither");
  }
  if (options.log_level < LogLevel::kError || options.log_level > LogLevel::kDebug) {
    return ArgumentError(
        "log level: got {}, want {} to {}", static_cast<int32_t>(options.log_level),
        static_cast<int32_t>(LogLevel::kError), static_cast<int32_t>(LogLevel::kDebug));
  }
  std::shared_ptr<Runtime> runtime(new Runtime(options));
  KRAFLA_ASSIGN_OR_RETURN(runtime->threads_, ThreadPool::Create(options.threads));
  return runtime;
}

void Runtime::Log(LogLevel level, std::string_view text) const {
  if (options_.log == nullptr || level > options_.log_level) return;
  options_.log(options_.log_user, static_cast<int32_t>(level), text.data(), text.size());
}

}  // namespace krafla
