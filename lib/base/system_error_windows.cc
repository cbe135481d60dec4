// See system_error.h: GetLastError, in English where Windows has its messages in English, so that
// logs of users can be read by others; the number always.
#include <windows.h>

#include <string_view>

#include "lib/base/format.h"
#include "lib/base/system_error.h"
#include "lib/base/wide_text.h"

namespace krafla {

std::string LastSystemError() {
  const DWORD code = GetLastError();
  wchar_t text[512];
  constexpr DWORD kFlags = FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS;
  constexpr DWORD kSize = sizeof(text) / sizeof(text[0]);
  DWORD length = FormatMessageW(kFlags, nullptr, code, MAKELANGID(LANG_ENGLISH, SUBLANG_ENGLISH_US),
                                text, kSize, nullptr);
  if (length == 0) length = FormatMessageW(kFlags, nullptr, code, 0, text, kSize, nullptr);
  std::wstring_view message(text, length);
  while (!message.empty() && (message.back() <= L' ' || message.back() == L'.')) {
    message.remove_suffix(1);
  }
  if (message.empty()) return FormatText("error {}", code);
  return FormatText("{} (error {})", NarrowText(message), code);
}

}  // namespace krafla
