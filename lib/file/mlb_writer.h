// Writing a .mlb in one pass: metadata, sections and tensors are declared first (so that every
// offset is known), then the bytes come in pieces. The header is written last and the file appears
// under its name only then (OutputFile). Declarations and header are in mlb_writer.cc, the bytes
// and the resumption in mlb_writer_data.cc.
#ifndef KRAFLA_LIB_FILE_MLB_WRITER_H_
#define KRAFLA_LIB_FILE_MLB_WRITER_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/file/background_task.h"
#include "lib/file/checksum.h"
#include "lib/file/mlb.h"
#include "lib/file/output_file.h"
#include "lib/file/partial_journal.h"

namespace krafla {

class MlbWriter {
 public:
  struct TensorDecl {
    std::string name;
    uint32_t type = 0;
    uint32_t layout = kLayoutPlain;
    std::array<uint64_t, 4> dims = {};
  };

  // Declarations, before Begin.
  void AddMetadata(MetaEntry entry);
  Status AddSection(std::string name, std::string bytes);
  Status AddTensor(TensorDecl decl);  // 64-byte aligned, in the order of the calls
  // Tensors {experts, rows, cols} with equal dims[0]: slice e of each lies beside slice e of the
  // others, every slice 4096-byte aligned.
  Status AddExperts(std::span<const TensorDecl> decls);

  uint64_t file_bytes() const;  // what the file will have, once all is declared
  size_t n_tensors() const { return tensors_.size(); }
  // As they will be found in the file, offsets from the beginning of its data part.
  std::vector<MlbTensor> declared() const;

  // Of all declarations and sections: equal ones give equal numbers.
  uint64_t declared_hash() const;

  // Opens "<path>.partial", which becomes the output; nothing can be declared afterwards.
  Status Begin(std::string_view path);
  // The same, with a record of the progress: what an earlier process had written, with equal
  // declarations and an equal fingerprint of where the bytes come from, counts as written here.
  // Tensors must be written in the order of declaration. Progress is put on the disk every
  // `sync_bytes`, or every ten seconds, while writing goes on. Finish, a failure or a destruction
  // removes the partial, unless KeepPartial was called.
  Status BeginResumable(std::string_view path, uint64_t fingerprint, uint64_t sync_bytes);
  void KeepPartial();  // and records what is written
  uint64_t written(size_t i) const { return tensors_[i].written; }

  // The next bytes of tensor i (in the order of declaration), slices in ascending order.
  Status Write(size_t i, const void* data, size_t n);
  // The first n bytes of what tensor i has by now, slices one after another; of a resumable output.
  Status ReadBack(size_t i, void* out, size_t n) const;
  Status Finish();  // every tensor must be complete

 private:
  struct Tensor {
    std::string name;
    MlbTensor record = {};  // name unused, offset from the start of the data part until Begin
    uint64_t written = 0;
    Checksum checksum;
    uint64_t final_checksum = 0;  // once it is complete
  };
  struct Section {
    std::string name;
    std::string bytes;
    uint64_t offset = 0;
  };
  uint64_t HeaderBytes() const;
  uint64_t DataStart() const;
  Status Declare(TensorDecl decl, uint64_t alignment, Tensor* tensor) const;
  std::string HeaderPart() const;
  Status CheckDeclared(std::string_view path) const;
  Status Start(std::unique_ptr<OutputFile> file, uint64_t bytes);
  void TakeOver(const PartialProgress& progress, const std::vector<uint64_t>& checksums);
  Status Record();

  std::string metadata_;
  uint64_t n_metadata_ = 0;
  std::vector<Section> sections_;
  std::vector<Tensor> tensors_;
  uint64_t names_bytes_ = 0;
  uint64_t data_bytes_ = 0;  // end of the last tensor, from the start of the data part
  std::unique_ptr<OutputFile> file_;

  std::unique_ptr<PartialJournal> journal_;  // of a resumable output
  uint64_t sync_bytes_ = 0;
  uint64_t unrecorded_ = 0;  // bytes since the last record was begun
  std::chrono::steady_clock::time_point recorded_at_;
  std::vector<uint64_t> complete_;
  BackgroundTask recording_;  // last: it ends before what it uses does
};

}  // namespace krafla

#endif  // KRAFLA_LIB_FILE_MLB_WRITER_H_
