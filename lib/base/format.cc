// See format.h. Header-only fmt, so that the library needs no shared fmt when it runs; this is the
// one file that pays for compiling it.
#define FMT_HEADER_ONLY 1
#include "lib/base/format.h"

#include <fmt/format.h>

namespace krafla {

std::string FormatArgs(fmt::string_view format, fmt::format_args args) {
  return fmt::vformat(format, args);
}

}  // namespace krafla
