// Metadata of a .mlb: typed values under dotted keys, to bytes and back.
#ifndef KRAFLA_LIB_FILE_MLB_METADATA_H_
#define KRAFLA_LIB_FILE_MLB_METADATA_H_

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/file/mlb.h"

namespace krafla::mlb {

void AppendMetadata(const MetaEntry& entry, std::string* out);

// n_entries records from bytes; what follows them must be padding (fewer than 8 zeros). `file` is
// for messages. Records of an unknown kind are skipped; a key that comes twice is a FileError.
StatusOr<std::vector<MetaEntry>> ParseMetadata(std::string_view bytes, uint64_t n_entries,
                                               std::string_view file);

}  // namespace krafla::mlb

#endif  // KRAFLA_LIB_FILE_MLB_METADATA_H_
