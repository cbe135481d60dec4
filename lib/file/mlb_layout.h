// The .mlb's fixed structures as they lie in the file (docs/formats.md), all little-endian, and the
// limits that bound what an untrusted header may make the reader allocate.
#ifndef KRAFLA_LIB_FILE_MLB_LAYOUT_H_
#define KRAFLA_LIB_FILE_MLB_LAYOUT_H_

#include <cstddef>
#include <cstdint>

namespace krafla::mlb {

inline constexpr char kMagic[8] = {'\x89', 'K', 'R', 'A', 'F', 'L', 'A', '\n'};
inline constexpr uint32_t kVersion = 1;
inline constexpr uint64_t kKnownRequired = 0;  // bits of Header::required that this build knows

// The header part is: Header, metadata, section records, tensor records, names.
struct Header {
  char magic[8];
  uint32_t version;
  uint32_t arithmetic;    // KRAFLA_ARITHMETIC of the writer
  uint64_t required;      // features without which a reader must refuse the file
  uint64_t optional;      // features that a reader may ignore
  uint64_t file_bytes;    // of the whole file
  uint64_t header_bytes;  // of the header part
  uint64_t n_metadata;
  uint64_t metadata_bytes;  // padded to 8
  uint64_t n_sections;
  uint64_t n_tensors;
  uint64_t names_bytes;
  uint64_t checksum;     // of the header part with this field zero
  uint64_t reserved[4];  // zeros
};
static_assert(sizeof(Header) == 128);

struct MetadataRecord {  // followed by the key and the value, unaligned
  uint32_t kind;         // index in MetaValue; a reader skips kinds that it does not know
  uint32_t key_bytes;
  uint64_t value_bytes;
};
static_assert(sizeof(MetadataRecord) == 16);

struct SectionRecord {
  uint32_t name_offset;  // in the names
  uint32_t name_bytes;
  uint64_t offset;  // in the file, a multiple of kSectionAlignment
  uint64_t bytes;
  uint64_t checksum;
};
static_assert(sizeof(SectionRecord) == 32);

struct TensorRecord {
  uint32_t name_offset;
  uint32_t name_bytes;
  uint32_t type;
  uint32_t layout;
  uint64_t dims[4];
  uint64_t offset;
  uint64_t bytes;
  uint64_t slice_stride;
  uint64_t checksum;
  uint32_t alignment;
  uint32_t reserved;  // zero
};
static_assert(sizeof(TensorRecord) == 88);

inline constexpr uint64_t kSectionAlignment = 64;
inline constexpr uint64_t kMaxAlignment = uint64_t{1} << 21;
inline constexpr uint64_t kMaxHeaderBytes = uint64_t{32} << 20;
inline constexpr uint64_t kMaxMetadataBytes = uint64_t{1} << 20;
inline constexpr uint64_t kMaxMetadata = 4096;
inline constexpr uint64_t kMaxSections = 256;
inline constexpr uint64_t kMaxSectionBytes = uint64_t{256} << 20;
inline constexpr uint64_t kMaxTensors = uint64_t{1} << 17;
inline constexpr uint64_t kMaxNamesBytes = uint64_t{8} << 20;
inline constexpr uint32_t kMaxNameBytes = 1024;

}  // namespace krafla::mlb

#endif  // KRAFLA_LIB_FILE_MLB_LAYOUT_H_
