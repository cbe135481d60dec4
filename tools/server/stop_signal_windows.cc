// The console's events: Ctrl-C, Ctrl-Break, and a console that closes or a user who logs off, for
// which Windows leaves a few seconds. The server's loop asks for the flag several times a second.
#include <windows.h>

#include <atomic>

#include "tools/exit_code.h"
#include "tools/server/stop_signal.h"

namespace krafla::server {
namespace {

constexpr DWORD kGrace = 5000;  // ms, for requests at work

std::atomic<int> events{0};

BOOL WINAPI OnControl(DWORD type) {
  if (events.fetch_add(1) > 0) TerminateProcess(GetCurrentProcess(), tools::kExitInterrupted);
  // When these handlers return the process ends.
  if (type != CTRL_C_EVENT && type != CTRL_BREAK_EVENT) Sleep(kGrace);
  return TRUE;
}

}  // namespace

void InstallStopSignal() {
  SetConsoleCtrlHandler(nullptr, FALSE);  // a parent may have left Ctrl-C switched off
  SetConsoleCtrlHandler(OnControl, TRUE);
}

bool StopAsked() { return events.load() > 0; }

}  // namespace krafla::server
