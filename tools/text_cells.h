// Text as a terminal shows it: clusters (what the cursor steps over: a letter with its accents, an
// emoji with its modifiers) and their width in cells. Also the check of UTF-8 that programs need
// before they put a text into JSON.
#ifndef KRAFLA_TOOLS_TEXT_CELLS_H_
#define KRAFLA_TOOLS_TEXT_CELLS_H_

#include <cstddef>
#include <string_view>

namespace krafla::tools {

// The code point at `at` and its length in bytes; malformed bytes are U+FFFD of length 1.
struct CodePoint {
  char32_t value;
  size_t length;
};
CodePoint CodePointAt(std::string_view text, size_t at);

// Offset of the first malformed byte, or npos.
size_t FindMalformed(std::string_view text);

// Where the cluster that begins at `at` ends, and where the one that ends at `at` begins.
size_t ClusterEnd(std::string_view text, size_t at);
size_t ClusterStart(std::string_view text, size_t at);

// Cells that a cluster takes: 0, 1 or 2.
int CellWidth(std::string_view cluster);

}  // namespace krafla::tools

#endif  // KRAFLA_TOOLS_TEXT_CELLS_H_
