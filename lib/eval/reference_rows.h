// The reference's logits of a chunk, piece by piece: from its session, or from a file that an
// earlier run has left (a reference in f32 is slow, and everything is compared with it).
#ifndef KRAFLA_LIB_EVAL_REFERENCE_ROWS_H_
#define KRAFLA_LIB_EVAL_REFERENCE_ROWS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/eval/eval_progress.h"
#include "lib/file/output_file.h"
#include "lib/file/source.h"
#include "lib/model/model.h"
#include "lib/session/session.h"

namespace krafla {

class ReferenceRows {
 public:
  // rows_per_chunk: scored positions, the last of a chunk's but one included. `cache`: see drift.h.
  // progress outlives it.
  static StatusOr<std::unique_ptr<ReferenceRows>> Open(const std::shared_ptr<const Model>& model,
                                                       const SessionOptions& options,
                                                       std::span<const std::vector<int32_t>> chunks,
                                                       int64_t from, const std::string& cache,
                                                       EvalProgress* progress);

  // Chunks come in order, each from its position 0 on.
  Status BeginChunk(std::span<const int32_t> unscored);
  // The rows of positions that follow; targets[i] is the token after the i-th of them.
  Status Read(std::span<const int32_t> ids, std::span<const int32_t> targets);
  std::span<const float> row(size_t i) const { return {rows_.data() + i * n_vocab_, n_vocab_}; }
  // -log p of the i-th target where the rows are rounded ones of a file.
  std::optional<double> nll(size_t i) const;
  Status Finish();  // the file appears

 private:
  ReferenceRows() = default;
  uint64_t row_bytes() const { return sizeof(double) + n_vocab_ * sizeof(uint16_t); }
  Status OpenCache(const std::string& path, uint64_t key, uint64_t n_rows);
  Status LoadRows(size_t n);
  Status SaveRows(std::span<const int32_t> targets);

  size_t n_vocab_ = 0;
  EvalProgress* progress_ = nullptr;
  std::unique_ptr<Session> session_;    // null: all rows come from the file
  std::unique_ptr<FileSource> source_;  // of a complete file
  std::unique_ptr<OutputFile> output_;  // of one that is being made
  uint64_t next_row_ = 0;               // of the file
  std::vector<float> rows_;
  std::vector<double> nll_;
  std::vector<char> raw_;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_EVAL_REFERENCE_ROWS_H_
