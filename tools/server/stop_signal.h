// SIGTERM and SIGINT (on Windows the console's events) for a server: the first asks it to stop, the
// second ends the process.
#ifndef KRAFLA_TOOLS_SERVER_STOP_SIGNAL_H_
#define KRAFLA_TOOLS_SERVER_STOP_SIGNAL_H_

namespace krafla::server {

// In place of the handlers of interrupt.h.
void InstallStopSignal();
bool StopAsked();

}  // namespace krafla::server

#endif  // KRAFLA_TOOLS_SERVER_STOP_SIGNAL_H_
