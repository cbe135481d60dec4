// POSIX. Handlers use only what POSIX allows them: lock-free atomics, write, tcsetattr, raise and
// _exit.
#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <system_error>

#include "tools/exit_code.h"
#include "tools/interrupt.h"
#include "tools/raw_mode_posix.h"

namespace krafla::tools {
namespace {

std::atomic<int> interrupts{0};
std::atomic<int> terminated_by{0};  // a signal, 0: none
std::atomic<bool> restore_terminal{false};
termios terminal_original;
int wake_pipe[2] = {-1, -1};
static_assert(std::atomic<int>::is_always_lock_free);

constexpr char kWakeInterrupt = 'i';
constexpr char kWakeEnd = 'e';

void RestoreTerminal() {
  if (restore_terminal.load()) tcsetattr(STDIN_FILENO, TCSANOW, &terminal_original);
}

void Wake(char why) {
  while (write(wake_pipe[1], &why, 1) < 0 && errno == EINTR) {
  }
}

void OnTerminate(int signal_number) {
  RestoreTerminal();
  std::signal(signal_number, SIG_DFL);
  raise(signal_number);
}

void OnInterrupt(int signal_number) {
  const int saved_errno = errno;
  if (interrupts.fetch_add(1) > 0) {
    if (signal_number != SIGINT) return OnTerminate(signal_number);
    RestoreTerminal();
    _exit(kExitInterrupted);
  }
  if (signal_number != SIGINT) terminated_by.store(signal_number);
  Wake(kWakeInterrupt);
  errno = saved_errno;
}

void SetHandler(int signal_number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = 0;  // no SA_RESTART: a read that waits for input must return
  sigaction(signal_number, &action, nullptr);
}

bool Ignored(int signal_number) {
  struct sigaction action {};
  return sigaction(signal_number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

void InstallInterrupt() {
  // Non-blocking at its writing end: a handler must never wait.
  if (pipe2(wake_pipe, O_CLOEXEC) == 0) fcntl(wake_pipe[1], F_SETFL, O_NONBLOCK);
  SetHandler(SIGINT, OnInterrupt);
  SetHandler(SIGTERM, OnTerminate);
  if (!Ignored(SIGHUP)) SetHandler(SIGHUP, OnTerminate);  // nohup
  SetHandler(SIGPIPE, SIG_IGN);
  SetHandler(SIGXFSZ, SIG_IGN);
}

void StopOnTerminate() {
  SetHandler(SIGTERM, OnInterrupt);
  if (!Ignored(SIGHUP)) SetHandler(SIGHUP, OnInterrupt);
}

void EndIfTerminated() {
  if (const int signal_number = terminated_by.load(); signal_number != 0)
    OnTerminate(signal_number);
}

bool Interrupted() { return interrupts.load() > 0; }

void ClearInterrupt() { interrupts.store(0); }

CancelOnInterrupt::CancelOnInterrupt(krafla_session* session) : session_(session) {
  try {
    watcher_ = std::thread([this] { Watch(); });
  } catch (const std::system_error&) {
    // Where no thread can be had the work goes on: callbacks look for the first Ctrl-C, and the
    // second one ends the process.
  }
}

void CancelOnInterrupt::Watch() {
  for (char why = 0; why != kWakeEnd;) {
    const ssize_t got = read(wake_pipe[0], &why, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got != 1) return;
    // A byte may be left from an interrupt that came while nobody watched and is over.
    if (why == kWakeInterrupt && Interrupted()) krafla_session_cancel(session_);
  }
}

CancelOnInterrupt::~CancelOnInterrupt() {
  if (!watcher_.joinable()) return;
  Wake(kWakeEnd);
  watcher_.join();
}

void SetTerminalToRestore(const termios* original) {
  restore_terminal.store(false);
  if (original == nullptr) return;
  terminal_original = *original;
  restore_terminal.store(true);
}

}  // namespace krafla::tools
