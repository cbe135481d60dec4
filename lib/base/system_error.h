// What the operating system says of its last refusal, for messages.
#ifndef KRAFLA_LIB_BASE_SYSTEM_ERROR_H_
#define KRAFLA_LIB_BASE_SYSTEM_ERROR_H_

#include <string>

namespace krafla {

// Of the last failed call of the system (errno; GetLastError on Windows): ask before anything else
// is called.
std::string LastSystemError();

}  // namespace krafla

#endif  // KRAFLA_LIB_BASE_SYSTEM_ERROR_H_
