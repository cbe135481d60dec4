#include "tools/server/page/page.h"

#include "tools/server/page/page_files.inc"

namespace krafla::tools {

const PageFile* FindPageFile(std::string_view path) {
  for (const PageFile& file : kPageFiles) {
    if (file.path == path) return &file;
  }
  return nullptr;
}

}  // namespace krafla::tools
