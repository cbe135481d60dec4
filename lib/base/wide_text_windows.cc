// See wide_text.h. Texts here are paths and messages, far below the 2 GiB that the functions take.
#include <windows.h>

#include "lib/base/wide_text.h"

namespace krafla {
namespace {

constexpr size_t kLongPath = MAX_PATH - 12;  // what a folder's name may have at most
constexpr std::wstring_view kPrefix = L"\\\\?\\";
constexpr std::wstring_view kSharePrefix = L"\\\\?\\UNC\\";

bool IsSeparator(wchar_t c) { return c == L'\\' || c == L'/'; }

}  // namespace

std::wstring WideText(std::string_view utf8) {
  const auto size = static_cast<int>(utf8.size());
  std::wstring wide(
      static_cast<size_t>(MultiByteToWideChar(CP_UTF8, 0, utf8.data(), size, nullptr, 0)), L'\0');
  MultiByteToWideChar(CP_UTF8, 0, utf8.data(), size, wide.data(), static_cast<int>(wide.size()));
  return wide;
}

std::string NarrowText(std::wstring_view utf16) {
  const auto size = static_cast<int>(utf16.size());
  std::string utf8(static_cast<size_t>(WideCharToMultiByte(CP_UTF8, 0, utf16.data(), size, nullptr,
                                                           0, nullptr, nullptr)),
                   '\0');
  WideCharToMultiByte(CP_UTF8, 0, utf16.data(), size, utf8.data(), static_cast<int>(utf8.size()),
                      nullptr, nullptr);
  return utf8;
}

std::wstring WidePath(std::string_view utf8) {
  std::wstring path = WideText(utf8);
  // `\\?\` and `\\.\` are left as the caller wrote them.
  const bool prefixed = path.size() > 3 && IsSeparator(path[0]) && IsSeparator(path[1]) &&
                        (path[2] == L'?' || path[2] == L'.') && IsSeparator(path[3]);
  if (prefixed) return path;
  const DWORD needed = GetFullPathNameW(path.c_str(), 0, nullptr, nullptr);
  if (needed <= kLongPath) return path;
  std::wstring full(needed, L'\0');
  full.resize(GetFullPathNameW(path.c_str(), needed, full.data(), nullptr));
  if (full.size() < kLongPath) return path;
  if (full.starts_with(L"\\\\")) return std::wstring(kSharePrefix) + full.substr(2);
  return std::wstring(kPrefix) + full;
}

}  // namespace krafla
