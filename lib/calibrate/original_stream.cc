// See original_stream.h.
#include "lib/calibrate/original_stream.h"

#include <algorithm>
#include <utility>

#include "lib/weights/weights.h"

namespace krafla {

Status BeginText(const TokenSequences& text, bool hidden, std::vector<State>* states,
                 Driver* driver) {
  std::vector<BatchSequence> batch;
  for (size_t i = 0; i < text.size(); ++i) {
    State& state = (*states)[i];
    state.Cut(0);
    state.Drop();
    KRAFLA_RETURN_IF_ERROR(state.Prepare(0, static_cast<int64_t>(text[i].size())));
    BatchSequence& sequence = batch.emplace_back();
    sequence.state = &state;
    sequence.tokens = text[i];
    sequence.all_hidden = hidden;
  }
  driver->Begin(batch);
  return OkStatus();
}

StatusOr<std::unique_ptr<OriginalStream>> OriginalStream::Begin(const TokenSequences& text,
                                                                std::vector<State> states,
                                                                std::unique_ptr<Driver> driver,
                                                                StopCheck stop) {
  std::unique_ptr<OriginalStream> stream(new OriginalStream(stop));
  stream->states_ = std::move(states);
  stream->driver_ = std::move(driver);
  KRAFLA_RETURN_IF_ERROR(
      BeginText(text, /*hidden=*/false, &stream->states_, stream->driver_.get()));
  while (stream->driver_->stages_done() == 0) KRAFLA_RETURN_IF_ERROR(stream->RunSome());
  return stream;
}

Status OriginalStream::RunSome() {
  Driver::Pause pause;
  pause.each_item = true;
  KRAFLA_ASSIGN_OR_RETURN(finished_, driver_->Run(*this, pause));
  return OkStatus();
}

Status OriginalStream::BeforeStep(const Step& step, const Pass& pass) {
  const StepInput input = step.Input();
  const size_t index = n_steps_++;
  if (input.matrices.empty()) return OkStatus();
  const size_t width = input.matrices[0]->cols;
  const float* from = input.from_wide ? pass.wide : pass.act;
  const size_t ld = input.from_wide ? pass.ld_wide : pass.ld_act;
  std::vector<float>& rows = inputs_[index];
  rows.resize(pass.rows.size() * width);
  for (size_t i = 0; i < pass.rows.size(); ++i) {
    std::copy_n(from + i * ld, width, rows.begin() + static_cast<ptrdiff_t>(i * width));
  }
  return OkStatus();
}

Status OriginalStream::RunPast(size_t step) {
  inputs_.erase(inputs_.begin(), inputs_.lower_bound(step));
  while (n_steps_ <= step + 1 && !finished_) KRAFLA_RETURN_IF_ERROR(RunSome());
  return OkStatus();
}

StatusOr<const float*> OriginalStream::Input(size_t step, size_t width) const {
  const auto found = inputs_.find(step);
  if (found == inputs_.end() || found->second.size() % width != 0) {
    return InternalError("calibration: step {} has no input of {} columns", step, width);
  }
  return found->second.data();
}

}  // namespace krafla
