// The length is checked before anything is allocated by it. A Git LFS pointer in place of the file
// is common enough to be named.
#include "lib/convert/safetensors.h"

#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "lib/file/checked.h"

namespace krafla {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the reference implementation's limit
constexpr size_t kMaxDepth = 8;
constexpr size_t kMaxDims = 8;
constexpr uint64_t kMaxTensors = 1 << 20;

struct DType {
  std::string_view name;
  uint64_t bits;
  SourceType type = SourceType::kOther;
};
constexpr DType kDTypes[] = {
    {"F32", 32, SourceType::kF32},
    {"F16", 16, SourceType::kF16},
    {"BF16", 16, SourceType::kBF16},
    {"F64", 64, SourceType::kF64},
    {"F8_E5M2", 8},
    {"F8_E4M3", 8},
    {"F8_E8M0", 8},
    {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8},
    {"F6_E2M3", 6},
    {"F6_E3M2", 6},
    {"F4", 4},
    {"C64", 64},
    {"I64", 64},
    {"I32", 32},
    {"I16", 16},
    {"I8", 8},
    {"U64", 64},
    {"U32", 32},
    {"U16", 16},
    {"U8", 8},
    {"BOOL", 8},
};

StatusOr<std::string> ReadHeader(const FileSource& file) {
  constexpr std::string_view kLfs = "version https://git-lfs";
  char start[32] = {};
  const auto n = static_cast<size_t>(std::min<uint64_t>(file.size(), sizeof start));
  KRAFLA_RETURN_IF_ERROR(file.ReadAt(0, start, n));
  if (std::string_view(start, n).starts_with(kLfs)) {
    return FileError("{}: is a Git LFS pointer of {} bytes, not the file (git lfs pull fetches it)",
                     file.name(), file.size());
  }
  if (n < 8) return FileError("{}: {} bytes are no safetensors file", file.name(), n);
  uint64_t length = 0;
  std::memcpy(&length, start, sizeof length);
  if (length > kMaxHeaderBytes) {
    return FileError("{}: header of {} bytes, limit {}", file.name(), length, kMaxHeaderBytes);
  }
  if (length > file.size() - 8) {
    return FileError("{}: header of {} bytes in a file of {} (cut off?)", file.name(), length,
                     file.size());
  }
  std::string header(length, '\0');
  KRAFLA_RETURN_IF_ERROR(file.ReadAt(8, header.data(), header.size()));
  if (!header.starts_with('{')) {
    return FileError("{}: not a safetensors file (the header is no JSON object)", file.name());
  }
  return header;
}

StatusOr<std::vector<uint64_t>> ReadNumbers(const element& tensor, std::string_view key,
                                            size_t at_most) {
  array list;
  if (tensor[key].get(list) != simdjson::SUCCESS) return FileError("{}: not a list", key);
  std::vector<uint64_t> values;
  for (const element item : list) {
    uint64_t value = 0;
    if (item.get(value) != simdjson::SUCCESS || values.size() == at_most) {
      return FileError("{}: not a list of at most {} sizes", key, at_most);
    }
    values.push_back(value);
  }
  return values;
}

// Each key that the format knows, once at most.
Status CheckKeys(const element& value) {
  object fields;
  if (value.get(fields) != simdjson::SUCCESS) return FileError("no dtype");
  int dtypes = 0, shapes = 0, offsets = 0;
  for (const auto field : fields) {
    dtypes += field.key == "dtype";
    shapes += field.key == "shape";
    offsets += field.key == "data_offsets";
  }
  if (dtypes > 1 || shapes > 1 || offsets > 1) return FileError("a key comes twice");
  return OkStatus();
}

// Offsets are relative to the data part here.
Status ReadTensor(const element& value, CheckpointTensor* tensor) {
  KRAFLA_RETURN_IF_ERROR(CheckKeys(value));
  std::string_view dtype;
  if (value["dtype"].get(dtype) != simdjson::SUCCESS) return FileError("no dtype");
  const auto* row = std::find_if(std::begin(kDTypes), std::end(kDTypes),
                                 [&](const DType& d) { return d.name == dtype; });
  if (row == std::end(kDTypes)) return FileError("dtype {} is not known", dtype);
  tensor->type = row->type;
  tensor->type_name = std::string(dtype);
  KRAFLA_ASSIGN_OR_RETURN(tensor->shape, ReadNumbers(value, "shape", kMaxDims));
  KRAFLA_ASSIGN_OR_RETURN(const std::vector<uint64_t> offsets,
                          ReadNumbers(value, "data_offsets", 2));
  if (offsets.size() != 2 || offsets[0] > offsets[1]) {
    return FileError("data_offsets: want a start and an end");
  }
  uint64_t bits = 1;
  for (const uint64_t dim : tensor->shape) {
    if (!CheckedMul(bits, dim, &bits)) {
      return FileError("shape {}: too large", ShapeText(tensor->shape));
    }
  }
  if (!CheckedMul(bits, row->bits, &bits)) {
    return FileError("shape {}: too large", ShapeText(tensor->shape));
  }
  if (bits % 8 != 0) {
    return FileError("{} {} takes {} bits, no whole bytes", dtype, ShapeText(tensor->shape), bits);
  }
  const uint64_t bytes = bits / 8;
  tensor->offset = offsets[0];
  tensor->bytes = offsets[1] - offsets[0];
  if (bytes != tensor->bytes) {
    return FileError("{} {} takes {} bytes, data_offsets give {}", dtype, ShapeText(tensor->shape),
                     bytes, tensor->bytes);
  }
  return OkStatus();
}

bool IsStrings(const element& metadata) {
  if (metadata.is_null()) return true;
  object fields;
  if (metadata.get(fields) != simdjson::SUCCESS) return false;
  for (const auto field : fields) {
    if (!field.value.is_string()) return false;
  }
  return true;
}

StatusOr<std::vector<CheckpointTensor>> ParseTensors(const std::string& header,
                                                     const FileSource& file) {
  simdjson::dom::parser parser;
  object root;
  if (parser.allocate(header.size() + 1, kMaxDepth) != simdjson::SUCCESS) {
    return MemoryError("{}: no memory to parse a header of {} bytes", file.name(), header.size());
  }
  if (const auto error = parser.parse(header.data(), header.size()).get(root)) {
    if (error == simdjson::MEMALLOC) return MemoryError("{}: no memory to read it", file.name());
    return FileError("{}: header: {}", file.name(), simdjson::error_message(error));
  }
  std::vector<CheckpointTensor> tensors;
  int metadata = 0;
  for (const auto field : root) {
    if (field.key == "__metadata__") {
      if (!IsStrings(field.value) || metadata++ > 0) {
        return FileError("{}: __metadata__: want one object of strings", file.name());
      }
      continue;
    }
    if (tensors.size() == kMaxTensors) {
      return FileError("{}: more than {} tensors", file.name(), kMaxTensors);
    }
    CheckpointTensor tensor;
    tensor.name = std::string(field.key);
    tensor.file = &file;
    const Status status = ReadTensor(field.value, &tensor);
    if (!status.ok()) {
      return FileError("{}: tensor {}: {}", file.name(), tensor.name, Message(status));
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

// Sorts by offset, checks that the tensors follow each other to the end of the file, and makes the
// offsets those of the file.
Status Place(uint64_t data_start, const FileSource& file, std::vector<CheckpointTensor>* tensors) {
  std::sort(tensors->begin(), tensors->end(), [](const auto& a, const auto& b) {
    return a.offset != b.offset ? a.offset < b.offset : a.bytes < b.bytes;
  });
  uint64_t end = 0;
  for (CheckpointTensor& tensor : *tensors) {
    if (tensor.offset != end) {
      return FileError("{}: tensor {}: starts at {}, the one before ends at {} ({})", file.name(),
                       tensor.name, tensor.offset, end,
                       tensor.offset < end ? "they overlap" : "a hole");
    }
    end += tensor.bytes;
    tensor.offset += data_start;
  }
  if (end != file.size() - data_start) {
    return FileError("{}: the tensors end at {}, the file has {} ({})", file.name(),
                     data_start + end, file.size(),
                     data_start + end > file.size() ? "cut off" : "trailing bytes");
  }
  return OkStatus();
}

}  // namespace

Status AddSafetensors(std::unique_ptr<FileSource> source, Checkpoint* checkpoint) {
  const FileSource& file = *checkpoint->AddFile(std::move(source));
  KRAFLA_ASSIGN_OR_RETURN(const std::string header, ReadHeader(file));
  KRAFLA_ASSIGN_OR_RETURN(std::vector<CheckpointTensor> tensors, ParseTensors(header, file));
  KRAFLA_RETURN_IF_ERROR(Place(8 + header.size(), file, &tensors));
  for (CheckpointTensor& tensor : tensors) checkpoint->Add(std::move(tensor));
  return OkStatus();
}

}  // namespace krafla
