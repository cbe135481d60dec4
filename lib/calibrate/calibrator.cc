// See calibrator.h. All rows of the text are one batch, so a step's whole input is there before the
// step runs: its matrices are quantised then and there and replaced in the work file, and the step
// runs with what they have become. A tied head is quantised first, by a pass of the model as it
// was, since its matrix is also the embedding that everything else starts from.
#include "lib/calibrate/calibrator.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/kernels.h"
#include "lib/calibrate/feedback.h"
#include "lib/eval/text_chunks.h"
#include "lib/tokenizer/tokenizer.h"

namespace krafla {
namespace {

constexpr double kDamp = 0.01;  // of the mean of H's diagonal
// What other texts need not share: how the columns of this one go together.
constexpr double kShrink = 0.3;
constexpr size_t kHiddenRows = 256;
constexpr size_t kRowsPerColumn = 2;  // of the text, or there is no error feedback

}  // namespace

StatusOr<std::unique_ptr<Calibrator>> Calibrator::Create(const std::string& work_path,
                                                         const CalibrationText& text,
                                                         std::vector<CalibrationTarget> targets,
                                                         int32_t threads, StopCheck stop) {
  std::unique_ptr<Calibrator> calibrator(new Calibrator(stop));
  KRAFLA_ASSIGN_OR_RETURN(calibrator->work_, WorkModel::Open(work_path, threads));
  KRAFLA_RETURN_IF_ERROR(calibrator->MakeText(text));
  calibrator->FindTargets(std::move(targets));
  return calibrator;
}

Status Calibrator::MakeText(const CalibrationText& text) {
  const size_t length =
      std::min(text.length, static_cast<size_t>(work_->model()->config().max_positions));
  if (text.text.empty()) {
    KRAFLA_ASSIGN_OR_RETURN(text_,
                            WriteText(work_->model(), text.sequences, length, text.seed, stop_));
  } else {
    if (work_->model()->tokenizer_table().empty()) {
      return ArgumentError("calibration: the model has no tokenizer to read a text with");
    }
    KRAFLA_ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer,
                            Tokenizer::Open(work_->model()->tokenizer_table()));
    KRAFLA_ASSIGN_OR_RETURN(text_, TextChunks(*tokenizer, text.text, static_cast<int64_t>(length)));
    if (text_.size() * length < kMinTextTokens) {
      return ArgumentError("calibration: the text has {} whole chunks of {} tokens, want {} tokens",
                           text_.size(), length, kMinTextTokens);
    }
    // Spread over the whole text.
    const size_t n = std::min(text_.size(), text.sequences);
    for (size_t i = 0; i < n; ++i) std::swap(text_[i], text_[i * text_.size() / n]);
    text_.resize(n);
  }
  for (const std::vector<int32_t>& sequence : text_) n_rows_ += sequence.size();
  KRAFLA_ASSIGN_OR_RETURN(states_, MakeStates());
  KRAFLA_ASSIGN_OR_RETURN(driver_, MakeDriver(length));
  KRAFLA_ASSIGN_OR_RETURN(std::vector<State> states, MakeStates());
  KRAFLA_ASSIGN_OR_RETURN(std::unique_ptr<Driver> driver, MakeDriver(length));
  KRAFLA_ASSIGN_OR_RETURN(
      original_, OriginalStream::Begin(text_, std::move(states), std::move(driver), stop_));
  return OkStatus();
}

StatusOr<std::vector<State>> Calibrator::MakeStates() const {
  const NetworkShape& shape = work_->model()->network().shape();
  std::vector<State> states;
  for (const std::vector<int32_t>& sequence : text_) {
    const auto n = static_cast<int64_t>(sequence.size());
    KRAFLA_ASSIGN_OR_RETURN(State state,
                            State::Create(work_->runtime().memory(), shape.kv(KvType::kF32),
                                          shape.recurrent_bytes, n, n, n));
    states.push_back(std::move(state));
  }
  return states;
}

StatusOr<std::unique_ptr<Driver>> Calibrator::MakeDriver(size_t length) const {
  return Driver::Create(work_->model()->network(), work_->runtime(), n_rows_,
                        static_cast<int64_t>(length));
}

void Calibrator::FindTargets(std::vector<CalibrationTarget> targets) {
  for (CalibrationTarget& wanted : targets) {
    const std::optional<WorkMatrix> matrix = work_->Find(wanted.name);
    if (!matrix) continue;
    Target& target = targets_.emplace_back();
    target.wanted = std::move(wanted);
    target.matrix = *matrix;
  }
}

Calibrator::Target* Calibrator::FindByWeights(const void* weights) {
  for (Target& target : targets_) {
    if (target.matrix.tiles == weights) return &target;
  }
  return nullptr;
}

Calibrator::Target* Calibrator::FindByName(std::string_view name) {
  for (Target& target : targets_) {
    if (target.wanted.name == name) return &target;
  }
  return nullptr;
}

Status Calibrator::BeginPass(bool hidden) {
  KRAFLA_RETURN_IF_ERROR(BeginText(text_, hidden, &states_, driver_.get()));
  running_ = true;
  return OkStatus();
}

// One work item further; the begun pass may end with it.
Status Calibrator::RunSome() {
  Driver::Pause pause;
  pause.each_item = true;
  KRAFLA_ASSIGN_OR_RETURN(const bool finished, driver_->Run(*this, pause));
  running_ = !finished;
  return OkStatus();
}

// What the packers refuse (lib/quant): values that no scale in f16 reaches.
Status Calibrator::CheckRange(const Target& target) const {
  const float most = target.wanted.format == Format::kQ4 ? 8 * 65504.0f : 65504.0f;
  const float* tiles = target.matrix.tiles;
  for (size_t i = 0; i < target.matrix.size(); ++i) {
    if (tiles[i] <= most && tiles[i] >= -most) continue;
    return FileError("{}: {} is too large for {}", target.wanted.name, tiles[i],
                     FormatName(target.wanted.format));
  }
  return OkStatus();
}

Status Calibrator::Quantize(std::span<Target* const> targets, Gram* gram,
                            const std::vector<float>* cross) {
  KRAFLA_RETURN_IF_ERROR(gram->Factor(kDamp, kShrink, work_->runtime().threads()));
  // Of what a fit of n columns to the text's rows explains, n / rows are chance.
  const double columns = static_cast<double>(gram->n());
  const auto trust = static_cast<float>(std::max(0.0, 1 - columns / static_cast<double>(n_rows_)));
  for (Target* target : targets) {
    if (target->given) {
      TakeGiven(target);
      continue;
    }
    KRAFLA_RETURN_IF_ERROR(CheckRange(*target));
    if (cross != nullptr) {
      MoveToInputs(*gram, *cross, target->matrix.rows, target->matrix.tiles, trust,
                   work_->runtime().threads());
    }
    target->tiles.resize(
        MatrixBytes(target->wanted.format, target->matrix.rows, target->matrix.cols));
    KRAFLA_RETURN_IF_ERROR(stop_());
    KRAFLA_RETURN_IF_ERROR(QuantizeWithFeedback(target->wanted.format, *gram, target->matrix.rows,
                                                target->matrix.tiles, target->tiles.data(),
                                                work_->runtime().threads()));
    target->done = true;
  }
  return OkStatus();
}

Status Calibrator::BeforeStep(const Step& step, const Pass& pass) {
  if (!quantizing_) return OkStatus();
  const size_t index = n_steps_++;
  const StepInput input = step.Input();
  std::vector<Target*> wanted;
  bool all_given = true;
  for (const Matrix* matrix : input.matrices) {
    Target* target = FindByWeights(matrix->tiles);
    if (target == nullptr || target->done || !HasFeedback(target->wanted.format)) continue;
    wanted.push_back(target);
    all_given &= target->given;
  }
  if (wanted.empty()) return OkStatus();
  const size_t n = wanted[0]->matrix.cols;
  KRAFLA_ASSIGN_OR_RETURN(const float* original, original_->RunStep(index, n));
  if (all_given) {
    for (Target* target : wanted) TakeGiven(target);
    return OkStatus();
  }
  if (pass.rows.size() < kRowsPerColumn * n) return QuantizeWithout(wanted);
  ThreadPool& pool = work_->runtime().threads();
  const float* x = input.from_wide ? pass.wide : pass.act;
  const size_t ldx = input.from_wide ? pass.ld_wide : pass.ld_act;
  Gram gram(n);
  gram.Add(x, ldx, pass.rows.size(), pool);
  std::vector<float> lacking(pass.rows.size() * n);
  for (size_t i = 0; i < pass.rows.size(); ++i) {
    for (size_t k = 0; k < n; ++k) lacking[i * n + k] = original[i * n + k] - x[i * ldx + k];
  }
  std::vector<float> cross;
  gram.AddCross(x, ldx, lacking.data(), n, pass.rows.size(), &cross, pool);
  return Quantize(wanted, &gram, &cross);
}

// By the rule that needs no data: the text is too short to tell how this input's columns go
// together.
Status Calibrator::QuantizeWithout(std::span<Target* const> targets) {
  for (Target* target : targets) {
    if (!target->given) {
      target->tiles.resize(
          MatrixBytes(target->wanted.format, target->matrix.rows, target->matrix.cols));
      KRAFLA_RETURN_IF_ERROR(stop_());
      KRAFLA_RETURN_IF_ERROR(Pack(target->wanted.format, target->matrix, target->tiles.data()));
    }
    TakeGiven(target);
  }
  return OkStatus();
}

void Calibrator::TakeGiven(Target* target) {
  Unpack(target->wanted.format, target->tiles.data(), target->matrix);
  target->done = true;
}

Status Calibrator::OnHidden(size_t, int64_t, const float* row) {
  const size_t n = hidden_->n();
  hidden_rows_.insert(hidden_rows_.end(), row, row + n);
  if (hidden_rows_.size() == kHiddenRows * n) {
    hidden_->Add(hidden_rows_.data(), n, kHiddenRows, work_->runtime().threads());
    hidden_rows_.clear();
  }
  return OkStatus();
}

// The head's input are the rows behind the final norm, of a whole pass.
Status Calibrator::QuantizeFromHidden(Target* head) {
  const size_t n = head->matrix.cols;
  hidden_->Add(hidden_rows_.data(), n, hidden_rows_.size() / n, work_->runtime().threads());
  hidden_rows_.clear();
  KRAFLA_RETURN_IF_ERROR(Quantize(std::span<Target* const>(&head, 1), hidden_.get(), nullptr));
  hidden_.reset();
  return OkStatus();
}

Status Calibrator::QuantizeTiedHead(Target* head) {
  hidden_ = std::make_unique<Gram>(head->matrix.cols);
  KRAFLA_RETURN_IF_ERROR(BeginPass(/*hidden=*/true));
  while (running_) KRAFLA_RETURN_IF_ERROR(RunSome());
  return QuantizeFromHidden(head);
}

Status Calibrator::QuantizeUpTo(Target* target, bool is_head) {
  if (!quantizing_) {
    quantizing_ = true;
    Target* head = work_->model()->config().tied_head ? nullptr : FindByName("head");
    const bool hidden = head != nullptr && HasFeedback(head->wanted.format);
    if (hidden) hidden_ = std::make_unique<Gram>(head->matrix.cols);
    KRAFLA_RETURN_IF_ERROR(BeginPass(hidden));
  }
  while (running_ && !target->done) KRAFLA_RETURN_IF_ERROR(RunSome());
  return is_head && !target->done ? QuantizeFromHidden(target) : OkStatus();
}

StatusOr<std::span<const std::byte>> Calibrator::Tiles(std::string_view name) {
  Target* target = FindByName(name);
  if (target == nullptr || !HasFeedback(target->wanted.format)) {
    return std::span<const std::byte>();
  }
  for (Target& other : targets_) {  // those before it are written by now
    if (&other == target) break;
    if (other.done) other.tiles = {};
  }
  const bool tied = work_->model()->config().tied_head;
  if (name == "embed" && !tied) return std::span<const std::byte>();
  if (!target->done) {
    KRAFLA_RETURN_IF_ERROR(name == "embed" ? QuantizeTiedHead(target)
                                           : QuantizeUpTo(target, name == "head"));
  }
  return std::span<const std::byte>(target->tiles);
}

bool Calibrator::WantsTiles(std::string_view name) {
  const Target* target = FindByName(name);
  return target != nullptr && (name == "embed" || HasFeedback(target->wanted.format));
}

void Calibrator::Use(std::string_view name, std::span<const std::byte> tiles) {
  if (!WantsTiles(name)) return;
  Target* target = FindByName(name);
  target->tiles.assign(tiles.begin(), tiles.end());
  if (name == "embed") return TakeGiven(target);
  target->given = true;
}

}  // namespace krafla
