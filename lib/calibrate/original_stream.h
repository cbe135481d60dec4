// A second pass over the calibration text, half a step ahead of the one that quantises: it computes
// with each matrix before that is replaced, so its inputs are those of the model as it was.
#ifndef KRAFLA_LIB_CALIBRATE_ORIGINAL_STREAM_H_
#define KRAFLA_LIB_CALIBRATE_ORIGINAL_STREAM_H_

#include <map>
#include <memory>
#include <vector>

#include "lib/base/status.h"
#include "lib/calibrate/self_text.h"
#include "lib/model/driver.h"
#include "lib/model/state.h"

namespace krafla {

// A batch of whole sequences, each from position 0 on.
Status BeginText(const TokenSequences& text, bool hidden, std::vector<State>* states,
                 Driver* driver);

class OriginalStream final : private DriverEvents {
 public:
  // Takes states as BeginText; runs the embedding.
  static StatusOr<std::unique_ptr<OriginalStream>> Begin(const TokenSequences& text,
                                                         std::vector<State> states,
                                                         std::unique_ptr<Driver> driver,
                                                         StopCheck stop);
  // Runs the step-th step, counted from 0, to its end.
  Status RunPast(size_t step);
  // What that step read, [rows][width].
  StatusOr<const float*> Input(size_t step, size_t width) const;

 private:
  explicit OriginalStream(StopCheck stop) : stop_(stop) {}
  Status RunSome();
  Status Check() override { return stop_(); }
  Status BeforeStep(const Step& step, const Pass& pass) override;
  Status OnLogits(size_t, int64_t, const float*) override { return OkStatus(); }

  StopCheck stop_;
  std::vector<State> states_;
  std::unique_ptr<Driver> driver_;
  size_t n_steps_ = 0;  // that were begun
  bool finished_ = false;
  std::map<size_t, std::vector<float>> inputs_;  // of the steps that are not done with
};

}  // namespace krafla

#endif  // KRAFLA_LIB_CALIBRATE_ORIGINAL_STREAM_H_
