// Arrays cannot nest here (the format allows it, no file does it), so nothing recurses; strings of
// an array are walked once for their lengths, not kept.
#include "lib/convert/gguf_header.h"

#include "lib/base/utf8.h"
#include "lib/file/checked.h"

namespace krafla {
namespace {

constexpr size_t kBufferBytes = 64 << 10;
constexpr uint64_t kMaxKeyBytes = 1024;
constexpr uint64_t kMaxNameBytes = 256;
constexpr uint64_t kMaxStringBytes = 16 << 20;  // a chat template is the longest
constexpr uint64_t kMaxValues = 16384;
constexpr uint64_t kMaxTensors = 32768;
constexpr uint64_t kMaxStrings = 1 << 22;  // of an array: tokens, merges
constexpr uint32_t kMaxDims = 4;

struct TensorType {
  std::string_view name;
  SourceType type = SourceType::kOther;
};
// By id. What ggml has retired is named as such; an id without a name was never used.
constexpr TensorType kTensorTypes[] = {
    {"F32", SourceType::kF32},
    {"F16", SourceType::kF16},
    {"Q4_0", SourceType::kQ4_0},
    {"Q4_1", SourceType::kQ4_1},
    {"Q4_2 (retired)"},
    {"Q4_3 (retired)"},
    {"Q5_0", SourceType::kQ5_0},
    {"Q5_1", SourceType::kQ5_1},
    {"Q8_0", SourceType::kQ8_0},
    {"Q8_1"},
    {"Q2_K", SourceType::kQ2_K},
    {"Q3_K", SourceType::kQ3_K},
    {"Q4_K", SourceType::kQ4_K},
    {"Q5_K", SourceType::kQ5_K},
    {"Q6_K", SourceType::kQ6_K},
    {"Q8_K", SourceType::kQ8_K},
    {"IQ2_XXS"},
    {"IQ2_XS"},
    {"IQ3_XXS"},
    {"IQ1_S"},
    {"IQ4_NL", SourceType::kIQ4_NL},
    {"IQ3_S"},
    {"IQ2_S"},
    {"IQ4_XS", SourceType::kIQ4_XS},
    {"I8"},
    {"I16"},
    {"I32"},
    {"I64"},
    {"F64", SourceType::kF64},
    {"IQ1_M"},
    {"BF16", SourceType::kBF16},
    {"Q4_0_4_4 (retired)"},
    {"Q4_0_4_8 (retired)"},
    {"Q4_0_8_8 (retired)"},
    {"TQ1_0"},
    {"TQ2_0"},
    {"IQ4_NL_4_4 (retired)"},
    {"IQ4_NL_4_8 (retired)"},
    {"IQ4_NL_8_8 (retired)"},
    {"MXFP4", SourceType::kMXFP4},
};

Status ReadArray(GgufReader* reader, std::string_view file, GgufValue* value) {
  KRAFLA_RETURN_IF_ERROR(reader->Read(&value->element_type));
  KRAFLA_RETURN_IF_ERROR(reader->Read(&value->count));
  value->offset = reader->offset();
  const uint64_t size = GgufScalarBytes(value->element_type);
  if (value->element_type == GgufType::kString) {
    if (value->count > std::min(kMaxStrings, reader->remaining() / 8)) {
      return FileError("{}: {}: {} strings in {} bytes", file, value->key, value->count,
                       reader->remaining());
    }
    for (uint64_t i = 0; i < value->count; i++) {
      uint64_t length = 0;
      KRAFLA_RETURN_IF_ERROR(reader->Read(&length));
      if (length > reader->remaining()) {
        return FileError("{}: {}: string {} of {} bytes, {} left", file, value->key, i, length,
                         reader->remaining());
      }
      KRAFLA_RETURN_IF_ERROR(reader->Skip(length));
    }
  } else if (size != 0) {
    if (value->count > reader->remaining() / size) {
      return FileError("{}: {}: {} elements of {} bytes in {} bytes", file, value->key,
                       value->count, size, reader->remaining());
    }
    KRAFLA_RETURN_IF_ERROR(reader->Skip(value->count * size));
  } else {
    return FileError("{}: {}: an array of type {}", file, value->key,
                     static_cast<uint32_t>(value->element_type));
  }
  value->bytes = reader->offset() - value->offset;
  return OkStatus();
}

}  // namespace

Status GgufReader::Ended(uint64_t n) const {
  return FileError("{}: {} bytes wanted at {} of {} (cut off?)", source_.name(), n, offset_, end_);
}

Status GgufReader::Read(void* out, size_t n) {
  if (n > remaining()) return Ended(n);
  auto* to = static_cast<char*>(out);
  while (n > 0) {
    const uint64_t at = offset_ - buffer_offset_;
    if (buffer_.empty() || offset_ < buffer_offset_ || at >= buffer_.size()) {
      buffer_.resize(static_cast<size_t>(std::min<uint64_t>(kBufferBytes, remaining())));
      buffer_offset_ = offset_;
      KRAFLA_RETURN_IF_ERROR(source_.ReadAt(offset_, buffer_.data(), buffer_.size()));
      continue;
    }
    const size_t piece = std::min(n, buffer_.size() - static_cast<size_t>(at));
    std::memcpy(to, buffer_.data() + at, piece);
    to += piece;
    offset_ += piece;
    n -= piece;
  }
  return OkStatus();
}

Status GgufReader::Skip(uint64_t n) {
  if (n > remaining()) return Ended(n);
  offset_ += n;
  return OkStatus();
}

Status GgufReader::ReadString(std::string_view what, uint64_t limit, std::string* out) {
  uint64_t length = 0;
  KRAFLA_RETURN_IF_ERROR(Read(&length));
  if (length > limit || length > remaining()) {
    return FileError("{}: {} at {}: {} bytes, limit {}", source_.name(), what, offset_, length,
                     std::min(limit, remaining()));
  }
  out->resize(static_cast<size_t>(length));
  return Read(out->data(), out->size());
}

uint64_t GgufScalarBytes(GgufType type) {
  switch (type) {
    case GgufType::kUint8:
    case GgufType::kInt8:
    case GgufType::kBool:
      return 1;
    case GgufType::kUint16:
    case GgufType::kInt16:
      return 2;
    case GgufType::kUint32:
    case GgufType::kInt32:
    case GgufType::kFloat32:
      return 4;
    case GgufType::kUint64:
    case GgufType::kInt64:
    case GgufType::kFloat64:
      return 8;
    case GgufType::kString:
    case GgufType::kArray:
      break;
  }
  return 0;
}

std::string_view GgufTypeName(GgufType type) {
  constexpr std::string_view kNames[] = {"UINT8",  "INT8",    "UINT16", "INT16",  "UINT32",
                                         "INT32",  "FLOAT32", "BOOL",   "STRING", "ARRAY",
                                         "UINT64", "INT64",   "FLOAT64"};
  const auto i = static_cast<size_t>(type);
  return i < std::size(kNames) ? kNames[i] : "unknown";
}

Status ReadGgufStart(GgufReader* reader, std::string_view file, GgufCounts* counts) {
  char magic[4];
  uint32_t version = 0;
  if (reader->remaining() < 24) {
    return FileError("{}: not a GGUF file ({} bytes)", file, reader->remaining());
  }
  KRAFLA_RETURN_IF_ERROR(reader->Read(magic, sizeof magic));
  if (std::memcmp(magic, "GGUF", 4) != 0) return FileError("{}: not a GGUF file", file);
  KRAFLA_RETURN_IF_ERROR(reader->Read(&version));
  if (version != 0 && version % 65536 == 0) {
    return UnsupportedError("{}: a big-endian GGUF is not supported", file);
  }
  if (version != 2 && version != 3) {
    return UnsupportedError("{}: GGUF version {}, want 2 or 3", file, version);
  }
  KRAFLA_RETURN_IF_ERROR(reader->Read(&counts->n_tensors));
  KRAFLA_RETURN_IF_ERROR(reader->Read(&counts->n_values));
  if (counts->n_values > kMaxValues) {
    return FileError("{}: {} key values, limit {}", file, counts->n_values, kMaxValues);
  }
  if (counts->n_tensors > kMaxTensors) {
    return FileError("{}: {} tensors, limit {}", file, counts->n_tensors, kMaxTensors);
  }
  return OkStatus();
}

Status ReadGgufValue(GgufReader* reader, std::string_view file, GgufValue* value) {
  KRAFLA_RETURN_IF_ERROR(reader->ReadString("key", kMaxKeyBytes, &value->key));
  if (value->key.empty() || ValidUtf8Prefix(value->key) != value->key.size()) {
    return FileError("{}: a key before {} is empty or not UTF-8", file, reader->offset());
  }
  KRAFLA_RETURN_IF_ERROR(reader->Read(&value->type));
  if (value->type == GgufType::kString) {
    return reader->ReadString(value->key, kMaxStringBytes, &value->text);
  }
  if (value->type == GgufType::kArray) return ReadArray(reader, file, value);
  const uint64_t size = GgufScalarBytes(value->type);
  if (size == 0) {
    return FileError("{}: {}: value type {} is not known", file, value->key,
                     static_cast<uint32_t>(value->type));
  }
  return reader->Read(&value->bits, static_cast<size_t>(size));
}

Status ReadGgufTensor(GgufReader* reader, std::string_view file, CheckpointTensor* tensor) {
  KRAFLA_RETURN_IF_ERROR(reader->ReadString("tensor name", kMaxNameBytes, &tensor->name));
  if (tensor->name.empty() || ValidUtf8Prefix(tensor->name) != tensor->name.size()) {
    return FileError("{}: a tensor's name before {} is empty or not UTF-8", file, reader->offset());
  }
  uint32_t n_dims = 0;
  KRAFLA_RETURN_IF_ERROR(reader->Read(&n_dims));
  if (n_dims > kMaxDims) {
    return FileError("{}: tensor {}: {} dimensions, limit {}", file, tensor->name, n_dims,
                     kMaxDims);
  }
  uint64_t elements = 1;
  tensor->shape.resize(n_dims);
  for (uint32_t i = 0; i < n_dims; i++) {
    uint64_t& dim = tensor->shape[n_dims - 1 - i];  // the file has the innermost one first
    KRAFLA_RETURN_IF_ERROR(reader->Read(&dim));
    if (dim > INT64_MAX || !CheckedMul(elements, dim, &elements) || elements > INT64_MAX) {
      return FileError("{}: tensor {}: dimension {} of {} is too large", file, tensor->name, i,
                       dim);
    }
  }
  uint32_t type = 0;
  KRAFLA_RETURN_IF_ERROR(reader->Read(&type));
  KRAFLA_RETURN_IF_ERROR(reader->Read(&tensor->offset));
  const TensorType known = type < std::size(kTensorTypes) ? kTensorTypes[type] : TensorType{};
  if (known.name.empty() || known.type == SourceType::kOther) {
    return UnsupportedError("{}: tensor {}: type {} {} is not supported, want one of {}", file,
                            tensor->name, type, known.name.empty() ? "(unknown)" : known.name,
                            kGgufWeightTypes);
  }
  tensor->type = known.type;
  tensor->type_name = std::string(known.name);
  const SourceTypeSize size = SizeOf(known.type);
  if (tensor->cols() % size.block != 0) {
    return FileError("{}: tensor {}: rows of {}, {} has blocks of {}", file, tensor->name,
                     tensor->cols(), known.name, size.block);
  }
  if (!CheckedMul(elements / size.block, size.block_bytes, &tensor->bytes)) {
    return FileError("{}: tensor {}: {} is too large", file, tensor->name,
                     ShapeText(tensor->shape));
  }
  return OkStatus();
}

}  // namespace krafla
