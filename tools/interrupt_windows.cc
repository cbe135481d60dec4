// The handler runs on a thread of its own that the system makes, so it may take its time; the
// session is still cancelled by the watcher, which knows whether there is one. Closing the console
// or logging off ends the process as the system does it.
#include <windows.h>

#include <atomic>
#include <system_error>

#include "tools/exit_code.h"
#include "tools/interrupt.h"

namespace krafla::tools {
namespace {

std::atomic<int> interrupts{0};
HANDLE interrupted = nullptr;  // an event: Ctrl-C, for the watcher
HANDLE watch_ends = nullptr;   // an event: the watcher may go

BOOL WINAPI OnControl(DWORD type) {
  if (type != CTRL_C_EVENT && type != CTRL_BREAK_EVENT) return FALSE;
  if (interrupts.fetch_add(1) > 0) {
    TerminateProcess(GetCurrentProcess(), kExitInterrupted);  // no destructors: others are at work
  }
  SetEvent(interrupted);
  return TRUE;
}

}  // namespace

void InstallInterrupt() {
  interrupted = CreateEventW(nullptr, /*manual reset=*/FALSE, FALSE, nullptr);
  watch_ends = CreateEventW(nullptr, /*manual reset=*/FALSE, FALSE, nullptr);
  SetConsoleCtrlHandler(nullptr, FALSE);  // a parent may have left Ctrl-C switched off
  SetConsoleCtrlHandler(OnControl, TRUE);
}

void StopOnTerminate() {}

void EndIfTerminated() {}

bool Interrupted() { return interrupts.load() > 0; }

void ClearInterrupt() { interrupts.store(0); }

CancelOnInterrupt::CancelOnInterrupt(krafla_session* session) : session_(session) {
  try {
    watcher_ = std::thread([this] { Watch(); });
  } catch (const std::system_error&) {
    // As on POSIX: callbacks look for the first Ctrl-C, and the second one ends the process.
  }
}

void CancelOnInterrupt::Watch() {
  const HANDLE events[] = {watch_ends, interrupted};
  while (WaitForMultipleObjects(2, events, FALSE, INFINITE) == WAIT_OBJECT_0 + 1) {
    // The event may be left from an interrupt that came while nobody watched and is over.
    if (Interrupted()) krafla_session_cancel(session_);
  }
}

CancelOnInterrupt::~CancelOnInterrupt() {
  if (!watcher_.joinable()) return;
  SetEvent(watch_ends);
  watcher_.join();
}

}  // namespace krafla::tools
