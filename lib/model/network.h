// What an architecture offers to the driver: fixed lists of steps (embed, each layer, head). A step
// is a number of independent items; running an item reads and writes only the pass (the driver's
// arena and the KV pages), so the driver may stop between any two items and go on later.
#ifndef KRAFLA_LIB_MODEL_NETWORK_H_
#define KRAFLA_LIB_MODEL_NETWORK_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kernels/kernels.h"
#include "lib/model/state.h"

namespace krafla {

inline size_t PadTo16(size_t n) { return (n + 15) / 16 * 16; }
inline size_t BlocksOf(size_t cols) { return (cols + kBlock - 1) / kBlock; }  // quantised

inline constexpr size_t kHeadRows = 16;  // rows whose logits are computed together; of a draft

// The sizes from which arena, KV pages and plan follow; Arch::shape gives them for a configuration.
struct NetworkShape {
  size_t n_layers = 0;
  size_t n_embd = 0;
  size_t n_vocab = 0;
  size_t n_heads = 0;
  size_t n_kv_heads = 0;
  size_t head_dim = 0;
  size_t rope_width = 0;       // cosines of a row: n_rot / 2 for each RopeTable of the model
  size_t act_width = 0;        // widest row of Pass::act
  size_t quantized_width = 0;  // widest row that is multiplied with a matrix
  size_t wide = 0;       // row of Pass::wide: q, k, v of a row, or its feed-forward units; padded
  size_t n_experts = 0;  // of a layer that has most
  size_t n_experts_used = 0;
  size_t n_ff_expert = 0;
  uint64_t recurrent_bytes = 0;
  size_t n_delta_layers = 0;  // layers without keys and values
  size_t trace_width = 0;     // of a row of such a layer's trace (State::Trace)

  // Of the traces of a draft's rows, all layers.
  uint64_t trace_bytes() const {
    return uint64_t{n_delta_layers} * kHeadRows * trace_width * sizeof(float);
  }

  KvShape kv(KvType type) const { return {type, n_layers - n_delta_layers, n_kv_heads, head_dim}; }
};

struct PassRow {
  int32_t token = 0;
  int32_t position = 0;
  uint32_t sequence = 0;
};

// Rows of one session: contiguous, ascending positions.
struct PassSequence {
  State* state = nullptr;
  uint32_t first_row = 0;
  uint32_t n_rows = 0;
  int64_t position = 0;  // of the first row
};

// Rows of one sequence that lie in one KV page.
struct PageRun {
  uint32_t first_row = 0;
  uint32_t n_rows = 0;
};

// Consecutive tokens of one sequence whose attention is computed together.
struct QueryGroup {
  uint32_t first_row = 0;
  uint32_t n_rows = 0;
};

// One (row, attention block) pair where blocks are spread over threads; its partial results lie at
// `slot` (the pair's index) times n_heads.
struct BlockPair {
  uint32_t row = 0;
  uint32_t block = 0;
  uint32_t n_blocks = 0;  // of this row; its pairs follow each other, block 0 first
};

// Which experts the rows use, and the other way round. A pair is a row with one of its experts;
// pairs of one expert follow each other, their rows ascending.
struct Routes {
  uint32_t* expert = nullptr;  // [rows][n_experts_used], the heaviest first
  float* weight = nullptr;     // likewise
  uint32_t* pair = nullptr;    // likewise
  float* shared = nullptr;     // [rows] weight of the shared expert
  uint32_t* row = nullptr;     // [pairs]
  uint32_t* hit = nullptr;     // [n_hit] experts that have rows, ascending
  uint32_t* begin = nullptr;   // [n_hit + 1] first pair of each
  uint32_t* n_hit = nullptr;   // [1]
};

// Of the experts that were hit those that a step is to multiply now, and where each lies: where not
// all of them are in memory.
struct ExpertWave {
  std::vector<uint32_t> hits;  // indices of Routes::hit
  std::vector<const std::byte*> slots;
};

inline constexpr size_t kMaxQueries = 32;     // of one attend call: they share the loads of K and V
inline constexpr size_t kTileFloats = 32768;  // of a thread's scratch for tiles of outputs

// Everything that a step may touch.
struct Pass {
  std::span<const PassRow> rows;
  std::span<const PassSequence> sequences;
  std::span<const PageRun> page_runs;
  std::span<const QueryGroup> query_groups;  // empty where block_pairs are used
  std::span<const BlockPair> block_pairs;
  std::span<const uint32_t> logit_rows;  // the rows of this turn of the head, at most kHeadRows
  uint64_t seen = 0;                     // sum over rows of the positions they see

  float* x = nullptr;  // [rows][ldx] the residual stream; padding is zero
  size_t ldx = 0;
  float* act = nullptr;  // [rows][ld_act] normalised rows, attention outputs
  size_t ld_act = 0;
  ActBlock* blocks = nullptr;  // [rows][cols / 32 rounded up], cols of the matrix that reads them
  float* wide = nullptr;       // [rows][ld_wide]
  size_t ld_wide = 0;
  float* rope_cos = nullptr;  // [rows][ld_rope]: the model's RopeTables one after the other
  float* rope_sin = nullptr;
  size_t ld_rope = 0;
  float* part_m = nullptr;  // [block_pairs][n_heads]
  float* part_l = nullptr;
  float* part_o = nullptr;  // [block_pairs][n_heads][head_dim]
  Routes routes;
  const ExpertWave* wave = nullptr;   // null: all that were hit, where the model has them
  float* expert_rows = nullptr;       // [pairs][ldx]
  float* expert_units = nullptr;      // [pairs][ld_units]
  ActBlock* expert_blocks = nullptr;  // [pairs][cols / 32 rounded up]
  size_t ld_units = 0;
  float* logits = nullptr;  // [logit_rows][ld_logits]
  size_t ld_logits = 0;
  std::byte* scratch = nullptr;  // [threads][scratch_bytes]
  size_t scratch_bytes = 0;

  template <typename T>
  T* thread_scratch(size_t thread) const {
    return reinterpret_cast<T*>(scratch + thread * scratch_bytes);
  }
};

// The size of a step for one pass; the driver makes pieces of about a millisecond from it.
struct StepWork {
  size_t items = 0;
  uint64_t bytes_per_item = 0;  // of weights or KV
  uint64_t macs_per_item = 0;   // multiply-adds
};

struct Matrix;          // lib/weights/weights.h
struct ExpertMatrices;  // likewise
class Residency;        // lib/weights/residency/residency.h
class RouterGuess;      // lib/model/router_guess.h

// The matrices that a step multiplies with all rows of one input, act or wide, or with the rows of
// each expert, expert_rows or expert_units; for calibration, which looks at that input before the
// step runs.
struct StepInput {
  std::vector<const Matrix*> matrices;
  bool from_wide = false;  // of experts: from their units
  std::vector<const ExpertMatrices*> experts = {};
};

struct StreamedLayer;

class Step {
 public:
  virtual ~Step() = default;
  virtual StepInput Input() const { return {}; }
  virtual const char* name() const = 0;
  virtual StepWork Work(const Pass& pass) const = 0;
  virtual void Run(const Pass& pass, size_t begin, size_t end, size_t thread) const = 0;
  // Part of what makes the recurrent state out of a trace: Driver::Rewind runs these alone.
  virtual bool FromTrace() const { return false; }
  // Not null: a step of parts that run for some experts at a time, as they come into memory.
  virtual const StreamedLayer* streamed() const { return nullptr; }
};

using StepList = std::vector<std::unique_ptr<const Step>>;

// Each part has the same number of items for every expert, and for one expert they run in order.
struct StreamedLayer {
  Residency* residency = nullptr;
  size_t layer = 0;  // of its layout
  StepList parts;
  // Of the next layer with experts; nothing where this is the last one.
  std::shared_ptr<const std::optional<RouterGuess>> next;
};

class Network {
 public:
  Network(const NetworkShape& shape, StepList embed, std::vector<StepList> layers, StepList head)
      : shape_(shape),
        embed_(std::move(embed)),
        layers_(std::move(layers)),
        head_(std::move(head)) {}

  const NetworkShape& shape() const { return shape_; }
  const StepList& embed() const { return embed_; }
  const StepList& layer(size_t i) const { return layers_[i]; }
  // Run once for each turn of kHeadRows logit rows; its first step leaves their normed hidden
  // states in act.
  const StepList& head() const { return head_; }
  // What keeps its experts; null where all weights are in memory or mapped.
  Residency* residency() const { return residency_; }
  void set_residency(Residency* residency) { residency_ = residency; }

 private:
  NetworkShape shape_;
  StepList embed_;
  std::vector<StepList> layers_;
  StepList head_;
  Residency* residency_ = nullptr;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_MODEL_NETWORK_H_
