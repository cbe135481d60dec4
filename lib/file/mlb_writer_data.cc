// The order at the end: all data on the disk and recorded, the header, the record cut off, the
// name. A process that is killed between the last two starts over; before that, it goes on.
#include <algorithm>
#include <utility>

#include "lib/file/mlb_layout.h"
#include "lib/file/mlb_writer.h"

namespace krafla {
namespace {

constexpr std::chrono::seconds kRecordInterval(10);  // quantising may take minutes for sync_bytes

}  // namespace

Status MlbWriter::Start(std::unique_ptr<OutputFile> file, uint64_t bytes) {
  KRAFLA_RETURN_IF_ERROR(file->SetSize(bytes));
  uint64_t end = HeaderBytes();
  for (Section& section : sections_) {
    section.offset =
        (end + mlb::kSectionAlignment - 1) / mlb::kSectionAlignment * mlb::kSectionAlignment;
    end = section.offset + section.bytes.size();
    KRAFLA_RETURN_IF_ERROR(
        file->WriteAt(section.offset, section.bytes.data(), section.bytes.size()));
  }
  const uint64_t start = DataStart();
  for (Tensor& tensor : tensors_) tensor.record.offset += start;
  file_ = std::move(file);
  return OkStatus();
}

Status MlbWriter::Begin(std::string_view path) {
  KRAFLA_RETURN_IF_ERROR(CheckDeclared(path));
  KRAFLA_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file, OutputFile::OpenPartial(path));
  KRAFLA_RETURN_IF_ERROR(file->SetSize(0));  // whatever it held
  return Start(std::move(file), file_bytes());
}

Status MlbWriter::BeginResumable(std::string_view path, uint64_t fingerprint, uint64_t sync_bytes) {
  KRAFLA_RETURN_IF_ERROR(CheckDeclared(path));
  fingerprint ^= declared_hash();
  KRAFLA_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file, OutputFile::OpenPartial(path));
  auto journal =
      std::make_unique<PartialJournal>(file.get(), file_bytes(), fingerprint, tensors_.size());
  complete_.reserve(tensors_.size());
  PartialProgress progress;
  std::vector<uint64_t> checksums;
  const bool found = journal->Read(&progress, &checksums) &&
                     (progress.current < tensors_.size()
                          ? progress.written <= tensors_[progress.current].record.bytes
                          : progress.written == 0);
  if (!found) {
    KRAFLA_RETURN_IF_ERROR(file->SetSize(0));  // whatever it held
    journal =
        std::make_unique<PartialJournal>(file.get(), file_bytes(), fingerprint, tensors_.size());
  }
  KRAFLA_RETURN_IF_ERROR(Start(std::move(file), journal->end()));
  journal_ = std::move(journal);
  sync_bytes_ = sync_bytes;
  recorded_at_ = std::chrono::steady_clock::now();
  if (found) TakeOver(progress, checksums);
  return OkStatus();
}

void MlbWriter::TakeOver(const PartialProgress& progress, const std::vector<uint64_t>& checksums) {
  for (size_t i = 0; i < checksums.size(); i++) {
    tensors_[i].written = tensors_[i].record.bytes;
    tensors_[i].final_checksum = checksums[i];
    complete_.push_back(checksums[i]);
  }
  if (progress.current == tensors_.size()) return;
  tensors_[progress.current].written = progress.written;
  tensors_[progress.current].checksum = progress.checksum;
}

void MlbWriter::KeepPartial() {
  if (file_ == nullptr || journal_ == nullptr) return;
  file_->Keep();
  // Without this record the next process goes on from the one before.
  if (Record().ok()) static_cast<void>(recording_.Wait());
}

Status MlbWriter::Write(size_t i, const void* data, size_t n) {
  if (file_ == nullptr || i >= tensors_.size()) return StateError("mlb: write to tensor {}", i);
  Tensor& tensor = tensors_[i];
  if (n > tensor.record.bytes - tensor.written) {
    return ArgumentError("mlb: tensor {}: {} bytes after {} of {}", tensor.name, n, tensor.written,
                         tensor.record.bytes);
  }
  const uint64_t slice = tensor.record.bytes / MlbTensorSlices(tensor.record);
  const auto* from = static_cast<const char*>(data);
  while (n > 0) {
    const uint64_t in_slice = tensor.written % slice;
    const auto piece = static_cast<size_t>(std::min<uint64_t>(n, slice - in_slice));
    const uint64_t at =
        tensor.record.offset + tensor.written / slice * tensor.record.slice_stride + in_slice;
    KRAFLA_RETURN_IF_ERROR(file_->WriteAt(at, from, piece));
    tensor.checksum.Update(from, piece);
    tensor.written += piece;
    unrecorded_ += piece;
    from += piece;
    n -= piece;
  }
  if (tensor.written == tensor.record.bytes) tensor.final_checksum = tensor.checksum.Value();
  if (journal_ == nullptr) return OkStatus();
  if (tensor.written == tensor.record.bytes) complete_.push_back(tensor.final_checksum);
  const bool due = unrecorded_ >= sync_bytes_ ||
                   std::chrono::steady_clock::now() - recorded_at_ >= kRecordInterval;
  return due ? Record() : OkStatus();
}

Status MlbWriter::ReadBack(size_t i, void* out, size_t n) const {
  const Tensor& tensor = tensors_[i];
  if (file_ == nullptr || n > tensor.written) {
    return StateError("mlb: tensor {}: {} bytes wanted back, of {}", tensor.name, n,
                      tensor.written);
  }
  const uint64_t slice = tensor.record.bytes / MlbTensorSlices(tensor.record);
  uint64_t at = tensor.record.offset;
  for (auto* to = static_cast<char*>(out); n > 0; at += tensor.record.slice_stride) {
    const auto piece = static_cast<size_t>(std::min<uint64_t>(n, slice));
    KRAFLA_RETURN_IF_ERROR(file_->ReadAt(at, to, piece));
    to += piece;
    n -= piece;
  }
  return OkStatus();
}

// Starts to record what is written by now. A record still under way is waited for, so what the disk
// has not taken yet stays below two `sync_bytes`.
Status MlbWriter::Record() {
  unrecorded_ = 0;
  recorded_at_ = std::chrono::steady_clock::now();
  PartialProgress progress;
  progress.current = complete_.size();
  if (progress.current < tensors_.size()) {
    progress.written = tensors_[progress.current].written;
    progress.checksum = tensors_[progress.current].checksum;
  }
  return recording_.Start([journal = journal_.get(), progress, complete = complete_] {
    return journal->Write(progress, complete);
  });
}

Status MlbWriter::Finish() {
  if (file_ == nullptr) return StateError("mlb: nothing was begun");
  for (const Tensor& tensor : tensors_) {
    if (tensor.written != tensor.record.bytes) {
      return StateError("mlb: tensor {}: {} of {} bytes written", tensor.name, tensor.written,
                        tensor.record.bytes);
    }
  }
  if (journal_ != nullptr) {
    KRAFLA_RETURN_IF_ERROR(Record());
    KRAFLA_RETURN_IF_ERROR(recording_.Wait());
  }
  const std::string header = HeaderPart();
  KRAFLA_RETURN_IF_ERROR(file_->WriteAt(0, header.data(), header.size()));
  if (journal_ != nullptr) {
    KRAFLA_RETURN_IF_ERROR(file_->SyncData());
    KRAFLA_RETURN_IF_ERROR(file_->SetSize(file_bytes()));
  }
  return file_->Commit();
}

}  // namespace krafla
