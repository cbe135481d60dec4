// See reference_rows.h. The file: magic, key of model, cache type and text, vocabulary, rows (u64
// each); then for each row -log p of its target (f64) and the log-probabilities (f16). Who makes
// the file compares with the rounded rows too: the figures do not depend on who was first.
#include "lib/eval/reference_rows.h"

#include <array>
#include <cstring>
#include <utility>

#include "kernels/kernels.h"
#include "lib/base/math.h"
#include "lib/eval/perplexity.h"
#include "lib/file/checksum.h"

namespace krafla {
namespace {

constexpr uint64_t kMagic = 0x3153574F52464552;  // "REFROWS1"
using Header = std::array<uint64_t, 4>;

uint64_t KeyOf(const Model& model, const SessionOptions& options,
               std::span<const std::vector<int32_t>> chunks, int64_t from) {
  Checksum sum;
  const uint64_t parts[] = {model.file().content_hash(), static_cast<uint64_t>(options.kv),
                            static_cast<uint64_t>(from)};
  sum.Update(parts, sizeof parts);
  for (const std::vector<int32_t>& chunk : chunks) {
    sum.Update(chunk.data(), chunk.size() * sizeof(int32_t));
  }
  return sum.Value();
}

struct Collected {
  float* rows;
  size_t n_vocab;
};

int CollectRow(void* user, int64_t, const float* row, size_t n_vocab) {
  auto* collected = static_cast<Collected*>(user);
  std::memcpy(collected->rows, row, n_vocab * sizeof(float));
  collected->rows += n_vocab;
  return 0;
}

}  // namespace

StatusOr<std::unique_ptr<ReferenceRows>> ReferenceRows::Open(
    const std::shared_ptr<const Model>& model, const SessionOptions& options,
    std::span<const std::vector<int32_t>> chunks, int64_t from, const std::string& cache,
    EvalProgress* progress) {
  std::unique_ptr<ReferenceRows> rows(new ReferenceRows());
  rows->progress_ = progress;
  rows->n_vocab_ = static_cast<size_t>(model->config().n_vocab);
  if (!cache.empty()) {
    const uint64_t per_chunk = chunks[0].size() - 1 - static_cast<uint64_t>(from);
    KRAFLA_RETURN_IF_ERROR(
        rows->OpenCache(cache, KeyOf(*model, options, chunks, from), per_chunk * chunks.size()));
  }
  if (rows->source_ == nullptr) {
    KRAFLA_ASSIGN_OR_RETURN(rows->session_, Session::Create(model, options));
  }
  return rows;
}

Status ReferenceRows::OpenCache(const std::string& path, uint64_t key, uint64_t n_rows) {
  const Header want = {kMagic, key, n_vocab_, n_rows};
  const uint64_t size = sizeof(Header) + n_rows * row_bytes();
  if (StampOf(path).bytes == size) {
    KRAFLA_ASSIGN_OR_RETURN(source_, OpenForReading(path));
    Header have;
    KRAFLA_RETURN_IF_ERROR(source_->ReadAt(0, have.data(), sizeof have));
    if (have == want) return OkStatus();
    source_.reset();
  }
  const std::string_view begins(reinterpret_cast<const char*>(&kMagic), sizeof kMagic);
  KRAFLA_RETURN_IF_ERROR(CheckReplaces(path, begins));
  KRAFLA_RETURN_IF_ERROR(CheckReplaces(PartialName(path), begins));
  KRAFLA_ASSIGN_OR_RETURN(output_, OutputFile::OpenPartial(path));
  KRAFLA_RETURN_IF_ERROR(output_->SetSize(0));  // whatever a killed process left
  KRAFLA_ASSIGN_OR_RETURN(const uint64_t available, FreeDiskBytes(path));
  if (available < size) return IoError("{}: needs {} bytes, {} are free", path, size, available);
  return output_->WriteAt(0, want.data(), sizeof want);
}

Status ReferenceRows::BeginChunk(std::span<const int32_t> unscored) {
  if (session_ == nullptr) return OkStatus();
  AppendOptions read;
  read.logits = WantLogits::kNone;
  KRAFLA_RETURN_IF_ERROR(session_->Truncate(0, nullptr));
  return progress_->Append(session_.get(), unscored, read);
}

Status ReferenceRows::Read(std::span<const int32_t> ids, std::span<const int32_t> targets) {
  rows_.resize(ids.size() * n_vocab_);
  if (source_ != nullptr) return LoadRows(ids.size());
  Collected collected{rows_.data(), n_vocab_};
  AppendOptions score;
  score.logits = WantLogits::kAll;
  score.on_logits = CollectRow;
  score.user = &collected;
  KRAFLA_RETURN_IF_ERROR(progress_->Append(session_.get(), ids, score));
  return output_ == nullptr ? OkStatus() : SaveRows(targets);
}

Status ReferenceRows::LoadRows(size_t n) {
  raw_.resize(n * row_bytes());
  nll_.resize(n);
  KRAFLA_RETURN_IF_ERROR(
      source_->ReadAt(sizeof(Header) + next_row_ * row_bytes(), raw_.data(), raw_.size()));
  std::vector<uint16_t> half(n_vocab_);
  for (size_t i = 0; i < n; ++i) {
    const char* from = raw_.data() + i * row_bytes();
    std::memcpy(&nll_[i], from, sizeof(double));
    std::memcpy(half.data(), from + sizeof(double), n_vocab_ * sizeof(uint16_t));
    kernels::f16_to_f32(half.data(), n_vocab_, rows_.data() + i * n_vocab_);
  }
  next_row_ += n;
  return OkStatus();
}

Status ReferenceRows::SaveRows(std::span<const int32_t> targets) {
  raw_.resize(targets.size() * row_bytes());
  nll_.resize(targets.size());
  std::vector<uint16_t> half(n_vocab_);
  for (size_t i = 0; i < targets.size(); ++i) {
    float* logits = rows_.data() + i * n_vocab_;
    nll_[i] = NegativeLogLikelihood({logits, n_vocab_}, targets[i]);
    const double log_sum = nll_[i] + logits[targets[i]];
    for (size_t j = 0; j < n_vocab_; ++j) logits[j] = static_cast<float>(logits[j] - log_sum);
    kernels::f32_to_f16(logits, n_vocab_, half.data());
    kernels::f16_to_f32(half.data(), n_vocab_, logits);
    char* to = raw_.data() + i * row_bytes();
    std::memcpy(to, &nll_[i], sizeof(double));
    std::memcpy(to + sizeof(double), half.data(), n_vocab_ * sizeof(uint16_t));
  }
  KRAFLA_RETURN_IF_ERROR(
      output_->WriteAt(sizeof(Header) + next_row_ * row_bytes(), raw_.data(), raw_.size()));
  next_row_ += targets.size();
  return OkStatus();
}

std::optional<double> ReferenceRows::nll(size_t i) const {
  if (source_ == nullptr && output_ == nullptr) return std::nullopt;
  return nll_[i];
}

Status ReferenceRows::Finish() { return output_ == nullptr ? OkStatus() : output_->Commit(); }

}  // namespace krafla
