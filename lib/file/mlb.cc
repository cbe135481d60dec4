// Opening a .mlb: the header part is read once into our own memory (a mapped file could change
// under our feet), checked whole, and never looked at again.
#include "lib/file/mlb.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <numeric>
#include <utility>

#include "lib/file/checksum.h"
#include "lib/file/mlb_check.h"
#include "lib/file/mlb_layout.h"
#include "lib/file/mlb_metadata.h"

namespace krafla {
namespace {

using mlb::Header;
using mlb::SectionRecord;
using mlb::TensorRecord;

StatusOr<Header> ReadHeader(const FileSource& source) {
  Header header;
  if (source.size() < sizeof header) {
    return FileError("{}: not a .mlb file ({} bytes)", source.name(), source.size());
  }
  KRAFLA_RETURN_IF_ERROR(source.ReadAt(0, &header, sizeof header));
  KRAFLA_RETURN_IF_ERROR(mlb::CheckHeader(header, source.size(), source.name()));
  return header;
}

// Reads what follows the header and compares the checksum of both.
StatusOr<std::vector<char>> ReadTables(const FileSource& source, const Header& header) {
  std::vector<char> tables(header.header_bytes - sizeof header);
  KRAFLA_RETURN_IF_ERROR(source.ReadAt(sizeof header, tables.data(), tables.size()));
  Header without = header;
  without.checksum = 0;
  Checksum checksum;
  checksum.Update(&without, sizeof without);
  checksum.Update(tables.data(), tables.size());
  if (checksum.Value() != header.checksum) {
    return FileError("{}: header checksum {:016x}, want {:016x}", source.name(), checksum.Value(),
                     header.checksum);
  }
  return tables;
}

StatusOr<std::string_view> NameOf(std::span<const char> names, uint64_t offset, uint64_t bytes,
                                  std::string_view file) {
  if (bytes == 0 || bytes > mlb::kMaxNameBytes || offset > names.size() ||
      bytes > names.size() - offset) {
    return FileError("{}: a name of {} bytes at {} of {}", file, bytes, offset, names.size());
  }
  return std::string_view(names.data() + offset, bytes);
}

template <typename T>
T RecordAt(const char* table, uint64_t i) {
  T record;
  std::memcpy(&record, table + i * sizeof record, sizeof record);
  return record;
}

StatusOr<std::vector<MlbSection>> ParseSections(const char* table, const Header& header,
                                                std::span<const char> names,
                                                std::string_view file) {
  std::vector<MlbSection> sections;
  sections.reserve(header.n_sections);
  for (uint64_t i = 0; i < header.n_sections; i++) {
    const auto record = RecordAt<SectionRecord>(table, i);
    MlbSection section;
    KRAFLA_ASSIGN_OR_RETURN(section.name,
                            NameOf(names, record.name_offset, record.name_bytes, file));
    section.offset = record.offset;
    section.bytes = record.bytes;
    section.checksum = record.checksum;
    KRAFLA_RETURN_IF_ERROR(mlb::CheckSection(section, header, file));
    for (const MlbSection& other : sections) {
      if (other.name == section.name)
        return FileError("{}: section {} comes twice", file, other.name);
    }
    sections.push_back(section);
  }
  return sections;
}

StatusOr<std::vector<MlbTensor>> ParseTensors(const char* table, const Header& header,
                                              std::span<const char> names, std::string_view file) {
  std::vector<MlbTensor> tensors;
  tensors.reserve(header.n_tensors);
  for (uint64_t i = 0; i < header.n_tensors; i++) {
    const auto record = RecordAt<TensorRecord>(table, i);
    MlbTensor tensor;
    KRAFLA_ASSIGN_OR_RETURN(tensor.name,
                            NameOf(names, record.name_offset, record.name_bytes, file));
    tensor.type = record.type;
    tensor.layout = record.layout;
    std::copy(std::begin(record.dims), std::end(record.dims), tensor.dims.begin());
    tensor.offset = record.offset;
    tensor.bytes = record.bytes;
    tensor.slice_stride = record.slice_stride;
    tensor.alignment = record.alignment;
    tensor.checksum = record.checksum;
    KRAFLA_RETURN_IF_ERROR(mlb::CheckTensor(tensor, header, file));
    tensors.push_back(tensor);
  }
  return tensors;
}

StatusOr<std::vector<uint32_t>> IndexByName(std::span<const MlbTensor> tensors,
                                            std::string_view file) {
  std::vector<uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return tensors[a].name < tensors[b].name; });
  for (size_t i = 1; i < order.size(); i++) {
    if (tensors[order[i]].name == tensors[order[i - 1]].name) {
      return FileError("{}: tensor {} comes twice", file, tensors[order[i]].name);
    }
  }
  return order;
}

}  // namespace

StatusOr<std::unique_ptr<MlbFile>> MlbFile::Open(std::unique_ptr<FileSource> source) {
  std::unique_ptr<MlbFile> file(new MlbFile());
  const std::string& name = source->name();
  KRAFLA_ASSIGN_OR_RETURN(const Header header, ReadHeader(*source));
  KRAFLA_ASSIGN_OR_RETURN(const std::vector<char> tables, ReadTables(*source, header));
  const char* sections = tables.data() + header.metadata_bytes;
  const char* tensors = sections + header.n_sections * sizeof(SectionRecord);
  file->names_.assign(tables.end() - static_cast<ptrdiff_t>(header.names_bytes), tables.end());
  KRAFLA_ASSIGN_OR_RETURN(
      file->metadata_,
      mlb::ParseMetadata({tables.data(), size_t(header.metadata_bytes)}, header.n_metadata, name));
  KRAFLA_ASSIGN_OR_RETURN(file->sections_, ParseSections(sections, header, file->names_, name));
  KRAFLA_ASSIGN_OR_RETURN(file->tensors_, ParseTensors(tensors, header, file->names_, name));
  KRAFLA_ASSIGN_OR_RETURN(file->by_name_, IndexByName(file->tensors_, name));
  KRAFLA_RETURN_IF_ERROR(mlb::CheckPlacement(file->sections_, file->tensors_, name));
  file->section_bytes_.resize(file->sections_.size());
  file->content_hash_ = header.checksum;
  file->arithmetic_ = header.arithmetic;
  file->source_ = std::move(source);
  return file;
}

const MetaValue* MlbFile::Meta(std::string_view key) const {
  for (const MetaEntry& entry : metadata_) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

const MlbTensor* MlbFile::Tensor(std::string_view name) const {
  const auto at = std::lower_bound(
      by_name_.begin(), by_name_.end(), name,
      [&](uint32_t i, std::string_view wanted) { return tensors_[i].name < wanted; });
  return at != by_name_.end() && tensors_[*at].name == name ? &tensors_[*at] : nullptr;
}

StatusOr<std::string_view> MlbFile::Section(std::string_view name) {
  for (size_t i = 0; i < sections_.size(); i++) {
    const MlbSection& section = sections_[i];
    if (section.name != name || section.bytes == 0) continue;
    const auto size = static_cast<size_t>(section.bytes);
    if (section_bytes_[i] != nullptr) return std::string_view(section_bytes_[i].get(), size);
    if (source_->data() != nullptr) {
      const std::byte* data = source_->data() + section.offset;
      if (reinterpret_cast<uintptr_t>(data) % 64 == 0) {
        return std::string_view(reinterpret_cast<const char*>(data), size);
      }
    }
    AlignedBytes bytes(static_cast<char*>(::operator new[](size, std::align_val_t{64})));
    KRAFLA_RETURN_IF_ERROR(source_->ReadAt(section.offset, bytes.get(), size));
    section_bytes_[i] = std::move(bytes);
    return std::string_view(section_bytes_[i].get(), size);
  }
  return std::string_view();
}

Status MlbFile::VerifyChecksums(int (*progress)(void* user, uint64_t done, uint64_t total),
                                void* user) {
  uint64_t total = 0;
  uint64_t done = 0;
  for (const MlbSection& section : sections_) total += section.bytes;
  for (const MlbTensor& tensor : tensors_) total += tensor.bytes;
  std::vector<char> piece(size_t{1} << 20);

  const auto add = [&](uint64_t offset, uint64_t bytes, Checksum* checksum) -> Status {
    while (bytes > 0) {
      if (progress != nullptr && progress(user, done, total) != 0) {
        return CallbackError("{}: check stopped by the progress function", source_->name());
      }
      const auto n = static_cast<size_t>(std::min<uint64_t>(bytes, piece.size()));
      KRAFLA_RETURN_IF_ERROR(source_->ReadAt(offset, piece.data(), n));
      checksum->Update(piece.data(), n);
      offset += n;
      bytes -= n;
      done += n;
    }
    return OkStatus();
  };
  const auto compare = [&](std::string_view what, std::string_view name, uint64_t got,
                           uint64_t want) {
    if (got == want) return OkStatus();
    return FileError("{}: {} {}: checksum {:016x}, want {:016x}", source_->name(), what, name, got,
                     want);
  };
  for (const MlbSection& section : sections_) {
    Checksum checksum;
    KRAFLA_RETURN_IF_ERROR(add(section.offset, section.bytes, &checksum));
    KRAFLA_RETURN_IF_ERROR(compare("section", section.name, checksum.Value(), section.checksum));
  }
  for (const MlbTensor& tensor : tensors_) {
    Checksum checksum;
    const uint64_t slices = MlbTensorSlices(tensor);
    for (uint64_t i = 0; i < slices; i++) {
      KRAFLA_RETURN_IF_ERROR(
          add(tensor.offset + i * tensor.slice_stride, tensor.bytes / slices, &checksum));
    }
    KRAFLA_RETURN_IF_ERROR(compare("tensor", tensor.name, checksum.Value(), tensor.checksum));
  }
  if (progress != nullptr) progress(user, total, total);
  return OkStatus();
}

}  // namespace krafla
