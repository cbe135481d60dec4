// A mixture of experts: a router chooses some experts for each row, the rows of a batch are grouped
// by expert, each expert multiplies its rows together, and a row's results are added in the order
// of its router's ranks. So neither batch nor threads change a bit.
#ifndef KRAFLA_LIB_MODEL_BLOCKS_EXPERTS_H_
#define KRAFLA_LIB_MODEL_BLOCKS_EXPERTS_H_

#include <memory>

#include "lib/model/blocks.h"

namespace krafla {

enum class Router : uint8_t {
  kSoftmax,       // of all scores; the largest are taken
  kSigmoid,       // of each score; a bias takes part in the choice, not in the weights
  kSoftmaxOfTop,  // of the scores of those taken
};

struct ExpertTraits {
  Router router = Router::kSoftmax;
  bool norm_topk = true;     // weights are divided by their sum
  bool router_bias = false;  // kSigmoid: of the choice; else added to the scores
  bool biases = false;       // of every expert's matrices
  float swiglu_alpha = 0;    // > 0: a clamped SwiGLU
  float swiglu_limit = 0;
  size_t n_ff_shared = 0;  // of the shared expert, 0: none
  float residual_scale = 1;
};

namespace blocks {

struct RouteSizes {
  size_t n_experts = 0;
  size_t n_used = 0;
  Router router = Router::kSoftmax;
  bool norm_topk = true;
  Vector bias;         // of the choice, may be empty
  Vector shared_gate;  // may be empty
};

// The scores of all experts lie at the start of a row of Pass::wide, the row itself in Pass::act.
std::unique_ptr<const Step> Route(const RouteSizes& sizes);
// Pairs by expert.
std::unique_ptr<const Step> GroupPairs(size_t n_experts, size_t n_used);
// expert_blocks (quantised) and expert_rows (plain) of each pair = blocks and act of its row.
std::unique_ptr<const Step> GatherRows(size_t width, size_t n_used, bool quantized, bool plain);

struct ExpertProjection {
  ExpertMatrices matrices;
  Vector bias;  // [experts][rows]; none where empty
};
struct ExpertActivation {
  float swiglu_alpha = 0;  // 0: SiLU
  float swiglu_limit = 0;
};
// expert_units = activation(gate x) * (up x)
std::unique_ptr<const Step> ExpertGateUp(ExpertProjection gate, ExpertProjection up,
                                         ExpertActivation activation);
// expert_blocks of expert_units
std::unique_ptr<const Step> QuantizeUnits(size_t width);
// expert_rows = down units
std::unique_ptr<const Step> ExpertDown(ExpertProjection down);
// Products of experts that a Residency keeps, as one step.
std::unique_ptr<const Step> StreamExperts(StreamedLayer layer);
// x += scale * (sum over ranks of weight * expert_rows + shared weight * act), without the last
// term where there is no shared expert.
std::unique_ptr<const Step> CombineExperts(size_t width, size_t n_used, bool shared, float scale);

}  // namespace blocks
}  // namespace krafla

#endif  // KRAFLA_LIB_MODEL_BLOCKS_EXPERTS_H_
