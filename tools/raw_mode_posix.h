// POSIX only: what the handlers of signals put back before the process ends.
#ifndef KRAFLA_TOOLS_RAW_MODE_POSIX_H_
#define KRAFLA_TOOLS_RAW_MODE_POSIX_H_

#include <termios.h>

namespace krafla::tools {

// NULL when the terminal is as it was.
void SetTerminalToRestore(const termios* original);

}  // namespace krafla::tools

#endif  // KRAFLA_TOOLS_RAW_MODE_POSIX_H_
