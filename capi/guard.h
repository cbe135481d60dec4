// The one door between the C ABI and the library: Guard() runs a lambda that returns a Status,
// under the default float mode, lets no exception out, and turns the result into a code and a
// message in a fixed thread-local buffer (so that it works when memory has run out).
#ifndef KRAFLA_CAPI_GUARD_H_
#define KRAFLA_CAPI_GUARD_H_

#include <exception>
#include <new>
#include <string_view>

#include "include/krafla/krafla.h"
#include "lib/base/float_mode.h"
#include "lib/base/status.h"

namespace krafla::capi {

void SetErrorMessage(std::string_view text) noexcept;
Status CheckCpu();                              // CpuError where this build does not run here
int32_t Report(const Status& status) noexcept;  // the code; keeps the message of a failure

template <typename Function>
int32_t Guard(Function&& function) noexcept {
  try {
    DefaultFloatMode mode;
    return Report(function());
  } catch (const std::bad_alloc&) {
    SetErrorMessage("memory: an allocation failed");
    return KRAFLA_E_MEMORY;
  } catch (const std::exception& error) {
    SetErrorMessage(error.what());
    return KRAFLA_E_INTERNAL;
  } catch (...) {
    SetErrorMessage("internal: unknown exception");
    return KRAFLA_E_INTERNAL;
  }
}

// KRAFLA_CHECK_POINTER(model): "model: got NULL, want a pointer". (Inside Guard's lambda __func__
// is "operator()", so the message has no place for the function; the caller knows which it called.)
#define KRAFLA_CHECK_POINTER(argument)                                           \
  do {                                                                           \
    if ((argument) == nullptr)                                                   \
      return ::krafla::ArgumentError("{}: got NULL, want a pointer", #argument); \
  } while (0)

}  // namespace krafla::capi

#endif  // KRAFLA_CAPI_GUARD_H_
