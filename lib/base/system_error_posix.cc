// See system_error.h: errno. One of two files of that name; the build takes this one except for
// Windows.
#include <cerrno>
#include <cstring>

#include "lib/base/system_error.h"

namespace krafla {

std::string LastSystemError() { return std::strerror(errno); }

}  // namespace krafla
