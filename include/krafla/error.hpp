// krafla::Error and the call that throws it: the one place where a code of the C ABI becomes an
// exception. Part of krafla.hpp; C++17.
#ifndef KRAFLA_ERROR_HPP_
#define KRAFLA_ERROR_HPP_

#include <cstdint>
#include <stdexcept>
#include <string>

#include "krafla/krafla.h"

namespace krafla {

// What a failed call of the C ABI says: its code and its message.
class Error : public std::runtime_error {
 public:
  Error(std::int32_t code, const std::string& message) : std::runtime_error(message), code_(code) {}
  std::int32_t code() const noexcept { return code_; }
  const char* name() const noexcept { return krafla_error_name(code_); }

 private:
  std::int32_t code_;
};

// Throws where a call failed; a positive notice comes back.
inline std::int32_t Check(std::int32_t code) {
  if (code < 0) throw Error(code, krafla_error_message());
  return code;
}

}  // namespace krafla

#endif  // KRAFLA_ERROR_HPP_
