// See raw_mode.h: the console stays in its own mode, so that its line editor and input methods
// work.
#include <windows.h>

#include "tools/raw_mode.h"

namespace krafla::tools {

RawMode::RawMode() = default;
RawMode::~RawMode() = default;

void SuspendProcess() {}

int ReadKey(int) { return -1; }

TerminalSize GetTerminalSize() {
  CONSOLE_SCREEN_BUFFER_INFO info;
  if (GetConsoleScreenBufferInfo(GetStdHandle(STD_ERROR_HANDLE), &info) == 0) return {80, 24};
  return {info.srWindow.Right - info.srWindow.Left + 1,
          info.srWindow.Bottom - info.srWindow.Top + 1};
}

int SystemWidthOf(char32_t) { return -1; }

}  // namespace krafla::tools
