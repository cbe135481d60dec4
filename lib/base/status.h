// Errors inside the library: absl::Status, made by one function a kind so that each kind maps to
// one ABI code (capi/guard.h). A message says what, where, got, wanted: "gguf: tensor blk.3.attn_q:
// 4096x4095, want 4096x4096".
#ifndef KRAFLA_LIB_BASE_STATUS_H_
#define KRAFLA_LIB_BASE_STATUS_H_

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <string>
#include <string_view>
#include <utility>

#include "lib/base/format.h"

namespace krafla {

using absl::OkStatus;
using absl::Status;
using absl::StatusOr;

// Debian's absl has a string_view of its own; the rest of the project uses the standard's.
inline std::string_view Message(const Status& status) {
  return {status.message().data(), status.message().size()};
}

namespace internal {
template <typename... Args>
Status MakeError(absl::StatusCode code, fmt::format_string<Args...> format, Args&&... args) {
  return Status(code, FormatText(format, std::forward<Args>(args)...));
}
}  // namespace internal

// Each function: the ABI code that it becomes, and its meaning.
#define KRAFLA_DEFINE_ERROR(Name, kCode)                                                      \
  template <typename... Args>                                                                 \
  Status Name(fmt::format_string<Args...> format, Args&&... args) {                           \
    return internal::MakeError(absl::StatusCode::kCode, format, std::forward<Args>(args)...); \
  }
// KRAFLA_E_ARGUMENT: the caller's value is bad
KRAFLA_DEFINE_ERROR(ArgumentError, kInvalidArgument)
// KRAFLA_E_MEMORY: an allocation failed
KRAFLA_DEFINE_ERROR(MemoryError, kResourceExhausted)
// KRAFLA_E_BUDGET: would exceed the byte budget
KRAFLA_DEFINE_ERROR(BudgetError, kPermissionDenied)
// KRAFLA_E_IO: the system refused a file operation
KRAFLA_DEFINE_ERROR(IoError, kUnavailable)
// KRAFLA_E_FILE: a file's content is not valid
KRAFLA_DEFINE_ERROR(FileError, kDataLoss)
// KRAFLA_E_UNSUPPORTED: valid, but not built here
KRAFLA_DEFINE_ERROR(UnsupportedError, kUnimplemented)
// KRAFLA_E_CPU: the processor lacks a feature
KRAFLA_DEFINE_ERROR(CpuError, kUnauthenticated)
// KRAFLA_E_CANCELLED: told to stop
KRAFLA_DEFINE_ERROR(CancelledError, kCancelled)
// KRAFLA_E_CALLBACK: a host callback said stop
KRAFLA_DEFINE_ERROR(CallbackError, kAborted)
// KRAFLA_E_CONTEXT: does not fit the context
KRAFLA_DEFINE_ERROR(ContextError, kOutOfRange)
// KRAFLA_E_STATE: not possible in this state
KRAFLA_DEFINE_ERROR(StateError, kFailedPrecondition)
// KRAFLA_E_NOT_FOUND: no such name or file
KRAFLA_DEFINE_ERROR(NotFoundError, kNotFound)
// KRAFLA_E_TEMPLATE: a chat template failed
KRAFLA_DEFINE_ERROR(TemplateError, kUnknown)
// KRAFLA_E_BUFFER: the caller's buffer is small
KRAFLA_DEFINE_ERROR(BufferError, kAlreadyExists)
// KRAFLA_E_INTERNAL: a fault of this library
KRAFLA_DEFINE_ERROR(InternalError, kInternal)
#undef KRAFLA_DEFINE_ERROR

#define KRAFLA_RETURN_IF_ERROR(expression)   \
  do {                                       \
    ::krafla::Status status_ = (expression); \
    if (!status_.ok()) return status_;       \
  } while (0)

#define KRAFLA_CONCAT_INNER(a, b) a##b
#define KRAFLA_CONCAT(a, b) KRAFLA_CONCAT_INNER(a, b)
// KRAFLA_ASSIGN_OR_RETURN(auto x, F()): x = *F(), or return its error.
#define KRAFLA_ASSIGN_OR_RETURN(target, expression) \
  KRAFLA_ASSIGN_OR_RETURN_INNER(KRAFLA_CONCAT(status_or_, __LINE__), target, expression)
#define KRAFLA_ASSIGN_OR_RETURN_INNER(holder, target, expression) \
  auto holder = (expression);                                     \
  if (!holder.ok()) return std::move(holder).status();            \
  target = *std::move(holder)

}  // namespace krafla

#endif  // KRAFLA_LIB_BASE_STATUS_H_
