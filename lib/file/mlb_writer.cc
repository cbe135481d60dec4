// Sections come first after the header part, then the tensors from a multiple of 4096 on: a page of
// weights is a page of the file, whatever the header's size.
#include "lib/file/mlb_writer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "include/krafla/version.h"
#include "lib/file/checked.h"
#include "lib/file/mlb_layout.h"
#include "lib/file/mlb_metadata.h"

namespace krafla {
namespace {

constexpr uint64_t kDataAlignment = 4096;
constexpr uint64_t kTensorAlignment = 64;
constexpr uint64_t kExpertAlignment = 4096;

uint64_t AlignUp(uint64_t n, uint64_t alignment) { return (n + alignment - 1) & ~(alignment - 1); }

template <typename T>
void AppendRecord(const T& record, std::string* out) {
  out->append(reinterpret_cast<const char*>(&record), sizeof record);
}

}  // namespace

void MlbWriter::AddMetadata(MetaEntry entry) {
  mlb::AppendMetadata(entry, &metadata_);
  n_metadata_++;
}

Status MlbWriter::AddSection(std::string name, std::string bytes) {
  if (file_ != nullptr) return StateError("mlb: section {} after the first write", name);
  if (name.empty() || name.size() > mlb::kMaxNameBytes || bytes.size() > mlb::kMaxSectionBytes) {
    return ArgumentError("mlb: section {}: {} bytes, limit {}", name, bytes.size(),
                         mlb::kMaxSectionBytes);
  }
  Section section;
  section.name = std::move(name);
  section.bytes = std::move(bytes);
  names_bytes_ += section.name.size();
  sections_.push_back(std::move(section));
  return OkStatus();
}

Status MlbWriter::Declare(TensorDecl decl, uint64_t alignment, Tensor* tensor) const {
  if (file_ != nullptr) return StateError("mlb: tensor {} after the first write", decl.name);
  if (decl.name.empty() || decl.name.size() > mlb::kMaxNameBytes) {
    return ArgumentError("mlb: a tensor's name of {} bytes", decl.name.size());
  }
  if (tensors_.size() >= mlb::kMaxTensors) {
    return ArgumentError("mlb: more than {} tensors", mlb::kMaxTensors);
  }
  const auto slice = MlbTensorSliceBytes(decl.type, decl.layout, decl.dims);
  if (!slice.ok()) return ArgumentError("mlb: tensor {}: {}", decl.name, Message(slice.status()));
  tensor->record.type = decl.type;
  tensor->record.layout = decl.layout;
  tensor->record.dims = decl.dims;
  tensor->record.bytes = *slice;
  tensor->record.alignment = static_cast<uint32_t>(alignment);
  tensor->name = std::move(decl.name);
  return OkStatus();
}

Status MlbWriter::AddTensor(TensorDecl decl) {
  if (decl.layout == kLayoutTiles && decl.dims[2] != 0) {
    const TensorDecl alone[] = {std::move(decl)};
    return AddExperts(alone);
  }
  Tensor tensor;
  KRAFLA_RETURN_IF_ERROR(Declare(std::move(decl), kTensorAlignment, &tensor));
  const uint64_t offset = AlignUp(data_bytes_, kTensorAlignment);
  uint64_t end = 0;
  if (!CheckedAdd(offset, tensor.record.bytes, &end) || end >> 62 != 0) {
    return ArgumentError("mlb: tensor {}: the file would be too large", tensor.name);
  }
  tensor.record.offset = offset;
  names_bytes_ += tensor.name.size();
  tensors_.push_back(std::move(tensor));
  data_bytes_ = end;
  return OkStatus();
}

Status MlbWriter::AddExperts(std::span<const TensorDecl> decls) {
  std::vector<Tensor> group(decls.size());
  const uint64_t start = AlignUp(data_bytes_, kExpertAlignment);
  uint64_t stride = 0;
  for (size_t i = 0; i < decls.size(); i++) {
    KRAFLA_RETURN_IF_ERROR(Declare(decls[i], kExpertAlignment, &group[i]));
    if (decls[i].layout != kLayoutTiles || decls[i].dims[2] == 0 ||
        decls[i].dims[0] != decls[0].dims[0]) {
      return ArgumentError("mlb: tensor {}: not experts like {}", decls[i].name, decls[0].name);
    }
    group[i].record.offset = start + stride;
    if (!CheckedAdd(stride, group[i].record.bytes, &stride) ||
        !CheckedAlign(stride, kExpertAlignment, &stride)) {
      return ArgumentError("mlb: tensor {}: the file would be too large", decls[i].name);
    }
  }
  uint64_t end = 0;
  for (Tensor& tensor : group) {
    const uint64_t slice = tensor.record.bytes;
    const uint64_t experts = tensor.record.dims[0];
    tensor.record.slice_stride = stride;
    if (!CheckedMul(stride, experts, &end) || !CheckedAdd(end, start, &end) || end >> 62 != 0) {
      return ArgumentError("mlb: tensor {}: the file would be too large", tensor.name);
    }
    tensor.record.bytes = slice * experts;
    data_bytes_ = std::max(data_bytes_, tensor.record.offset + (experts - 1) * stride + slice);
    names_bytes_ += tensor.name.size();
  }
  std::move(group.begin(), group.end(), std::back_inserter(tensors_));
  return OkStatus();
}

uint64_t MlbWriter::HeaderBytes() const {
  return sizeof(mlb::Header) + AlignUp(metadata_.size(), 8) +
         sections_.size() * sizeof(mlb::SectionRecord) +
         tensors_.size() * sizeof(mlb::TensorRecord) + names_bytes_;
}

uint64_t MlbWriter::DataStart() const {
  uint64_t end = HeaderBytes();
  for (const Section& section : sections_) {
    end = AlignUp(end, mlb::kSectionAlignment) + section.bytes.size();
  }
  return tensors_.empty() ? end : AlignUp(end, kDataAlignment);
}

std::vector<MlbTensor> MlbWriter::declared() const {
  std::vector<MlbTensor> tensors;
  for (const Tensor& tensor : tensors_) {
    tensors.push_back(tensor.record);
    tensors.back().name = tensor.name;
  }
  return tensors;
}

uint64_t MlbWriter::file_bytes() const { return DataStart() + data_bytes_; }

Status MlbWriter::CheckDeclared(std::string_view path) const {
  if (file_ != nullptr) return StateError("mlb: {} is already begun", path);
  if (metadata_.size() > mlb::kMaxMetadataBytes || n_metadata_ > mlb::kMaxMetadata ||
      sections_.size() > mlb::kMaxSections || names_bytes_ > mlb::kMaxNamesBytes) {
    return ArgumentError("mlb: {} bytes of metadata in {} entries, {} sections, {} bytes of names",
                         metadata_.size(), n_metadata_, sections_.size(), names_bytes_);
  }
  return OkStatus();
}

uint64_t MlbWriter::declared_hash() const {
  const std::string header = HeaderPart();
  return ChecksumOf(header.data(), header.size());
}

std::string MlbWriter::HeaderPart() const {
  mlb::Header header = {};
  std::memcpy(header.magic, mlb::kMagic, sizeof header.magic);
  header.version = mlb::kVersion;
  header.arithmetic = KRAFLA_ARITHMETIC;
  header.file_bytes = file_bytes();
  header.header_bytes = HeaderBytes();
  header.n_metadata = n_metadata_;
  header.metadata_bytes = AlignUp(metadata_.size(), 8);
  header.n_sections = sections_.size();
  header.n_tensors = tensors_.size();
  header.names_bytes = names_bytes_;

  std::string out(sizeof header, '\0');
  out += metadata_;
  out.resize(sizeof header + header.metadata_bytes, '\0');
  std::string names;
  for (const Section& section : sections_) {
    const mlb::SectionRecord record = {static_cast<uint32_t>(names.size()),
                                       static_cast<uint32_t>(section.name.size()), section.offset,
                                       section.bytes.size(),
                                       ChecksumOf(section.bytes.data(), section.bytes.size())};
    AppendRecord(record, &out);
    names += section.name;
  }
  for (const Tensor& tensor : tensors_) {
    mlb::TensorRecord record = {};
    record.name_offset = static_cast<uint32_t>(names.size());
    record.name_bytes = static_cast<uint32_t>(tensor.name.size());
    record.type = tensor.record.type;
    record.layout = tensor.record.layout;
    std::copy(tensor.record.dims.begin(), tensor.record.dims.end(), record.dims);
    record.offset = tensor.record.offset;
    record.bytes = tensor.record.bytes;
    record.slice_stride = tensor.record.slice_stride;
    record.alignment = tensor.record.alignment;
    record.checksum = tensor.final_checksum;
    AppendRecord(record, &out);
    names += tensor.name;
  }
  out += names;
  std::memcpy(out.data(), &header, sizeof header);
  header.checksum = ChecksumOf(out.data(), out.size());
  std::memcpy(out.data(), &header, sizeof header);
  return out;
}

}  // namespace krafla
