// The driver: runs a network over a batch of rows from one or several sessions. It owns the arena
// and the layer loop; its counter (stage, step, next item) is all that a pause keeps.
#ifndef KRAFLA_LIB_MODEL_DRIVER_H_
#define KRAFLA_LIB_MODEL_DRIVER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lib/base/status.h"
#include "lib/model/expert_stream.h"
#include "lib/model/layer_hold.h"
#include "lib/model/network.h"
#include "lib/model/state.h"
#include "lib/runtime/runtime.h"

namespace krafla {

// What one session adds to a batch. Its pages for these positions must be prepared.
struct BatchSequence {
  State* state = nullptr;
  std::span<const int32_t> tokens;
  int64_t position = 0;          // of tokens[0]
  bool all_logits = false;       // OnLogits for each row
  bool all_hidden = false;       // OnHidden for each row
  float* last_logits = nullptr;  // non-null: the last row's logits go here; [PadTo16(n_vocab)]
};

// Called by the driver between work items, on the thread that runs it. An error stops Run with it;
// a later Run goes on where it stopped.
class DriverEvents {
 public:
  virtual ~DriverEvents() = default;
  virtual Status Check() = 0;
  // Before the first item of a step, which finds its input in the pass.
  virtual Status BeforeStep(const Step&, const Pass&) { return OkStatus(); }
  // In ascending row order; the row lives until the call returns.
  virtual Status OnLogits(size_t sequence, int64_t position, const float* row) = 0;
  // The row behind the final norm, [n_embd]; before its logits. Only where all_hidden is set.
  virtual Status OnHidden(size_t, int64_t, const float*) { return OkStatus(); }
};

class Driver {
 public:
  using Clock = std::chrono::steady_clock;

  // max_rows of one batch; context: the positions a row may see, for the partial results of
  // attention.
  static StatusOr<std::unique_ptr<Driver>> Create(const Network& network, Runtime& runtime,
                                                  size_t max_rows, int64_t context);
  // Bytes of the arena that Create takes; saturates at UINT64_MAX.
  static uint64_t ArenaBytes(const NetworkShape& shape, size_t max_rows, int64_t context,
                             size_t threads);

  ~Driver();

  size_t max_rows() const { return max_rows_; }

  // The batch's rows together are at most max_rows. The sequences' states and targets must live
  // until Run has returned true; their tokens are copied.
  void Begin(std::span<const BatchSequence> sequences);
  // Runs until all is done (true) or, false, a pause: after one work item, or once `deadline` has
  // passed.
  struct Pause {
    bool each_item = false;
    std::optional<Clock::time_point> deadline;
  };
  StatusOr<bool> Run(DriverEvents& events, const Pause& pause);

  // Logits of row i of a batch of one sequence that wanted all of them, at most kHeadRows; until
  // the next Begin.
  const float* head_row(size_t i) const { return turn_logits_ + i * pass_.ld_logits; }
  // Makes B of the state again, from A and the first n rows of its trace, which begins at this
  // position and is used up.
  void Rewind(State& state, int64_t position, size_t n);

  // Of the begun batch, for progress: stages done and in all (embed, the layers, the head's turns).
  size_t stages_done() const { return stage_; }
  size_t stages() const { return 1 + n_layers_ + n_turns_; }

 private:
  Driver(const Network& network, Runtime& runtime);
  void BindArena(int64_t context);
  void AddRows(size_t index, const BatchSequence& sequence);
  void PlanAttention();
  const StepList& steps() const;
  void BeginTurn();
  Status Deliver(DriverEvents& events);
  Status DeliverHidden(DriverEvents& events);
  Status FinishStep(DriverEvents& events);
  size_t RunItems(const Step& step, const Pass& pass, size_t first);
  StatusOr<bool> RunSteps(DriverEvents& events, const Pause& pause);
  StatusOr<bool> RunStreamed(const StreamedLayer& layer, const Pause& pause);
  StatusOr<bool> HoldLayer(const Pause& pause);

  struct LogitRow {
    uint32_t row = 0;
    float* target = nullptr;
    bool report = false;
    bool hidden = false;
    bool wants_logits() const { return report || target != nullptr; }
  };

  const Network& network_;
  Runtime& runtime_;
  size_t n_layers_ = 0;
  size_t max_rows_ = 0;
  size_t max_pairs_ = 0;
  Buffer arena_;
  float* turn_logits_ = nullptr;  // [kHeadRows][ld_logits]
  Pass pass_;
  ExpertStream stream_;
  LayerHold layer_;
  int64_t reserved_ = 0;  // of the budget of a Residency

  std::vector<PassRow> rows_;  // these have capacity for the largest batch
  std::vector<PassSequence> sequences_;
  std::vector<PageRun> page_runs_;
  std::vector<QueryGroup> query_groups_;
  std::vector<BlockPair> block_pairs_;
  std::vector<uint32_t> logit_row_ids_;
  std::vector<LogitRow> logit_rows_;

  size_t n_turns_ = 0;
  size_t stage_ = 0;  // 0 embed, then the layers, then the head's turns
  size_t step_ = 0;
  size_t next_ = 0;              // item
  size_t delivered_ = 0;         // logit rows of this turn that OnLogits has seen
  size_t delivered_hidden_ = 0;  // and OnHidden
  bool turn_wants_logits_ = false;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_MODEL_DRIVER_H_
