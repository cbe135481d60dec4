// See sensitivity.h.
#include "lib/calibrate/sensitivity.h"

#include <algorithm>
#include <utility>

#include "lib/eval/divergence.h"

namespace krafla {
StatusOr<std::unique_ptr<Sensitivity>> Sensitivity::Create(const std::string& work_path,
                                                           uint64_t seed, int32_t threads,
                                                           StopCheck stop) {
  std::unique_ptr<Sensitivity> result(new Sensitivity());
  result->stop_ = stop;
  KRAFLA_ASSIGN_OR_RETURN(result->work_, WorkModel::Open(work_path, threads));
  const std::shared_ptr<const Model>& model = result->work_->model();
  const size_t length = std::min(kLength, static_cast<size_t>(model->config().max_positions));
  KRAFLA_ASSIGN_OR_RETURN(result->text_, WriteText(model, kSequences, length, seed, stop));
  SessionOptions options;
  options.context = static_cast<int64_t>(length);
  options.kv = KvType::kF32;
  KRAFLA_ASSIGN_OR_RETURN(result->session_, Session::Create(model, options));
  result->reference_.reserve(kSequences * length * static_cast<size_t>(model->config().n_vocab));
  AppendOptions keep;
  keep.on_logits = Keep;
  keep.user = result.get();
  KRAFLA_RETURN_IF_ERROR(result->Read(keep));
  return result;
}

Status Sensitivity::Read(AppendOptions options) {
  options.logits = WantLogits::kAll;
  for (const std::vector<int32_t>& sequence : text_) {
    KRAFLA_RETURN_IF_ERROR(session_->Truncate(0, nullptr));
    KRAFLA_RETURN_IF_ERROR(session_->Append(sequence, options));
    KRAFLA_RETURN_IF_ERROR(stop_());
  }
  return OkStatus();
}

int Sensitivity::Keep(void* user, int64_t, const float* row, size_t n_vocab) {
  auto* self = static_cast<Sensitivity*>(user);
  self->reference_.insert(self->reference_.end(), row, row + n_vocab);
  return 0;
}

int Sensitivity::Compare(void* user, int64_t, const float* row, size_t n_vocab) {
  auto* comparison = static_cast<Comparison*>(user);
  const std::span<const float> reference(comparison->reference, n_vocab);
  comparison->sum += krafla::Compare(reference, {row, n_vocab}, 0, 1, &comparison->scratch).kl;
  comparison->reference += n_vocab;
  ++comparison->count;
  return 0;
}

StatusOr<double> Sensitivity::Score(std::string_view name, Format format) {
  const std::optional<WorkMatrix> matrix = work_->Find(name);
  if (!matrix) return NotFoundError("sensitivity: no matrix {}", name);
  const std::vector<float> original(matrix->tiles, matrix->tiles + matrix->size());
  std::vector<std::byte> tiles(MatrixBytes(format, matrix->rows, matrix->cols));
  KRAFLA_RETURN_IF_ERROR(Pack(format, *matrix, tiles.data()));
  Unpack(format, tiles.data(), *matrix);
  Comparison comparison{reference_.data(), 0, 0, {}};
  AppendOptions compare;
  compare.on_logits = Compare;
  compare.user = &comparison;
  const Status status = Read(compare);
  std::copy(original.begin(), original.end(), matrix->tiles);
  KRAFLA_RETURN_IF_ERROR(status);
  return comparison.sum / static_cast<double>(comparison.count);
}

}  // namespace krafla
