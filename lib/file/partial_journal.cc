// The records lie on pages of their own; each carries a checksum of itself and of the table's part
// that it relies on.
#include "lib/file/partial_journal.h"

#include <cstring>
#include <type_traits>

namespace krafla {
namespace {

constexpr uint64_t kPage = 4096;
constexpr char kMagic[8] = {'K', 'R', 'A', 'F', 'P', 'A', 'R', '1'};

struct Record {
  char magic[8];
  uint64_t fingerprint;
  uint64_t sequence;  // the larger one is newer; its place is sequence % 2
  uint64_t current;
  uint64_t written;
  unsigned char checksum_state[72];
  uint64_t table_checksum;  // of the first `current` checksums
  uint64_t own_checksum;    // of all before
};
static_assert(sizeof(Record) == 128);
static_assert(std::is_trivially_copyable_v<Checksum> && sizeof(Checksum) == 72);

uint64_t OwnChecksum(const Record& record) {
  return ChecksumOf(&record, offsetof(Record, own_checksum));
}

}  // namespace

PartialJournal::PartialJournal(const OutputFile* file, uint64_t data_bytes, uint64_t fingerprint,
                               size_t n_tensors)
    : file_(file),
      fingerprint_(fingerprint),
      n_tensors_(n_tensors),
      records_((data_bytes + kPage - 1) / kPage * kPage),
      table_(records_ + 2 * kPage) {}

bool PartialJournal::Read(PartialProgress* progress, std::vector<uint64_t>* checksums) {
  const StatusOr<uint64_t> size = file_->Size();
  if (!size.ok() || *size != end()) return false;
  std::vector<uint64_t> table(n_tensors_);
  if (!file_->ReadAt(table_, table.data(), 8 * n_tensors_).ok()) return false;
  bool found = false;
  for (uint64_t place = 0; place < 2; place++) {
    Record record;
    if (!file_->ReadAt(records_ + place * kPage, &record, sizeof record).ok()) return false;
    if (std::memcmp(record.magic, kMagic, sizeof kMagic) != 0 ||
        record.fingerprint != fingerprint_ || record.own_checksum != OwnChecksum(record) ||
        record.current > n_tensors_ || (found && record.sequence < sequence_) ||
        record.table_checksum != ChecksumOf(table.data(), 8 * record.current)) {
      continue;
    }
    found = true;
    sequence_ = record.sequence;
    progress->current = record.current;
    progress->written = record.written;
    std::memcpy(static_cast<void*>(&progress->checksum), record.checksum_state,
                sizeof record.checksum_state);
  }
  if (!found) return false;
  in_table_ = progress->current;
  table.resize(in_table_);
  *checksums = std::move(table);
  return true;
}

Status PartialJournal::Write(const PartialProgress& progress, std::span<const uint64_t> checksums) {
  KRAFLA_RETURN_IF_ERROR(file_->WriteAt(table_ + 8 * in_table_, checksums.data() + in_table_,
                                        8 * (checksums.size() - in_table_)));
  KRAFLA_RETURN_IF_ERROR(file_->SyncData());
  in_table_ = checksums.size();
  Record record = {};
  std::memcpy(record.magic, kMagic, sizeof kMagic);
  record.fingerprint = fingerprint_;
  record.sequence = ++sequence_;
  record.current = progress.current;
  record.written = progress.written;
  std::memcpy(record.checksum_state, &progress.checksum, sizeof record.checksum_state);
  record.table_checksum = ChecksumOf(checksums.data(), checksums.size_bytes());
  record.own_checksum = OwnChecksum(record);
  return file_->WriteAt(records_ + sequence_ % 2 * kPage, &record, sizeof record);
}

}  // namespace krafla
