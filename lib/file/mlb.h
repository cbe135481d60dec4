// Reading a .mlb: header, metadata, sections and tensor table (docs/formats.md, byte by byte). The
// header part is untrusted: every offset, count, size and alignment is checked once, at opening.
#ifndef KRAFLA_LIB_FILE_MLB_H_
#define KRAFLA_LIB_FILE_MLB_H_

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lib/base/status.h"
#include "lib/file/source.h"

namespace krafla {

using MetaValue = std::variant<int64_t, double, bool, std::string, std::vector<int64_t>,
                               std::vector<double>, std::vector<std::string>>;
struct MetaEntry {
  std::string key;
  MetaValue value;
};

inline constexpr uint32_t kLayoutPlain = 0;  // row-major f32 (vectors)
inline constexpr uint32_t kLayoutTiles = 1;  // tiles of 16 rows (kernels/kernels.h)

struct MlbTensor {
  std::string_view name;         // lives in the MlbFile
  uint32_t type;                 // lib/quant/format.h
  uint32_t layout;               // kLayoutPlain or kLayoutTiles
  std::array<uint64_t, 4> dims;  // logical: {cols}, {rows, cols} or {experts, rows, cols}; rest 0
  uint64_t offset;               // in the file
  uint64_t bytes;                // of all slices
  uint64_t slice_stride;         // experts: bytes from one slice to the next, else 0
  uint32_t alignment;
  uint64_t checksum;  // XXH64 over `bytes`, slices in order
};

struct MlbSection {
  std::string_view name;
  uint64_t offset;
  uint64_t bytes;
  uint64_t checksum;
};

// Bytes that a tensor's dims take (of one slice, where there are experts); FileError: not a valid
// shape.
StatusOr<uint64_t> MlbTensorSliceBytes(uint32_t type, uint32_t layout,
                                       const std::array<uint64_t, 4>& dims);
inline uint64_t MlbTensorSlices(const MlbTensor& tensor) {
  return tensor.slice_stride != 0 ? tensor.dims[0] : 1;
}

class MlbFile {
 public:
  // Takes the source; reads only the header part. Fails with FileError naming what, where, got,
  // wanted.
  static StatusOr<std::unique_ptr<MlbFile>> Open(std::unique_ptr<FileSource> source);

  const FileSource& source() const { return *source_; }
  std::span<const MetaEntry> metadata() const { return metadata_; }
  const MetaValue* Meta(std::string_view key) const;  // null: absent
  std::span<const MlbTensor> tensors() const { return tensors_; }
  const MlbTensor* Tensor(std::string_view name) const;  // null: absent
  std::span<const MlbSection> sections() const { return sections_; }
  // Bytes of a section ("tokenizer", "template"), 64-byte aligned; empty where absent. In place
  // when the source is in memory, else read at the first call and kept. Not thread-safe.
  StatusOr<std::string_view> Section(std::string_view name);
  uint64_t content_hash() const { return content_hash_; }  // covers the tensors' checksums too
  uint32_t arithmetic() const { return arithmetic_; }      // KRAFLA_ARITHMETIC of the writer

  // Reads everything and compares the checksums (ml_convert check). progress may be null; non-zero
  // stops with a CallbackError.
  Status VerifyChecksums(int (*progress)(void* user, uint64_t done, uint64_t total), void* user);

 private:
  struct AlignedDelete {
    void operator()(char* p) const { ::operator delete[](p, std::align_val_t{64}); }
  };
  using AlignedBytes = std::unique_ptr<char[], AlignedDelete>;

  MlbFile() = default;
  std::unique_ptr<FileSource> source_;
  std::vector<char> names_;
  std::vector<MetaEntry> metadata_;
  std::vector<MlbSection> sections_;
  std::vector<AlignedBytes> section_bytes_;  // where read or copied
  std::vector<MlbTensor> tensors_;
  std::vector<uint32_t> by_name_;  // indices of tensors_
  uint64_t content_hash_ = 0;
  uint32_t arithmetic_ = 0;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_FILE_MLB_H_
