// Codes, messages and the facts about this build. The one place where a status of the library
// becomes a number of the ABI; the message goes into a fixed buffer of the calling thread, so that
// a failure can be told when no memory is left.
#include <cstring>

#include "capi/guard.h"
#include "kernels/kernels.h"

namespace krafla::capi {
namespace {

constexpr size_t kMessageSize = 512;
thread_local char error_message[kMessageSize];

int32_t CodeOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
      return KRAFLA_OK;
    case absl::StatusCode::kInvalidArgument:
      return KRAFLA_E_ARGUMENT;
    case absl::StatusCode::kResourceExhausted:
      return KRAFLA_E_MEMORY;
    case absl::StatusCode::kPermissionDenied:
      return KRAFLA_E_BUDGET;
    case absl::StatusCode::kUnavailable:
      return KRAFLA_E_IO;
    case absl::StatusCode::kDataLoss:
      return KRAFLA_E_FILE;
    case absl::StatusCode::kUnimplemented:
      return KRAFLA_E_UNSUPPORTED;
    case absl::StatusCode::kUnauthenticated:
      return KRAFLA_E_CPU;
    case absl::StatusCode::kCancelled:
      return KRAFLA_E_CANCELLED;
    case absl::StatusCode::kAborted:
      return KRAFLA_E_CALLBACK;
    case absl::StatusCode::kOutOfRange:
      return KRAFLA_E_CONTEXT;
    case absl::StatusCode::kFailedPrecondition:
      return KRAFLA_E_STATE;
    case absl::StatusCode::kNotFound:
      return KRAFLA_E_NOT_FOUND;
    case absl::StatusCode::kUnknown:
      return KRAFLA_E_TEMPLATE;
    case absl::StatusCode::kAlreadyExists:
      return KRAFLA_E_BUFFER;
    default:
      return KRAFLA_E_INTERNAL;
  }
}

}  // namespace

void SetErrorMessage(std::string_view text) noexcept {
  size_t n = text.size() < kMessageSize ? text.size() : kMessageSize - 1;
  // A cut message ends at a whole code point.
  if (n < text.size()) {
    while (n > 0 && (static_cast<unsigned char>(text[n]) & 0xC0) == 0x80) --n;
  }
  if (n != 0) std::memcpy(error_message, text.data(), n);
  error_message[n] = 0;
}

int32_t Report(const Status& status) noexcept {
  if (!status.ok()) SetErrorMessage(Message(status));
  return CodeOf(status.code());
}

Status CheckCpu() {
  const char* feature = kernels::missing_feature();
  if (feature == nullptr) return OkStatus();
  return CpuError("cpu: the {} build needs {}, which this processor or system lacks",
                  kernels::isa_name(), feature);
}

}  // namespace krafla::capi

using namespace krafla;  // NOLINT: the definitions below are the global C functions

extern "C" {

const char* krafla_error_message(void) { return capi::error_message; }

const char* krafla_error_name(int32_t code) {
  switch (code) {
    case KRAFLA_OK:
      return "KRAFLA_OK";
    case KRAFLA_PAUSED:
      return "KRAFLA_PAUSED";
    case KRAFLA_E_ARGUMENT:
      return "KRAFLA_E_ARGUMENT";
    case KRAFLA_E_MEMORY:
      return "KRAFLA_E_MEMORY";
    case KRAFLA_E_BUDGET:
      return "KRAFLA_E_BUDGET";
    case KRAFLA_E_IO:
      return "KRAFLA_E_IO";
    case KRAFLA_E_FILE:
      return "KRAFLA_E_FILE";
    case KRAFLA_E_UNSUPPORTED:
      return "KRAFLA_E_UNSUPPORTED";
    case KRAFLA_E_CPU:
      return "KRAFLA_E_CPU";
    case KRAFLA_E_CANCELLED:
      return "KRAFLA_E_CANCELLED";
    case KRAFLA_E_CALLBACK:
      return "KRAFLA_E_CALLBACK";
    case KRAFLA_E_CONTEXT:
      return "KRAFLA_E_CONTEXT";
    case KRAFLA_E_STATE:
      return "KRAFLA_E_STATE";
    case KRAFLA_E_NOT_FOUND:
      return "KRAFLA_E_NOT_FOUND";
    case KRAFLA_E_TEMPLATE:
      return "KRAFLA_E_TEMPLATE";
    case KRAFLA_E_BUFFER:
      return "KRAFLA_E_BUFFER";
    case KRAFLA_E_INTERNAL:
      return "KRAFLA_E_INTERNAL";
    default:
      return "KRAFLA_E_UNKNOWN";
  }
}

uint32_t krafla_version(void) {
  return (KRAFLA_VERSION_MAJOR << 16) | (KRAFLA_VERSION_MINOR << 8) | KRAFLA_VERSION_PATCH;
}

const char* krafla_isa(void) { return kernels::isa_name(); }

uint32_t krafla_arithmetic(void) { return KRAFLA_ARITHMETIC; }

int32_t krafla_cpu_check(void) {
  return capi::Guard([] { return capi::CheckCpu(); });
}

}  // extern "C"
