// See format.h. Header-only fmt, so that the library carries no dependency on a shared fmt.
#define FMT_HEADER_ONLY 1
#include "lib/base/format.h"

#include <fmt/format.h>

namespace krafla {

std::string FormatArgs(fmt::string_view format, fmt::format_args args) {
  return fmt::vformat(format, args);
}

}  // namespace krafla
