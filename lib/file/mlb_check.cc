// Every number here comes from an untrusted file: sums and products are checked for overflow, and a
// message names the thing, what it says and what would be right.
#include "lib/file/mlb_check.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "lib/file/checked.h"

namespace krafla {
namespace {

// Bytes of 16 rows x block of a type; block 0: unknown type.
struct TileBlock {
  uint64_t bytes;
  uint64_t block;
};
TileBlock TileBlockOf(uint32_t type) {
  switch (type) {
#define X(name, kName, id, bytes, block, quantized) \
  case id:                                          \
    return {bytes, block};
#include "lib/quant/formats.def"
#undef X
    default:
      return {0, 0};
  }
}

}  // namespace

StatusOr<uint64_t> MlbTensorSliceBytes(uint32_t type, uint32_t layout,
                                       const std::array<uint64_t, 4>& dims) {
  size_t n = 0;
  while (n < 4 && dims[n] != 0) n++;
  const bool shaped =
      n > 0 && std::all_of(dims.begin() + n, dims.end(), [](uint64_t d) { return d == 0; });
  const std::string shape = FormatText("{}x{}x{}x{}", dims[0], dims[1], dims[2], dims[3]);
  if (!shaped) return FileError("dims {}: zeros are allowed at the end only", shape);
  uint64_t bytes = 0;
  if (layout == kLayoutPlain) {
    if (type != 0) return FileError("type id {} in the plain layout, want f32", type);
    bytes = 4;
    for (size_t i = 0; i < n; i++) {
      if (!CheckedMul(bytes, dims[i], &bytes)) return FileError("dims {}: too large", shape);
    }
    return bytes;
  }
  if (layout != kLayoutTiles) return UnsupportedError("layout id {} is not known", layout);
  const TileBlock tile = TileBlockOf(type);
  if (tile.block == 0) return UnsupportedError("type id {} is not known", type);
  if (n < 2 || n > 3) return FileError("dims {}: {} of them in tiles, want 2 or 3", shape, n);
  uint64_t rows = 0;
  uint64_t cols = 0;
  if (!CheckedAlign(dims[n - 2], 16, &rows) || !CheckedAlign(dims[n - 1], tile.block, &cols) ||
      !CheckedMul(rows / 16, cols / tile.block, &bytes) || !CheckedMul(bytes, tile.bytes, &bytes)) {
    return FileError("dims {}: too large", shape);
  }
  return bytes;
}

namespace mlb {
namespace {

struct Extent {
  std::string_view name;
  uint64_t offset;
  uint64_t slice_bytes;
  uint64_t stride;
  uint64_t slices;
  uint64_t end() const { return offset + (slices - 1) * stride + slice_bytes; }
};

// Whether `next` (at or after the last of `group` in offset) fits between the group's slices.
bool Interleaves(const Extent& first, const Extent& last, const Extent& next) {
  return first.slices > 1 && next.slices == first.slices && next.stride == first.stride &&
         next.offset >= last.offset + last.slice_bytes &&
         next.offset - first.offset + next.slice_bytes <= first.stride;
}

}  // namespace

Status CheckHeader(const Header& header, uint64_t file_bytes, std::string_view file) {
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) {
    return FileError("{}: not a .mlb file (wrong magic)", file);
  }
  if (header.version != kVersion) {
    return UnsupportedError("{}: format version {}, this build reads {}", file, header.version,
                            kVersion);
  }
  if (const uint64_t unknown = header.required & ~kKnownRequired; unknown != 0) {
    return UnsupportedError("{}: needs feature {}, which this build does not know", file,
                            std::countr_zero(unknown));
  }
  if (header.file_bytes != file_bytes) {
    return FileError("{}: {} bytes, the header says {} (cut off or added to)", file, file_bytes,
                     header.file_bytes);
  }
  if (header.header_bytes > file_bytes || header.header_bytes > kMaxHeaderBytes) {
    return FileError("{}: header of {} bytes, file {}, limit {}", file, header.header_bytes,
                     file_bytes, kMaxHeaderBytes);
  }
  const auto limit = [&](std::string_view what, uint64_t got, uint64_t most) {
    return got <= most ? OkStatus() : FileError("{}: {} {}, limit {}", file, got, what, most);
  };
  KRAFLA_RETURN_IF_ERROR(limit("metadata entries", header.n_metadata, kMaxMetadata));
  KRAFLA_RETURN_IF_ERROR(limit("bytes of metadata", header.metadata_bytes, kMaxMetadataBytes));
  KRAFLA_RETURN_IF_ERROR(limit("sections", header.n_sections, kMaxSections));
  KRAFLA_RETURN_IF_ERROR(limit("tensors", header.n_tensors, kMaxTensors));
  KRAFLA_RETURN_IF_ERROR(limit("bytes of names", header.names_bytes, kMaxNamesBytes));
  const uint64_t parts = sizeof(Header) + header.metadata_bytes +
                         header.n_sections * sizeof(SectionRecord) +
                         header.n_tensors * sizeof(TensorRecord) + header.names_bytes;
  if (header.metadata_bytes % 8 != 0 || parts != header.header_bytes) {
    return FileError("{}: header of {} bytes, its parts take {}", file, header.header_bytes, parts);
  }
  return OkStatus();
}

Status CheckTensor(const MlbTensor& tensor, const Header& header, std::string_view file) {
  const auto slice = MlbTensorSliceBytes(tensor.type, tensor.layout, tensor.dims);
  if (!slice.ok()) {
    return Status(slice.status().code(),
                  FormatText("{}: tensor {}: {}", file, tensor.name, Message(slice.status())));
  }
  const uint64_t align = tensor.alignment;
  if (!std::has_single_bit(align) || align < 64 || align > kMaxAlignment) {
    return FileError("{}: tensor {}: alignment {}", file, tensor.name, align);
  }
  if (tensor.offset % align != 0 || tensor.slice_stride % align != 0) {
    return FileError("{}: tensor {}: offset {} and stride {} are no multiples of {}", file,
                     tensor.name, tensor.offset, tensor.slice_stride, align);
  }
  const bool sliced = tensor.layout == kLayoutTiles && tensor.dims[2] != 0;
  if (sliced ? tensor.slice_stride < *slice : tensor.slice_stride != 0) {
    return FileError("{}: tensor {}: slice stride {}, a slice has {} bytes", file, tensor.name,
                     tensor.slice_stride, *slice);
  }
  const uint64_t slices = MlbTensorSlices(tensor);
  uint64_t bytes = 0;
  uint64_t end = 0;
  if (!CheckedMul(slices, *slice, &bytes) || bytes != tensor.bytes) {
    return FileError("{}: tensor {}: {} bytes, its shape takes {} x {}", file, tensor.name,
                     tensor.bytes, slices, *slice);
  }
  if (!CheckedMul(slices - 1, tensor.slice_stride, &end) || !CheckedAdd(end, *slice, &end) ||
      !CheckedAdd(end, tensor.offset, &end) || end > header.file_bytes ||
      tensor.offset < header.header_bytes) {
    return FileError("{}: tensor {}: {} bytes at {} lie outside the file's {}..{}", file,
                     tensor.name, bytes, tensor.offset, header.header_bytes, header.file_bytes);
  }
  return OkStatus();
}

Status CheckSection(const MlbSection& section, const Header& header, std::string_view file) {
  if (section.bytes > kMaxSectionBytes) {
    return FileError("{}: section {}: {} bytes, limit {}", file, section.name, section.bytes,
                     kMaxSectionBytes);
  }
  uint64_t end = 0;
  if (section.offset % kSectionAlignment != 0 || section.offset < header.header_bytes ||
      !CheckedAdd(section.offset, section.bytes, &end) || end > header.file_bytes) {
    return FileError("{}: section {}: {} bytes at {} lie outside the file's {}..{} or unaligned",
                     file, section.name, section.bytes, section.offset, header.header_bytes,
                     header.file_bytes);
  }
  return OkStatus();
}

Status CheckPlacement(std::span<const MlbSection> sections, std::span<const MlbTensor> tensors,
                      std::string_view file) {
  std::vector<Extent> extents;
  extents.reserve(sections.size() + tensors.size());
  for (const MlbSection& section : sections) {
    if (section.bytes != 0) extents.push_back({section.name, section.offset, section.bytes, 0, 1});
  }
  for (const MlbTensor& tensor : tensors) {
    const uint64_t slices = MlbTensorSlices(tensor);
    extents.push_back(
        {tensor.name, tensor.offset, tensor.bytes / slices, tensor.slice_stride, slices});
  }
  std::sort(extents.begin(), extents.end(),
            [](const Extent& a, const Extent& b) { return a.offset < b.offset; });
  size_t first = 0;  // of the group of interleaved extents that is open
  uint64_t end = 0;  // of that group
  for (size_t i = 0; i < extents.size(); i++) {
    if (extents[i].offset >= end) {
      first = i;
    } else if (!Interleaves(extents[first], extents[i - 1], extents[i])) {
      return FileError("{}: {} and {} overlap", file, extents[i - 1].name, extents[i].name);
    }
    end = std::max(end, extents[i].end());
  }
  return OkStatus();
}

}  // namespace mlb
}  // namespace krafla
