// Ctrl-C. The first one sets a flag that loops and callbacks ask for, and cancels the session that
// is at work; the second one ends the process with 130, however busy the library is. A terminal in
// raw mode is restored on every way out. SIGTERM and SIGHUP end the process, at once or as Ctrl-C
// does.
#ifndef KRAFLA_TOOLS_INTERRUPT_H_
#define KRAFLA_TOOLS_INTERRUPT_H_

#include <krafla/krafla.h>

#include <thread>

namespace krafla::tools {

// Handlers for SIGINT, SIGTERM and SIGHUP (unless it is ignored: nohup). SIGPIPE and SIGXFSZ are
// ignored, so that writes tell of a closed pipe and of a limit on the size of files. Windows: for
// Ctrl-C and Ctrl-Break.
void InstallInterrupt();

// For a program that writes files: SIGTERM and SIGHUP stop it as Ctrl-C does, so that it removes
// what is half-done, and then, in EndIfTerminated, still are what it ended by. Windows: nothing.
void StopOnTerminate();
void EndIfTerminated();

bool Interrupted();
// What was interrupted has ended: the next Ctrl-C is a first one again.
void ClearInterrupt();

// While it lives, Ctrl-C cancels the session. A handler may not call the library, so a thread waits
// for it. The library remembers a cancel that came too late for its call: CallUntilInterrupted.
class CancelOnInterrupt {
 public:
  explicit CancelOnInterrupt(krafla_session* session);
  ~CancelOnInterrupt();
  CancelOnInterrupt(const CancelOnInterrupt&) = delete;
  CancelOnInterrupt& operator=(const CancelOnInterrupt&) = delete;

 private:
  void Watch();

  krafla_session* session_;
  std::thread watcher_;
};

// Makes a call that reads into the session. A cancel left over from an earlier call is used up
// here: it shows as KRAFLA_E_CANCELLED although nobody interrupted this one.
template <typename Call>
int32_t CallUntilInterrupted(krafla_session* session, const Call& call) {
  const CancelOnInterrupt cancel(session);
  int32_t code = call();
  if (code == KRAFLA_E_CANCELLED && !Interrupted()) code = call();
  return code;
}

}  // namespace krafla::tools

#endif  // KRAFLA_TOOLS_INTERRUPT_H_
