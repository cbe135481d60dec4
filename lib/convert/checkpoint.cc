// Decoding of the six types that become weights. Everything is little-endian and unaligned.
#include "lib/convert/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "lib/quant/half.h"

namespace krafla {
namespace {

template <typename T>
T Load(const unsigned char* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

// x[i] = d * (nibble - 8), or d * nibble + m: low nibbles hold elements 0..15, high ones 16..31.
void DecodeNibbles(const unsigned char* q, float d, float offset, float m, float* out) {
  for (size_t i = 0; i < 16; i++) {
    out[i] = d * (static_cast<float>(q[i] & 15) - offset) + m;
    out[16 + i] = d * (static_cast<float>(q[i] >> 4) - offset) + m;
  }
}

void DecodeBlocks(SourceType type, const unsigned char* p, uint64_t n_blocks, float* out) {
  for (uint64_t b = 0; b < n_blocks; b++, out += 32) {
    const float d = F16ToF32(Load<uint16_t>(p));
    if (type == SourceType::kQ8_0) {
      for (size_t i = 0; i < 32; i++)
        out[i] = d * static_cast<float>(static_cast<int8_t>(p[2 + i]));
      p += 34;
    } else if (type == SourceType::kQ4_0) {
      DecodeNibbles(p + 2, d, 8, 0, out);
      p += 18;
    } else {
      DecodeNibbles(p + 4, d, 0, F16ToF32(Load<uint16_t>(p + 2)), out);
      p += 20;
    }
  }
}

}  // namespace

SourceTypeSize SizeOf(SourceType type) {
  switch (type) {
    case SourceType::kF32:
      return {1, 4};
    case SourceType::kF16:
    case SourceType::kBF16:
      return {1, 2};
    case SourceType::kQ8_0:
      return {32, 34};
    case SourceType::kQ4_0:
      return {32, 18};
    case SourceType::kQ4_1:
      return {32, 20};
    case SourceType::kOther:
      break;
  }
  return {1, 1};
}

std::string ShapeText(std::span<const uint64_t> shape) {
  std::string text;
  for (const uint64_t dim : shape) text += FormatText("{}{}", text.empty() ? "" : "x", dim);
  return text.empty() ? "scalar" : text;
}

const FileSource* Checkpoint::AddFile(std::unique_ptr<FileSource> file) {
  files_.push_back(std::move(file));
  return files_.back().get();
}

Status Checkpoint::Finish() {
  std::sort(tensors_.begin(), tensors_.end(),
            [](const CheckpointTensor& a, const CheckpointTensor& b) { return a.name < b.name; });
  for (size_t i = 1; i < tensors_.size(); i++) {
    const CheckpointTensor& tensor = tensors_[i];
    if (tensor.name != tensors_[i - 1].name) continue;
    return FileError("tensor {} comes twice: in {} and {}", tensor.name,
                     tensors_[i - 1].file->name(), tensor.file->name());
  }
  return OkStatus();
}

const CheckpointTensor* Checkpoint::Find(std::string_view name) const {
  const auto at = std::lower_bound(
      tensors_.begin(), tensors_.end(), name,
      [](const CheckpointTensor& tensor, std::string_view wanted) { return tensor.name < wanted; });
  return at != tensors_.end() && at->name == name ? &*at : nullptr;
}

Status ReadRawRows(const CheckpointTensor& tensor, uint64_t row, uint64_t n, void* out) {
  const uint64_t row_bytes = tensor.row_bytes();
  return tensor.file->ReadAt(tensor.offset + row * row_bytes, out,
                             static_cast<size_t>(n * row_bytes));
}

void DecodeRows(const CheckpointTensor& tensor, const void* raw, uint64_t n, float* out) {
  const auto* p = static_cast<const unsigned char*>(raw);
  const uint64_t elements = n * tensor.cols();
  switch (tensor.type) {
    case SourceType::kF32:
      std::memcpy(out, p, elements * sizeof(float));
      return;
    case SourceType::kF16:
      for (uint64_t i = 0; i < elements; i++) out[i] = F16ToF32(Load<uint16_t>(p + 2 * i));
      return;
    case SourceType::kBF16:
      for (uint64_t i = 0; i < elements; i++) out[i] = Bf16ToF32(Load<uint16_t>(p + 2 * i));
      return;
    case SourceType::kQ8_0:
    case SourceType::kQ4_0:
    case SourceType::kQ4_1:
      DecodeBlocks(tensor.type, p, elements / 32, out);
      return;
    case SourceType::kOther:
      return;
  }
}

}  // namespace krafla
