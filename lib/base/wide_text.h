// Windows only: its functions want UTF-16, everything else here is UTF-8.
#ifndef KRAFLA_LIB_BASE_WIDE_TEXT_H_
#define KRAFLA_LIB_BASE_WIDE_TEXT_H_

#include <string>
#include <string_view>

namespace krafla {

// Malformed parts of either become U+FFFD.
std::wstring WideText(std::string_view utf8);
std::string NarrowText(std::wstring_view utf16);

// A path as the wide functions want it. One that is too long for them gets the prefix \\?\ (a
// share's \\?\UNC\), which takes up to 32,767 units; it is then made absolute, because the prefix
// turns off what the system does to relative ones.
std::wstring WidePath(std::string_view utf8);

}  // namespace krafla

#endif  // KRAFLA_LIB_BASE_WIDE_TEXT_H_
