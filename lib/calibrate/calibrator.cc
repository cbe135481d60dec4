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
    KRAFLA_ASSIGN_OR_RETURN(text_, TextChunks(*tokenizer, text.text, static_cast<int64_t>(length),
                                              (kMinTextTokens + length - 1) / length));
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
    std::vector<WorkMatrix> matrices = work_->FindAll(wanted.name);
    if (matrices.empty()) continue;
    Target& target = targets_.emplace_back();
    target.wanted = std::move(wanted);
    target.matrices = std::move(matrices);
  }
}

Calibrator::Target* Calibrator::FindByWeights(const void* weights) {
  for (Target& target : targets_) {
    if (target.matrices[0].tiles == weights) return &target;
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
Status Calibrator::CheckRange(const Target& target, size_t matrix) const {
  const float most = target.wanted.format == Format::kQ4 ? 8 * 65504.0f : 65504.0f;
  const float* tiles = target.matrices[matrix].tiles;
  for (size_t i = 0; i < target.matrices[matrix].size(); ++i) {
    if (tiles[i] <= most && tiles[i] >= -most) continue;
    return FileError("{}: {} is too large for {}", target.wanted.name, tiles[i],
                     FormatName(target.wanted.format));
  }
  return OkStatus();
}

Status Calibrator::Quantize(std::span<Target* const> targets, size_t index, Gram* gram,
                            size_t n_rows, const std::vector<float>* cross) {
  ThreadPool& pool = work_->runtime().threads();
  KRAFLA_RETURN_IF_ERROR(gram->Factor(kDamp, kShrink, pool));
  // Of what a fit of n columns to so many rows explains, n / rows are chance.
  const double columns = static_cast<double>(gram->n());
  const auto trust = static_cast<float>(std::max(0.0, 1 - columns / static_cast<double>(n_rows)));
  for (Target* target : targets) {
    const WorkMatrix& matrix = target->matrices[index];
    KRAFLA_RETURN_IF_ERROR(CheckRange(*target, index));
    if (cross != nullptr) MoveToInputs(*gram, *cross, matrix.rows, matrix.tiles, trust, pool);
    KRAFLA_RETURN_IF_ERROR(stop_());
    KRAFLA_RETURN_IF_ERROR(QuantizeWithFeedback(target->wanted.format, *gram, matrix.rows,
                                                matrix.tiles, target->tiles_of(index), pool));
  }
  return OkStatus();
}

// By the rule that needs no data: there are too few rows to tell how this input's columns go
// together.
Status Calibrator::QuantizeWithout(std::span<Target* const> targets, size_t index) {
  for (Target* target : targets) {
    const WorkMatrix& matrix = target->matrices[index];
    std::byte* tiles = target->tiles_of(index);
    KRAFLA_RETURN_IF_ERROR(stop_());
    KRAFLA_RETURN_IF_ERROR(Pack(target->wanted.format, matrix, tiles));
    Unpack(target->wanted.format, tiles, matrix);
  }
  return OkStatus();
}

// Of a step's matrices those that are still to be quantised.
std::vector<Calibrator::Target*> Calibrator::TargetsOf(const StepInput& input) {
  std::vector<const void*> weights;
  for (const Matrix* matrix : input.matrices) weights.push_back(matrix->tiles);
  for (const ExpertMatrices* matrices : input.experts) weights.push_back(matrices->first);
  std::vector<Target*> targets;
  for (const void* first : weights) {
    Target* target = FindByWeights(first);
    if (target == nullptr || target->done || !HasFeedback(target->wanted.format)) continue;
    targets.push_back(target);
  }
  return targets;
}

Status Calibrator::BeforeStep(const Step& step, const Pass& pass) {
  if (!quantizing_) return OkStatus();
  const size_t index = n_steps_++;
  const StepInput input = step.Input();
  const std::vector<Target*> targets = TargetsOf(input);
  if (targets.empty()) return OkStatus();
  KRAFLA_RETURN_IF_ERROR(original_->RunPast(index));  // with the matrices as they still are
  std::vector<Target*> wanted;
  for (Target* target : targets) {
    if (target->given) {
      TakeGiven(target);
    } else {
      target->tiles.resize(target->matrices.size() * target->bytes());
      wanted.push_back(target);
    }
  }
  if (wanted.empty()) return OkStatus();
  KRAFLA_RETURN_IF_ERROR(input.experts.empty() ? QuantizeProducts(index, input, pass, wanted)
                                               : QuantizeExperts(input, pass, wanted));
  for (Target* target : wanted) target->done = true;
  return OkStatus();
}

Status Calibrator::QuantizeProducts(size_t index, const StepInput& input, const Pass& pass,
                                    std::span<Target* const> targets) {
  const size_t n = targets[0]->matrices[0].cols;
  const size_t n_rows = pass.rows.size();
  if (n_rows < kRowsPerColumn * n) return QuantizeWithout(targets, 0);
  ThreadPool& pool = work_->runtime().threads();
  const float* x = input.from_wide ? pass.wide : pass.act;
  const size_t ldx = input.from_wide ? pass.ld_wide : pass.ld_act;
  Gram gram(n);
  gram.Add(x, ldx, n_rows, pool);
  KRAFLA_ASSIGN_OR_RETURN(const float* original, original_->Input(index, n));
  std::vector<float> lacking(n_rows * n);
  for (size_t i = 0; i < n_rows; ++i) {
    for (size_t k = 0; k < n; ++k) lacking[i * n + k] = original[i * n + k] - x[i * ldx + k];
  }
  std::vector<float> cross;
  gram.AddCross(x, ldx, lacking.data(), n, n_rows, &cross, pool);
  return Quantize(targets, 0, &gram, n_rows, &cross);
}

// Each expert from the rows that were sent to it. The model as it was sends it others, so there is
// nothing to aim at but the outputs on these.
Status Calibrator::QuantizeExperts(const StepInput& input, const Pass& pass,
                                   std::span<Target* const> targets) {
  const float* x = input.from_wide ? pass.expert_units : pass.expert_rows;
  const size_t ldx = input.from_wide ? pass.ld_units : pass.ldx;
  const size_t n = targets[0]->matrices[0].cols;
  const Routes& routes = pass.routes;
  size_t hit = 0;
  for (size_t expert = 0; expert < targets[0]->matrices.size(); ++expert) {
    size_t first = 0;
    size_t n_rows = 0;
    if (hit < *routes.n_hit && routes.hit[hit] == expert) {
      first = routes.begin[hit];
      n_rows = routes.begin[hit + 1] - first;
      ++hit;
    }
    if (n_rows < kRowsPerColumn * n) {
      KRAFLA_RETURN_IF_ERROR(QuantizeWithout(targets, expert));
      continue;
    }
    Gram gram(n);
    gram.Add(x + first * ldx, ldx, n_rows, work_->runtime().threads());
    KRAFLA_RETURN_IF_ERROR(Quantize(targets, expert, &gram, n_rows, nullptr));
  }
  return OkStatus();
}

void Calibrator::TakeGiven(Target* target) {
  for (size_t i = 0; i < target->matrices.size(); ++i) {
    Unpack(target->wanted.format, target->tiles_of(i), target->matrices[i]);
  }
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
  const size_t n = head->matrices[0].cols;
  hidden_->Add(hidden_rows_.data(), n, hidden_rows_.size() / n, work_->runtime().threads());
  hidden_rows_.clear();
  head->tiles.resize(head->bytes());
  KRAFLA_RETURN_IF_ERROR(
      Quantize(std::span<Target* const>(&head, 1), 0, hidden_.get(), n_rows_, nullptr));
  head->done = true;
  hidden_.reset();
  return OkStatus();
}

Status Calibrator::QuantizeTiedHead(Target* head) {
  hidden_ = std::make_unique<Gram>(head->matrices[0].cols);
  KRAFLA_RETURN_IF_ERROR(BeginPass(/*hidden=*/true));
  while (running_) KRAFLA_RETURN_IF_ERROR(RunSome());
  return QuantizeFromHidden(head);
}

Status Calibrator::QuantizeUpTo(Target* target, bool is_head) {
  if (!quantizing_) {
    quantizing_ = true;
    Target* head = work_->model()->config().tied_head ? nullptr : FindByName("head");
    const bool hidden = head != nullptr && HasFeedback(head->wanted.format);
    if (hidden) hidden_ = std::make_unique<Gram>(head->matrices[0].cols);
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
