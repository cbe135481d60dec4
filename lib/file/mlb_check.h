// The checks that make a .mlb's header trustworthy: sizes before anything is read by them, then
// each record, then the placement of all of them in the file.
#ifndef KRAFLA_LIB_FILE_MLB_CHECK_H_
#define KRAFLA_LIB_FILE_MLB_CHECK_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "lib/base/status.h"
#include "lib/file/mlb.h"
#include "lib/file/mlb_layout.h"

namespace krafla::mlb {

// Magic, version, features, and sizes that fit each other, the limits and the file.
Status CheckHeader(const Header& header, uint64_t file_bytes, std::string_view file);

// Shape, size, alignment and bounds of one tensor or section.
Status CheckTensor(const MlbTensor& tensor, const Header& header, std::string_view file);
Status CheckSection(const MlbSection& section, const Header& header, std::string_view file);

// No two of them share a byte; slices of several tensors may interleave.
Status CheckPlacement(std::span<const MlbSection> sections, std::span<const MlbTensor> tensors,
                      std::string_view file);

}  // namespace krafla::mlb

#endif  // KRAFLA_LIB_FILE_MLB_CHECK_H_
