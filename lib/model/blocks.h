// The blocks from which an architecture's file puts its layers together. Each Add function looks up
// its tensors (FileError names a missing or misshapen one) and appends its steps to a list.
//
// Activations are normalised and quantised once for all matrices that read them; gate and up
// projections and their product are one step; the residual is added by the step that multiplies, or
// where a block's output has a norm by the step that normalises it.
#ifndef KRAFLA_LIB_MODEL_BLOCKS_H_
#define KRAFLA_LIB_MODEL_BLOCKS_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/model/config.h"
#include "lib/model/network.h"
#include "lib/model/rope.h"
#include "lib/weights/weights.h"

namespace krafla {

struct DeltaTraits;   // lib/model/blocks_delta.h
struct ExpertTraits;  // lib/model/blocks_experts.h

// Shape of a network with grouped attention and a gated feed-forward of one size in every layer.
NetworkShape DecoderShape(const Config& config);

// Which norms a block B has: x += B(norm(x)), x += norm(B(norm(x))), x += norm(B(x)).
enum class NormPlace : uint8_t { kBefore, kAround, kAfter };
// Norms of queries and keys before they are rotated: of each head, or of all heads as one row.
enum class QkNorm : uint8_t { kNone, kHead, kRow };
enum class Activation : uint8_t { kSilu, kGeluTanh };

struct AttentionTraits {
  NormPlace norms = NormPlace::kBefore;
  QkNorm qk_norm = QkNorm::kNone;
  bool qkv_bias = false;
  bool o_bias = false;
  bool gate = false;   // the result is multiplied by sigmoid(wg n)
  bool sinks = false;  // each head has a score that takes part in the softmax and has no value
  int64_t rope = 0;    // which of the model's RopeTables; -1: none
  int64_t window = 0;  // positions that a query sees, itself included; 0: all
  float scale = 1;     // multiplies q k
  float softcap = 0;
  float residual_scale = 1;
};

struct FfnTraits {
  NormPlace norms = NormPlace::kBefore;
  Activation activation = Activation::kSilu;
  bool bias = false;
  float residual_scale = 1;
};

class NetworkBuilder {
 public:
  NetworkBuilder(const Weights& weights, const NetworkShape& shape, double norm_eps)
      : weights_(weights), shape_(shape), eps_(static_cast<float>(norm_eps)) {}

  // x = scale * embed[token]; the rotary tables of the pass.
  Status AddEmbed(std::string_view embed, float scale, std::vector<RopeTable> ropes);
  void BeginLayer();
  // x += wo attention(rope(wq n), rope(wk n), wv n), n = norm(x). Names: prefix + "attn_norm",
  // "wq", "wk", "wv", "wo"; where the traits want them "attn_post_norm", "q_norm", "k_norm", "bq",
  // "bk", "bv", "bo", "wg", "sinks".
  Status AddAttention(const std::string& prefix, const AttentionTraits& traits);
  // x += w_down (act(w_gate n) * (w_up n)), n = norm(x). Names: prefix + "ffn_norm", "w_gate",
  // "w_up", "w_down"; where the traits want them "ffn_post_norm", "b_gate", "b_up", "b_down".
  Status AddGatedFfn(const std::string& prefix, size_t n_ff, const FfnTraits& traits);
  // x += sum of weight * w_down (act(w_gate n) * (w_up n)) over the experts that the router
  // chooses, and a shared one. Names: prefix + "ffn_norm", "router", "experts.w_gate",
  // "experts.w_up", "experts.w_down"; where the traits want them "router_bias", "experts.b_gate",
  // "experts.b_up", "experts.b_down", "shared.gate", "shared.w_gate", "shared.w_up",
  // "shared.w_down".
  Status AddExperts(const std::string& prefix, const ExpertTraits& traits);
  // x += wo (norm(delta(...)) * silu(wz n)). Names: prefix + "attn_norm", "delta.wq", "delta.wk",
  // "delta.wv", "delta.wz", "delta.wa", "delta.wb", "delta.conv", "delta.a", "delta.dt_bias",
  // "delta.norm", "delta.wo".
  Status AddDelta(const std::string& prefix, const DeltaTraits& traits);
  // logits = scale * head norm(x), for the rows that want them; softcap > 0: then capped
  Status AddHead(std::string_view norm, std::string_view head, float scale, float softcap);

  std::unique_ptr<Network> Finish();

 private:
  StatusOr<Vector> FindBias(const std::string& name, bool wanted, size_t size) const;
  Status AddInput(const std::string& norm, NormPlace place, bool quantized);
  Status AddQkNorm(const std::string& prefix, QkNorm kind, size_t k_offset);
  Status AddOutput(const Matrix& matrix, Vector bias, bool from_wide, const std::string& norm,
                   NormPlace place, float scale);

  Status AddSharedExpert(const std::string& prefix, size_t n_ff);

  const Weights& weights_;
  NetworkShape shape_;
  float eps_;
  std::vector<size_t> rope_offsets_;  // of each table in a row of cosines, and the end of the last
  size_t n_attending_ = 0;            // layers with keys and values so far
  size_t n_deltas_ = 0;               // gated delta nets so far
  std::shared_ptr<std::optional<RouterGuess>> next_router_;  // of the last layer that streams
  StepList embed_;
  std::vector<StepList> layers_;
  StepList head_;
};

namespace blocks {

// The steps, for the builder and for tests. Offsets are into a row of Pass::wide.
struct Projection {
  Matrix matrix;
  size_t offset = 0;
  Vector bias;  // none where empty
};

// `count` runs of norm.size entries from `offset` on.
struct NormPart {
  Vector norm;
  size_t offset = 0;
  size_t count = 1;
};

std::unique_ptr<const Step> Embed(Matrix embed, float scale);
std::unique_ptr<const Step> RopeTables(std::vector<RopeTable> tables);
// act = rms_norm(x), or x where `norm` is empty, and its blocks where `quantized`; rows of the pass
// or, for the head, its logit rows.
std::unique_ptr<const Step> NormRows(Vector norm, size_t width, float eps, bool quantized,
                                     bool logit_rows);
// wide = rms_norm(wide), in parts.
std::unique_ptr<const Step> NormParts(std::vector<NormPart> parts, float eps);
// x += scale * rms_norm(act) (wide where from_wide).
std::unique_ptr<const Step> AddNormed(Vector norm, float eps, float scale, bool from_wide);
// blocks of act rows (of `wide` rows where from_wide).
std::unique_ptr<const Step> QuantizeRows(size_t width, bool from_wide);
// wide[offset ...] = matrix act + bias, for each projection; where from_wide, act = matrix wide.
std::unique_ptr<const Step> Project(std::vector<Projection> projections, bool from_wide);
// x += scale * (matrix act + bias) (wide where from_wide).
std::unique_ptr<const Step> ProjectResidual(Matrix matrix, Vector bias, float scale,
                                            bool from_wide);
// wide = activation(gate act) * (up act); the offsets of the projections are not used.
std::unique_ptr<const Step> GateUp(Projection gate, Projection up, Activation activation);
std::unique_ptr<const Step> HeadTiles(Matrix head, float scale, float softcap);

struct AttentionSizes {
  size_t layer = 0;
  size_t n_heads = 0;
  size_t n_kv_heads = 0;
  size_t head_dim = 0;
  size_t n_rot = 0;        // 0: nothing is rotated
  size_t rope_offset = 0;  // into a row of Pass::rope_cos
  size_t q_offset = 0;     // of a row of Pass::wide
  size_t k_offset = 0;
  size_t v_offset = 0;
  int64_t window = 0;  // 0: none
  float scale = 1;
  float softcap = 0;
  Vector sinks;  // [n_heads], may be empty
};
std::unique_ptr<const Step> RopeAndStore(const AttentionSizes& sizes);
std::unique_ptr<const Step> Attend(const AttentionSizes& sizes);       // act = attention
std::unique_ptr<const Step> MergeBlocks(const AttentionSizes& sizes);  // where blocks were split
// act = act * sigmoid(wide[offset ...])
std::unique_ptr<const Step> GateOutput(size_t offset, size_t width);
// Bytes of one thread's scratch that Attend needs.
size_t AttendScratchBytes(size_t head_dim);
// Query heads that one Attend item takes: those of one KV head, at most kMaxQueries.
size_t HeadsPerItem(size_t n_heads, size_t n_kv_heads);

}  // namespace blocks
}  // namespace krafla

#endif  // KRAFLA_LIB_MODEL_BLOCKS_H_
