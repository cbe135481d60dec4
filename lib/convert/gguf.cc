// The header as a whole: keys once each, the alignment, and the tensors' places in the data part.
#include "lib/convert/gguf.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "lib/convert/gguf_header.h"
#include "lib/file/checked.h"

namespace krafla {
namespace {

constexpr uint64_t kDefaultAlignment = 32;
constexpr uint64_t kMaxAlignment = 1 << 21;
constexpr uint64_t kMaxTextBytes = 24 << 20;  // of all keys and strings that are kept
constexpr std::string_view kAlignmentKey = "general.alignment";
constexpr std::string_view kLength = ".length";

bool IsUnsigned(GgufType type) {
  return type == GgufType::kUint8 || type == GgufType::kUint16 || type == GgufType::kUint32 ||
         type == GgufType::kUint64;
}

// The scalar at p.
template <typename T>
T Load(const void* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

std::optional<double> NumberAt(GgufType type, const void* p) {
  switch (type) {
    case GgufType::kUint8:
      return Load<uint8_t>(p);
    case GgufType::kInt8:
      return Load<int8_t>(p);
    case GgufType::kUint16:
      return Load<uint16_t>(p);
    case GgufType::kInt16:
      return Load<int16_t>(p);
    case GgufType::kUint32:
      return Load<uint32_t>(p);
    case GgufType::kInt32:
      return Load<int32_t>(p);
    case GgufType::kUint64:
      return static_cast<double>(Load<uint64_t>(p));
    case GgufType::kInt64:
      return static_cast<double>(Load<int64_t>(p));
    case GgufType::kFloat32:
      return Load<float>(p);
    case GgufType::kFloat64:
      return Load<double>(p);
    default:
      return std::nullopt;
  }
}

std::optional<int64_t> IntegerOf(const GgufValue& value) {
  if (IsUnsigned(value.type)) {
    if (value.bits > INT64_MAX) return std::nullopt;
    return static_cast<int64_t>(value.bits);
  }
  switch (value.type) {
    case GgufType::kInt8:
      return static_cast<int8_t>(value.bits);
    case GgufType::kInt16:
      return static_cast<int16_t>(value.bits);
    case GgufType::kInt32:
      return static_cast<int32_t>(value.bits);
    case GgufType::kInt64:
      return static_cast<int64_t>(value.bits);
    default:
      return std::nullopt;
  }
}

StatusOr<uint64_t> AlignmentOf(const std::vector<GgufValue>& values, std::string_view file) {
  for (const GgufValue& value : values) {
    if (value.key != kAlignmentKey) continue;
    const int64_t alignment = IntegerOf(value).value_or(0);
    if (alignment <= 0 || alignment > static_cast<int64_t>(kMaxAlignment) ||
        !std::has_single_bit(static_cast<uint64_t>(alignment))) {
      return FileError("{}: {}: got {} {}, want a power of two up to {}", file, kAlignmentKey,
                       GgufTypeName(value.type), alignment, kMaxAlignment);
    }
    return static_cast<uint64_t>(alignment);
  }
  return kDefaultAlignment;
}

// Bounds, alignment and overlaps; makes the offsets those of the file.
Status Place(uint64_t header_end, uint64_t alignment, const FileSource& file,
             std::vector<CheckpointTensor>* tensors) {
  uint64_t data_start = 0;
  if (!CheckedAlign(header_end, alignment, &data_start))
    return FileError("{}: too large", file.name());
  for (CheckpointTensor& tensor : *tensors) {
    uint64_t end = 0;
    if (tensor.offset % alignment != 0) {
      return FileError("{}: tensor {}: offset {} is no multiple of {}", file.name(), tensor.name,
                       tensor.offset, alignment);
    }
    if (tensor.bytes == 0) {
      tensor.offset = 0;
      continue;
    }
    if (!CheckedAdd(tensor.offset, data_start, &tensor.offset) ||
        !CheckedAdd(tensor.offset, tensor.bytes, &end) || end > file.size()) {
      return FileError("{}: tensor {}: {} bytes at {} lie beyond the file's {} (cut off?)",
                       file.name(), tensor.name, tensor.bytes, tensor.offset, file.size());
    }
  }
  std::sort(tensors->begin(), tensors->end(),
            [](const auto& a, const auto& b) { return a.offset < b.offset; });
  for (size_t i = 1; i < tensors->size(); i++) {
    const CheckpointTensor& before = (*tensors)[i - 1];
    const CheckpointTensor& tensor = (*tensors)[i];
    if (tensor.bytes != 0 && before.bytes != 0 && tensor.offset - before.offset < before.bytes) {
      return FileError("{}: tensors {} and {} overlap", file.name(), before.name, tensor.name);
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<GgufFile> GgufFile::Open(std::unique_ptr<FileSource> source, Checkpoint* checkpoint) {
  GgufFile gguf;
  gguf.source_ = checkpoint->AddFile(std::move(source));
  const FileSource& file = *gguf.source_;
  GgufReader reader(file, 0, file.size());
  GgufCounts counts;
  KRAFLA_RETURN_IF_ERROR(ReadGgufStart(&reader, file.name(), &counts));
  uint64_t text_bytes = 0;
  for (uint64_t i = 0; i < counts.n_values; i++) {
    GgufValue value;
    KRAFLA_RETURN_IF_ERROR(ReadGgufValue(&reader, file.name(), &value));
    text_bytes += value.key.size() + value.text.size();
    if (text_bytes > kMaxTextBytes) {
      return FileError("{}: keys and strings of more than {} bytes", file.name(), kMaxTextBytes);
    }
    gguf.values_.push_back(std::move(value));
  }
  std::sort(gguf.values_.begin(), gguf.values_.end(),
            [](const GgufValue& a, const GgufValue& b) { return a.key < b.key; });
  for (size_t i = 1; i < gguf.values_.size(); i++) {
    if (gguf.values_[i].key == gguf.values_[i - 1].key) {
      return FileError("{}: key {} comes twice", file.name(), gguf.values_[i].key);
    }
  }
  KRAFLA_ASSIGN_OR_RETURN(const uint64_t alignment, AlignmentOf(gguf.values_, file.name()));
  std::vector<CheckpointTensor> tensors;
  for (uint64_t i = 0; i < counts.n_tensors; i++) {
    CheckpointTensor tensor;
    tensor.file = &file;
    KRAFLA_RETURN_IF_ERROR(ReadGgufTensor(&reader, file.name(), &tensor));
    tensors.push_back(std::move(tensor));
  }
  KRAFLA_RETURN_IF_ERROR(Place(reader.offset(), alignment, file, &tensors));
  for (CheckpointTensor& tensor : tensors) checkpoint->Add(std::move(tensor));
  return gguf;
}

const GgufValue* GgufFile::Find(std::string_view key) const {
  const auto at = std::lower_bound(
      values_.begin(), values_.end(), key,
      [](const GgufValue& value, std::string_view wanted) { return value.key < wanted; });
  return at != values_.end() && at->key == key ? &*at : nullptr;
}

std::optional<int64_t> GgufFile::Integer(std::string_view key) const {
  if (const GgufValue* value = Find(key)) return IntegerOf(*value);
  if (!key.ends_with(kLength)) return std::nullopt;
  const GgufValue* array = Find(key.substr(0, key.size() - kLength.size()));
  if (array == nullptr || array->type != GgufType::kArray) return std::nullopt;
  return static_cast<int64_t>(array->count);
}

std::optional<double> GgufFile::Number(std::string_view key) const {
  const GgufValue* value = Find(key);
  if (value == nullptr) return std::nullopt;
  return NumberAt(value->type, &value->bits);
}

std::optional<bool> GgufFile::Bool(std::string_view key) const {
  const GgufValue* value = Find(key);
  if (value == nullptr || value->type != GgufType::kBool) return std::nullopt;
  return value->bits != 0;
}

std::optional<std::string> GgufFile::String(std::string_view key) const {
  const GgufValue* value = Find(key);
  if (value == nullptr || value->type != GgufType::kString) return std::nullopt;
  return value->text;
}

std::optional<std::vector<double>> GgufFile::Numbers(std::string_view key) const {
  constexpr uint64_t kMost = 65536;  // configuration arrays have one element a layer
  const GgufValue* value = Find(key);
  if (value == nullptr || value->type != GgufType::kArray || value->count > kMost) {
    return std::nullopt;
  }
  const uint64_t size = GgufScalarBytes(value->element_type);
  if (size == 0) return std::nullopt;
  std::vector<char> bytes(static_cast<size_t>(value->bytes));
  if (!source_->ReadAt(value->offset, bytes.data(), bytes.size()).ok()) return std::nullopt;
  std::vector<double> numbers;
  for (uint64_t i = 0; i < value->count; i++) {
    const auto number = NumberAt(value->element_type, bytes.data() + i * size);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

StatusOr<const GgufValue*> GgufFile::FindArray(std::string_view key, GgufType element_type) const {
  const GgufValue* value = Find(key);
  if (value == nullptr) return value;
  if (value->type != GgufType::kArray || value->element_type != element_type) {
    return FileError("{}: {}: got {} of {}, want an ARRAY of {}", source_->name(), key,
                     GgufTypeName(value->type), GgufTypeName(value->element_type),
                     GgufTypeName(element_type));
  }
  return value;
}

StatusOr<std::vector<std::string>> GgufFile::Strings(std::string_view key) const {
  KRAFLA_ASSIGN_OR_RETURN(const GgufValue* value, FindArray(key, GgufType::kString));
  std::vector<std::string> strings;
  if (value == nullptr) return strings;
  GgufReader reader(*source_, value->offset, value->offset + value->bytes);
  for (uint64_t i = 0; i < value->count; i++) {
    strings.emplace_back();
    KRAFLA_RETURN_IF_ERROR(reader.ReadString(key, value->bytes, &strings.back()));
  }
  return strings;
}

StatusOr<std::vector<int32_t>> GgufFile::Int32s(std::string_view key) const {
  KRAFLA_ASSIGN_OR_RETURN(const GgufValue* value, FindArray(key, GgufType::kInt32));
  std::vector<int32_t> numbers(value == nullptr ? 0 : static_cast<size_t>(value->count));
  if (value == nullptr) return numbers;
  KRAFLA_RETURN_IF_ERROR(source_->ReadAt(value->offset, numbers.data(), value->bytes));
  return numbers;
}

StatusOr<std::vector<float>> GgufFile::Floats(std::string_view key) const {
  KRAFLA_ASSIGN_OR_RETURN(const GgufValue* value, FindArray(key, GgufType::kFloat32));
  std::vector<float> numbers(value == nullptr ? 0 : static_cast<size_t>(value->count));
  if (value == nullptr) return numbers;
  KRAFLA_RETURN_IF_ERROR(source_->ReadAt(value->offset, numbers.data(), value->bytes));
  return numbers;
}

}  // namespace krafla
