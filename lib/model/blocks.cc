// The builder: looks tensors up and lists the steps of embedding, attention, feed-forward and head.
#include "lib/model/blocks.h"

#include <algorithm>
#include <utility>

#include "lib/model/blocks_delta.h"
#include "lib/model/blocks_experts.h"

namespace krafla {

NetworkShape DecoderShape(const Config& config) {
  NetworkShape shape;
  shape.n_layers = static_cast<size_t>(config.n_layers);
  shape.n_embd = static_cast<size_t>(config.n_embd);
  shape.n_vocab = static_cast<size_t>(config.n_vocab);
  shape.n_heads = static_cast<size_t>(config.n_heads);
  shape.n_kv_heads = static_cast<size_t>(config.n_kv_heads);
  shape.head_dim = static_cast<size_t>(config.head_dim);
  const auto n_rot = static_cast<size_t>(config.rotated_dims());
  shape.rope_width = n_rot / 2 * (config.uses_local_rope() ? 2 : 1);
  const size_t n_q = shape.n_heads * shape.head_dim;
  const size_t n_kv = shape.n_kv_heads * shape.head_dim;
  const auto n_ff = static_cast<size_t>(config.n_ff);
  shape.act_width = std::max(shape.n_embd, n_q);
  shape.quantized_width = std::max(shape.act_width, n_ff);
  shape.wide = std::max({PadTo16(n_q) + 2 * PadTo16(n_kv), PadTo16(n_ff), PadTo16(shape.n_embd)});
  if (config.attention_gate) shape.wide += PadTo16(n_q);
  if (config.n_experts > 0) {
    shape.n_experts = static_cast<size_t>(config.n_experts);
    shape.n_experts_used = static_cast<size_t>(config.n_experts_used);
    shape.n_ff_expert = static_cast<size_t>(config.n_ff_expert);
    const auto n_ff_shared = static_cast<size_t>(config.n_ff_shared);
    shape.quantized_width = std::max(shape.quantized_width, n_ff_shared);
    shape.wide = std::max({shape.wide, PadTo16(shape.n_experts), PadTo16(n_ff_shared)});
  }
  shape.n_delta_layers = static_cast<size_t>(config.n_delta_layers());
  if (shape.n_delta_layers > 0) {
    const DeltaTraits delta = DeltaTraitsOf(config);
    shape.act_width = std::max(shape.act_width, delta.values());
    shape.quantized_width = std::max(shape.quantized_width, delta.values());
    shape.trace_width = blocks::DeltaLayout(delta).end;
    shape.wide = std::max(shape.wide, shape.trace_width);
    shape.recurrent_bytes = shape.n_delta_layers * delta.state_floats() * sizeof(float);
  }
  return shape;
}

Status NetworkBuilder::AddEmbed(std::string_view embed, float scale, std::vector<RopeTable> ropes) {
  KRAFLA_ASSIGN_OR_RETURN(const Matrix matrix,
                          weights_.FindMatrix(embed, shape_.n_vocab, shape_.n_embd));
  rope_offsets_ = {0};
  for (const RopeTable& table : ropes) {
    rope_offsets_.push_back(rope_offsets_.back() + table.frequencies.size());
  }
  embed_.push_back(blocks::Embed(matrix, scale));
  embed_.push_back(blocks::RopeTables(std::move(ropes)));
  return OkStatus();
}

void NetworkBuilder::BeginLayer() { layers_.emplace_back(); }

StatusOr<Vector> NetworkBuilder::FindBias(const std::string& name, bool wanted, size_t size) const {
  if (!wanted) return Vector();
  return weights_.FindVector(name, size);
}

// act = norm(x), or x itself where the block has no norm before it.
Status NetworkBuilder::AddInput(const std::string& norm, NormPlace place, bool quantized) {
  Vector vector;
  if (place != NormPlace::kAfter) {
    KRAFLA_ASSIGN_OR_RETURN(vector, weights_.FindVector(norm, shape_.n_embd));
  }
  layers_.back().push_back(
      blocks::NormRows(vector, shape_.n_embd, eps_, quantized, /*logit_rows=*/false));
  return OkStatus();
}

Status NetworkBuilder::AddQkNorm(const std::string& prefix, QkNorm kind, size_t k_offset) {
  if (kind == QkNorm::kNone) return OkStatus();
  const bool rows = kind == QkNorm::kRow;
  const size_t d = shape_.head_dim;
  KRAFLA_ASSIGN_OR_RETURN(const Vector q,
                          weights_.FindVector(prefix + "q_norm", rows ? shape_.n_heads * d : d));
  KRAFLA_ASSIGN_OR_RETURN(const Vector k,
                          weights_.FindVector(prefix + "k_norm", rows ? shape_.n_kv_heads * d : d));
  layers_.back().push_back(blocks::NormParts(
      {{q, 0, rows ? 1 : shape_.n_heads}, {k, k_offset, rows ? 1 : shape_.n_kv_heads}}, eps_));
  return OkStatus();
}

// The matrix that ends a block. A norm of what it adds needs the whole row, so it is a step of its
// own and the product goes where the block's input no longer is needed.
Status NetworkBuilder::AddOutput(const Matrix& matrix, Vector bias, bool from_wide,
                                 const std::string& norm, NormPlace place, float scale) {
  StepList& steps = layers_.back();
  if (IsQuantized(matrix.format)) steps.push_back(blocks::QuantizeRows(matrix.cols, from_wide));
  if (place == NormPlace::kBefore) {
    steps.push_back(blocks::ProjectResidual(matrix, bias, scale, from_wide));
    return OkStatus();
  }
  KRAFLA_ASSIGN_OR_RETURN(const Vector vector, weights_.FindVector(norm, shape_.n_embd));
  steps.push_back(blocks::Project({{matrix, 0, bias}}, from_wide));
  steps.push_back(blocks::AddNormed(vector, eps_, scale, !from_wide));
  return OkStatus();
}

Status NetworkBuilder::AddAttention(const std::string& prefix, const AttentionTraits& traits) {
  const size_t n_q = shape_.n_heads * shape_.head_dim;
  const size_t n_kv = shape_.n_kv_heads * shape_.head_dim;
  KRAFLA_ASSIGN_OR_RETURN(const Matrix wq, weights_.FindMatrix(prefix + "wq", n_q, shape_.n_embd));
  KRAFLA_ASSIGN_OR_RETURN(const Matrix wk, weights_.FindMatrix(prefix + "wk", n_kv, shape_.n_embd));
  KRAFLA_ASSIGN_OR_RETURN(const Matrix wv, weights_.FindMatrix(prefix + "wv", n_kv, shape_.n_embd));
  KRAFLA_ASSIGN_OR_RETURN(const Matrix wo, weights_.FindMatrix(prefix + "wo", shape_.n_embd, n_q));
  KRAFLA_ASSIGN_OR_RETURN(const Vector bq, FindBias(prefix + "bq", traits.qkv_bias, n_q));
  KRAFLA_ASSIGN_OR_RETURN(const Vector bk, FindBias(prefix + "bk", traits.qkv_bias, n_kv));
  KRAFLA_ASSIGN_OR_RETURN(const Vector bv, FindBias(prefix + "bv", traits.qkv_bias, n_kv));
  KRAFLA_ASSIGN_OR_RETURN(const Vector bo, FindBias(prefix + "bo", traits.o_bias, shape_.n_embd));

  blocks::AttentionSizes sizes;
  sizes.layer = n_attending_++;
  sizes.n_heads = shape_.n_heads;
  sizes.n_kv_heads = shape_.n_kv_heads;
  sizes.head_dim = shape_.head_dim;
  if (traits.rope >= 0) {
    const auto table = static_cast<size_t>(traits.rope);
    sizes.rope_offset = rope_offsets_[table];
    sizes.n_rot = 2 * (rope_offsets_[table + 1] - rope_offsets_[table]);
  }
  sizes.k_offset = wq.padded_rows();
  sizes.v_offset = sizes.k_offset + wk.padded_rows();
  sizes.window = traits.window;
  sizes.scale = traits.scale;
  sizes.softcap = traits.softcap;
  if (traits.sinks) {
    KRAFLA_ASSIGN_OR_RETURN(sizes.sinks, weights_.FindVector(prefix + "sinks", sizes.n_heads));
  }
  std::vector<blocks::Projection> projections = {
      {wq, 0, bq}, {wk, sizes.k_offset, bk}, {wv, sizes.v_offset, bv}};
  const size_t gate_offset = sizes.v_offset + wv.padded_rows();
  if (traits.gate) {
    KRAFLA_ASSIGN_OR_RETURN(const Matrix wg,
                            weights_.FindMatrix(prefix + "wg", n_q, shape_.n_embd));
    projections.push_back({wg, gate_offset, {}});
  }
  bool quantized = false;
  for (const auto& p : projections) quantized |= IsQuantized(p.matrix.format);

  KRAFLA_RETURN_IF_ERROR(AddInput(prefix + "attn_norm", traits.norms, quantized));
  StepList& steps = layers_.back();
  steps.push_back(blocks::Project(std::move(projections), /*from_wide=*/false));
  KRAFLA_RETURN_IF_ERROR(AddQkNorm(prefix, traits.qk_norm, sizes.k_offset));
  steps.push_back(blocks::RopeAndStore(sizes));
  steps.push_back(blocks::Attend(sizes));
  steps.push_back(blocks::MergeBlocks(sizes));
  if (traits.gate) steps.push_back(blocks::GateOutput(gate_offset, n_q));
  return AddOutput(wo, bo, /*from_wide=*/false, prefix + "attn_post_norm", traits.norms,
                   traits.residual_scale);
}

Status NetworkBuilder::AddGatedFfn(const std::string& prefix, size_t n_ff,
                                   const FfnTraits& traits) {
  KRAFLA_ASSIGN_OR_RETURN(const Matrix gate,
                          weights_.FindMatrix(prefix + "w_gate", n_ff, shape_.n_embd));
  KRAFLA_ASSIGN_OR_RETURN(const Matrix up,
                          weights_.FindMatrix(prefix + "w_up", n_ff, shape_.n_embd));
  KRAFLA_ASSIGN_OR_RETURN(const Matrix down,
                          weights_.FindMatrix(prefix + "w_down", shape_.n_embd, n_ff));
  KRAFLA_ASSIGN_OR_RETURN(const Vector b_gate, FindBias(prefix + "b_gate", traits.bias, n_ff));
  KRAFLA_ASSIGN_OR_RETURN(const Vector b_up, FindBias(prefix + "b_up", traits.bias, n_ff));
  KRAFLA_ASSIGN_OR_RETURN(const Vector b_down,
                          FindBias(prefix + "b_down", traits.bias, shape_.n_embd));
  const bool quantized = IsQuantized(gate.format) || IsQuantized(up.format);
  KRAFLA_RETURN_IF_ERROR(AddInput(prefix + "ffn_norm", traits.norms, quantized));
  layers_.back().push_back(blocks::GateUp({gate, 0, b_gate}, {up, 0, b_up}, traits.activation));
  return AddOutput(down, b_down, /*from_wide=*/true, prefix + "ffn_post_norm", traits.norms,
                   traits.residual_scale);
}

Status NetworkBuilder::AddHead(std::string_view norm, std::string_view head, float scale,
                               float softcap) {
  KRAFLA_ASSIGN_OR_RETURN(const Vector vector, weights_.FindVector(norm, shape_.n_embd));
  KRAFLA_ASSIGN_OR_RETURN(const Matrix matrix,
                          weights_.FindMatrix(head, shape_.n_vocab, shape_.n_embd));
  head_.push_back(blocks::NormRows(vector, shape_.n_embd, eps_, IsQuantized(matrix.format),
                                   /*logit_rows=*/true));
  head_.push_back(blocks::HeadTiles(matrix, scale, softcap));
  return OkStatus();
}

std::unique_ptr<Network> NetworkBuilder::Finish() {
  auto network =
      std::make_unique<Network>(shape_, std::move(embed_), std::move(layers_), std::move(head_));
  network->set_residency(weights_.residency());
  return network;
}

}  // namespace krafla
