// Quantises the matrices of a model in the order in which it computes, each with error feedback
// from the input that it really gets: what the layers before it, quantised already, make of a
// calibration text. One forward pass over the whole text in f32; memory holds one layer's
// activations and one matrix of correlations.
#ifndef KRAFLA_LIB_CALIBRATE_CALIBRATOR_H_
#define KRAFLA_LIB_CALIBRATE_CALIBRATOR_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/calibrate/gram.h"
#include "lib/calibrate/original_stream.h"
#include "lib/calibrate/self_text.h"
#include "lib/calibrate/work_model.h"
#include "lib/model/driver.h"
#include "lib/model/model.h"
#include "lib/model/state.h"

namespace krafla {

struct CalibrationText {
  std::string text;  // empty: the model writes it itself
  uint64_t seed = 1;
  size_t sequences = 32;
  size_t length = 256;
};

// What a matrix is to become.
struct CalibrationTarget {
  std::string name;
  Format format = Format::kF32;
};

class Calibrator final : private DriverEvents {
 public:
  // work_path: the model in f32; removed. Targets with error feedback are quantised here, others
  // are the caller's (Use). ArgumentError: a text of less than kMinTextTokens.
  static StatusOr<std::unique_ptr<Calibrator>> Create(const std::string& work_path,
                                                      const CalibrationText& text,
                                                      std::vector<CalibrationTarget> targets,
                                                      int32_t threads, StopCheck stop);

  // The tiles of a target, experts one after another, until the next call; targets are asked for in
  // the file's order. Empty: it has no error feedback, or no step shows its input.
  StatusOr<std::span<const std::byte>> Tiles(std::string_view name);
  // Whether Use does anything for it.
  bool WantsTiles(std::string_view name);
  // The tiles of a target that the caller has made, or an earlier process: the model computes with
  // the embedding's from here on, with those of a matrix with error feedback from the step on that
  // reads them. Others stay as they were.
  void Use(std::string_view name, std::span<const std::byte> tiles);

  static constexpr size_t kMinTextTokens = 2048;

 private:
  struct Target {
    CalibrationTarget wanted;
    std::vector<WorkMatrix> matrices;  // experts', or one
    std::vector<std::byte> tiles;      // of all
    size_t bytes() const {             // of one matrix's
      return MatrixBytes(wanted.format, matrices[0].rows, matrices[0].cols);
    }
    std::byte* tiles_of(size_t matrix) { return tiles.data() + matrix * bytes(); }
    bool given = false;  // tiles are the caller's; they count from the step that reads them
    bool done = false;
  };

  explicit Calibrator(StopCheck stop) : stop_(stop) {}
  Status MakeText(const CalibrationText& text);
  StatusOr<std::vector<State>> MakeStates() const;
  StatusOr<std::unique_ptr<Driver>> MakeDriver(size_t length) const;
  void FindTargets(std::vector<CalibrationTarget> targets);
  Target* FindByWeights(const void* weights);
  Target* FindByName(std::string_view name);
  Status BeginPass(bool hidden);
  Status RunSome();
  Status CheckRange(const Target& target, size_t matrix) const;
  void TakeGiven(Target* target);
  // One matrix of each of the targets, which have the input of `gram`'s n_rows rows in common.
  // cross: of the input and what it lacks (MoveToInputs); null: nothing.
  Status Quantize(std::span<Target* const> targets, size_t matrix, Gram* gram, size_t n_rows,
                  const std::vector<float>* cross);
  Status QuantizeWithout(std::span<Target* const> targets, size_t matrix);
  std::vector<Target*> TargetsOf(const StepInput& input);
  Status QuantizeProducts(size_t step, const StepInput& input, const Pass& pass,
                          std::span<Target* const> targets);
  Status QuantizeExperts(const StepInput& input, const Pass& pass,
                         std::span<Target* const> targets);
  Status QuantizeFromHidden(Target* head);
  Status QuantizeTiedHead(Target* head);
  Status QuantizeUpTo(Target* target, bool is_head);

  Status Check() override { return stop_(); }
  Status BeforeStep(const Step& step, const Pass& pass) override;
  Status OnLogits(size_t, int64_t, const float*) override { return OkStatus(); }
  Status OnHidden(size_t sequence, int64_t position, const float* row) override;

  StopCheck stop_;
  std::unique_ptr<WorkModel> work_;
  TokenSequences text_;
  size_t n_rows_ = 0;
  std::vector<Target> targets_;
  std::vector<State> states_;
  std::unique_ptr<Driver> driver_;
  std::unique_ptr<OriginalStream> original_;
  size_t n_steps_ = 0;       // of the quantising pass that were begun
  bool running_ = false;     // a pass is under way
  bool quantizing_ = false;  // it is the one that quantises
  std::unique_ptr<Gram> hidden_;
  std::vector<float> hidden_rows_;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_CALIBRATE_CALIBRATOR_H_
