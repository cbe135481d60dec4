// How far a partial output had come, kept behind its data so that a killed process's successor can
// go on. A record is written only after the data it speaks of is on the disk; two places take
// turns, so that a torn record leaves the one before.
#ifndef KRAFLA_LIB_FILE_PARTIAL_JOURNAL_H_
#define KRAFLA_LIB_FILE_PARTIAL_JOURNAL_H_

#include <cstdint>
#include <span>
#include <vector>

#include "lib/base/status.h"
#include "lib/file/checksum.h"
#include "lib/file/output_file.h"

namespace krafla {

// Tensors before `current` are complete, and `current` has `written` bytes with this checksum.
struct PartialProgress {
  uint64_t current = 0;
  uint64_t written = 0;
  Checksum checksum;
};

class PartialJournal {
 public:
  // data_bytes: the size of the finished file; fingerprint: of what is being written.
  PartialJournal(const OutputFile* file, uint64_t data_bytes, uint64_t fingerprint,
                 size_t n_tensors);

  uint64_t end() const { return table_ + 8 * n_tensors_; }  // of the partial file
  // The last progress that was recorded for this fingerprint and the complete tensors' checksums;
  // false: none, or of something else.
  bool Read(PartialProgress* progress, std::vector<uint64_t>* checksums);
  // Syncs the file, then records. checksums: of the complete tensors.
  Status Write(const PartialProgress& progress, std::span<const uint64_t> checksums);

 private:
  const OutputFile* file_;
  uint64_t fingerprint_;
  uint64_t n_tensors_;
  uint64_t records_;  // offset of the two records
  uint64_t table_;    // offset of the checksums
  uint64_t sequence_ = 0;
  uint64_t in_table_ = 0;  // checksums that the table holds already
};

}  // namespace krafla

#endif  // KRAFLA_LIB_FILE_PARTIAL_JOURNAL_H_
