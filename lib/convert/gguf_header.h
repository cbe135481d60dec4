// The sequential part of a GGUF: a buffered reader whose every read is checked against the bytes
// that remain, and the parsing of key values and tensor records with it.
#ifndef KRAFLA_LIB_CONVERT_GGUF_HEADER_H_
#define KRAFLA_LIB_CONVERT_GGUF_HEADER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/convert/checkpoint.h"
#include "lib/convert/gguf.h"

namespace krafla {

class GgufReader {
 public:
  GgufReader(const FileSource& source, uint64_t offset, uint64_t end)
      : source_(source), offset_(offset), end_(end) {}

  uint64_t offset() const { return offset_; }
  uint64_t remaining() const { return end_ - offset_; }
  Status Read(void* out, size_t n);
  Status Skip(uint64_t n);
  // A string of at most `limit` bytes; `what` is for messages.
  Status ReadString(std::string_view what, uint64_t limit, std::string* out);
  template <typename T>
  Status Read(T* out) {
    return Read(out, sizeof *out);
  }

 private:
  Status Ended(uint64_t n) const;
  const FileSource& source_;
  uint64_t offset_;
  uint64_t end_;
  uint64_t buffer_offset_ = 0;
  std::vector<char> buffer_;
};

struct GgufCounts {
  uint64_t n_tensors = 0;
  uint64_t n_values = 0;
};

uint64_t GgufScalarBytes(GgufType type);  // 0: not a scalar
std::string_view GgufTypeName(GgufType type);

Status ReadGgufStart(GgufReader* reader, std::string_view file, GgufCounts* counts);
Status ReadGgufValue(GgufReader* reader, std::string_view file, GgufValue* value);
// Offsets relative to the data part; shapes with rows first.
Status ReadGgufTensor(GgufReader* reader, std::string_view file, CheckpointTensor* tensor);

}  // namespace krafla

#endif  // KRAFLA_LIB_CONVERT_GGUF_HEADER_H_
