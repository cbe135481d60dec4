// Reading a GGUF file's header (versions 2 and 3, little-endian): key values and tensor table.
// Nothing is allocated for an array: its place is kept, and its elements are read when they are
// asked for.
#ifndef KRAFLA_LIB_CONVERT_GGUF_H_
#define KRAFLA_LIB_CONVERT_GGUF_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/convert/checkpoint.h"
#include "lib/file/key_values.h"

namespace krafla {

// The value types of the format.
enum class GgufType : uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};

struct GgufValue {
  std::string key;
  GgufType type = GgufType::kUint8;
  uint64_t bits = 0;                         // a scalar's bytes, zero-extended
  std::string text;                          // kString
  GgufType element_type = GgufType::kUint8;  // kArray
  uint64_t count = 0;                        // kArray
  uint64_t offset = 0;                       // kArray: of its first element in the file
  uint64_t bytes = 0;                        // kArray
};

// As KeyValues: an array's element count is Integer("<key>.length").
class GgufFile final : public KeyValues {
 public:
  // The tensors go into *checkpoint, which keeps the source; call its Finish.
  static StatusOr<GgufFile> Open(std::unique_ptr<FileSource> source, Checkpoint* checkpoint);

  std::optional<int64_t> Integer(std::string_view key) const override;
  std::optional<double> Number(std::string_view key) const override;
  std::optional<bool> Bool(std::string_view key) const override;
  std::optional<std::string> String(std::string_view key) const override;
  std::optional<std::vector<double>> Numbers(std::string_view key) const override;
  bool Has(std::string_view key) const override { return Find(key) != nullptr; }

  // Whole arrays; FileError: of another element type. Absent: empty.
  StatusOr<std::vector<std::string>> Strings(std::string_view key) const;
  StatusOr<std::vector<int32_t>> Int32s(std::string_view key) const;
  StatusOr<std::vector<float>> Floats(std::string_view key) const;

 private:
  const GgufValue* Find(std::string_view key) const;
  StatusOr<const GgufValue*> FindArray(std::string_view key, GgufType element_type) const;

  const FileSource* source_ = nullptr;
  std::vector<GgufValue> values_;  // by key
};

}  // namespace krafla

#endif  // KRAFLA_LIB_CONVERT_GGUF_H_
