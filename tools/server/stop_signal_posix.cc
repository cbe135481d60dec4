// POSIX. The server's loop asks for the flag several times a second, so nobody need be woken.
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "tools/exit_code.h"
#include "tools/server/stop_signal.h"

namespace krafla::server {
namespace {

std::atomic<int> signals{0};
static_assert(std::atomic<int>::is_always_lock_free);

void OnSignal(int) {
  if (signals.fetch_add(1) > 0) _exit(tools::kExitInterrupted);
}

}  // namespace

void InstallStopSignal() {
  struct sigaction action {};
  action.sa_handler = OnSignal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
}

bool StopAsked() { return signals.load() > 0; }

}  // namespace krafla::server
