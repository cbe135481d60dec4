// The blocks from which an architecture's file puts its layers together. Each Add function looks up
// its tensors (FileError names a missing or misshapen one) and appends its steps to a list.
//
// Activations are normalised and quantised once for all matrices that read them; gate and up
// projections and their product are one step; the residual is added by the step that multiplies.
#ifndef KRAFLA_LIB_MODEL_BLOCKS_H_
#define KRAFLA_LIB_MODEL_BLOCKS_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/model/config.h"
#include "lib/model/network.h"
#include "lib/weights/weights.h"

namespace krafla {

// Shape of a network with grouped attention and a gated feed-forward of one size in every layer.
NetworkShape DecoderShape(const Config& config);

class NetworkBuilder {
 public:
  NetworkBuilder(const Weights& weights, const NetworkShape& shape, double norm_eps)
      : weights_(weights), shape_(shape), eps_(static_cast<float>(norm_eps)) {}

  // x = embed[token]; the rotary tables of the pass.
  Status AddEmbed(std::string_view embed, std::vector<float> rope_frequencies);
  void BeginLayer();
  // x += wo attention(rope(wq n), rope(wk n), wv n), n = norm(x); names: prefix + "attn_norm",
  // "wq", ...
  Status AddAttention(const std::string& prefix, float scale);
  // x += w_down (silu(w_gate n) * (w_up n)), n = norm(x); prefix + "ffn_norm", "w_gate", "w_up",
  // "w_down"
  Status AddGatedFfn(const std::string& prefix, size_t n_ff);
  // logits = head norm(x), for the rows that want them
  Status AddHead(std::string_view norm, std::string_view head);

  std::unique_ptr<Network> Finish();

 private:
  const Weights& weights_;
  NetworkShape shape_;
  float eps_;
  StepList embed_;
  std::vector<StepList> layers_;
  StepList head_;
};

namespace blocks {

// The steps, for the builder and for tests. Offsets are into a row of Pass::wide.
struct Projection {
  Matrix matrix;
  size_t offset = 0;
};

std::unique_ptr<const Step> Embed(Matrix embed);
std::unique_ptr<const Step> RopeTables(std::vector<float> frequencies);
// act = rms_norm(x), and its blocks where `quantized`; rows of the pass or, for the head, its logit
// rows.
std::unique_ptr<const Step> NormRows(Vector norm, float eps, bool quantized, bool logit_rows);
// blocks of act rows (of `wide` rows where from_wide).
std::unique_ptr<const Step> QuantizeRows(size_t width, bool from_wide);
// wide[offset ...] = matrix act, for each projection.
std::unique_ptr<const Step> Project(std::vector<Projection> projections);
// x += matrix act (wide where from_wide).
std::unique_ptr<const Step> ProjectResidual(Matrix matrix, bool from_wide);
// wide = silu(gate act) * (up act).
std::unique_ptr<const Step> GateUp(Matrix gate, Matrix up);
std::unique_ptr<const Step> HeadTiles(Matrix head);

struct AttentionSizes {
  size_t layer = 0;
  size_t n_heads = 0;
  size_t n_kv_heads = 0;
  size_t head_dim = 0;
  size_t n_rot = 0;
  size_t q_offset = 0;  // of a row of Pass::wide
  size_t k_offset = 0;
  size_t v_offset = 0;
  float scale = 1;
};
std::unique_ptr<const Step> RopeAndStore(const AttentionSizes& sizes);
std::unique_ptr<const Step> Attend(const AttentionSizes& sizes);       // act = attention
std::unique_ptr<const Step> MergeBlocks(const AttentionSizes& sizes);  // where blocks were split
// Bytes of one thread's scratch that Attend needs.
size_t AttendScratchBytes(size_t head_dim);
// Query heads that one Attend item takes: those of one KV head, at most kMaxQueries.
size_t HeadsPerItem(size_t n_heads, size_t n_kv_heads);

}  // namespace blocks
}  // namespace krafla

#endif  // KRAFLA_LIB_MODEL_BLOCKS_H_
