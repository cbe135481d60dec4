// A gated delta net: a layer whose memory is a matrix for each head instead of keys and values.
// Each token decays it, corrects what it gives for the token's key towards the token's value, and
// reads it with the token's query (arXiv 2412.06464). Before it a short convolution along the
// tokens.
//
// Tokens go one after another, so a state does not depend on how a text was cut; its columns do not
// depend on each other, so threads share heads and columns.
#ifndef KRAFLA_LIB_MODEL_BLOCKS_DELTA_H_
#define KRAFLA_LIB_MODEL_BLOCKS_DELTA_H_

#include <memory>

#include "lib/model/blocks.h"

namespace krafla {

struct DeltaTraits {
  size_t k_heads = 0;
  size_t v_heads = 0;
  size_t k_dim = 0;
  size_t v_dim = 0;
  size_t taps = 0;
  bool tiled = false;  // which q and k a v head has (Config::delta_tiled)

  size_t keys() const { return k_heads * k_dim; }
  size_t values() const { return v_heads * v_dim; }
  size_t channels() const { return 2 * keys() + values(); }
  size_t column_tiles() const { return (v_dim + kDeltaColumns - 1) / kDeltaColumns; }
  size_t head_floats() const { return column_tiles() * k_dim * kDeltaColumns; }
  // Of one layer: the heads' matrices, then the last inputs of the convolution.
  size_t state_floats() const { return v_heads * head_floats() + PadTo16((taps - 1) * channels()); }
};
DeltaTraits DeltaTraitsOf(const Config& config);

namespace blocks {

// Where the parts of a layer's rows lie in a row of Pass::wide, and its state in the session's.
struct DeltaLayout {
  // layer: among those with such a state
  explicit DeltaLayout(const DeltaTraits& traits, size_t layer = 0);
  DeltaTraits t;
  size_t q = 0, k = 0, v = 0, z = 0;
  size_t decay = 0;  // [v_heads], before: the token's share in it
  size_t beta = 0;   // [v_heads]
  size_t qk = 0;     // [k_heads]
  size_t end = 0;
  size_t layer = 0;
  uint64_t state = 0;  // bytes
};

// Keeps the rows of drafts as they are before the convolution (State::trace).
std::unique_ptr<const Step> DeltaTrace(const DeltaLayout& layout);

std::unique_ptr<const Step> DeltaConvolve(const DeltaLayout& layout, Vector weights);
// Unit lengths of q and k, their products, decay and beta.
std::unique_ptr<const Step> DeltaPrepare(const DeltaLayout& layout, Vector a, Vector dt_bias);
std::unique_ptr<const Step> DeltaRule(const DeltaLayout& layout);
// act = rms_norm(o) * silu(z), head by head.
std::unique_ptr<const Step> DeltaGate(const DeltaLayout& layout, Vector norm, float eps);

}  // namespace blocks
}  // namespace krafla

#endif  // KRAFLA_LIB_MODEL_BLOCKS_DELTA_H_
