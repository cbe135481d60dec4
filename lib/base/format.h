// Formatted text with fmt's syntax. Only format.cc sees fmt's implementation: compiled into every
// file, it would be three quarters of the whole build's time.
#ifndef KRAFLA_LIB_BASE_FORMAT_H_
#define KRAFLA_LIB_BASE_FORMAT_H_

#include <fmt/core.h>

#include <string>
#include <utility>

namespace krafla {

std::string FormatArgs(fmt::string_view format, fmt::format_args args);

// The format string is checked at compile time.
template <typename... Args>
std::string FormatText(fmt::format_string<Args...> format, Args&&... args) {
  return FormatArgs(format, fmt::make_format_args(args...));
}

}  // namespace krafla

#endif  // KRAFLA_LIB_BASE_FORMAT_H_
