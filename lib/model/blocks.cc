// The builder: looks tensors up and lists the steps of embedding, attention, feed-forward and head.
#include "lib/model/blocks.h"

#include <algorithm>
#include <utility>

namespace krafla {

NetworkShape DecoderShape(const Config& config) {
  NetworkShape shape;
  shape.n_layers = static_cast<size_t>(config.n_layers);
  shape.n_embd = static_cast<size_t>(config.n_embd);
  shape.n_vocab = static_cast<size_t>(config.n_vocab);
  shape.n_heads = static_cast<size_t>(config.n_heads);
  shape.n_kv_heads = static_cast<size_t>(config.n_kv_heads);
  shape.head_dim = static_cast<size_t>(config.head_dim);
  shape.n_rot = shape.head_dim;
  const size_t n_q = shape.n_heads * shape.head_dim;
  const size_t n_kv = shape.n_kv_heads * shape.head_dim;
  const auto n_ff = static_cast<size_t>(config.n_ff);
  shape.act_width = std::max(shape.n_embd, n_q);
  shape.quantized_width = std::max(shape.act_width, n_ff);
  shape.wide = std::max(PadTo16(n_q) + 2 * PadTo16(n_kv), PadTo16(n_ff));
  return shape;
}

Status NetworkBuilder::AddEmbed(std::string_view embed, std::vector<float> rope_frequencies) {
  KRAFLA_ASSIGN_OR_RETURN(const Matrix matrix,
                          weights_.FindMatrix(embed, shape_.n_vocab, shape_.n_embd));
  embed_.push_back(blocks::Embed(matrix));
  embed_.push_back(blocks::RopeTables(std::move(rope_frequencies)));
  return OkStatus();
}

void NetworkBuilder::BeginLayer() { layers_.emplace_back(); }

Status NetworkBuilder::AddAttention(const std::string& prefix, float scale) {
  const size_t n_q = shape_.n_heads * shape_.head_dim;
  const size_t n_kv = shape_.n_kv_heads * shape_.head_dim;
  KRAFLA_ASSIGN_OR_RETURN(const Vector norm,
                          weights_.FindVector(prefix + "attn_norm", shape_.n_embd));
  KRAFLA_ASSIGN_OR_RETURN(const Matrix wq, weights_.FindMatrix(prefix + "wq", n_q, shape_.n_embd));
  KRAFLA_ASSIGN_OR_RETURN(const Matrix wk, weights_.FindMatrix(prefix + "wk", n_kv, shape_.n_embd));
  KRAFLA_ASSIGN_OR_RETURN(const Matrix wv, weights_.FindMatrix(prefix + "wv", n_kv, shape_.n_embd));
  KRAFLA_ASSIGN_OR_RETURN(const Matrix wo, weights_.FindMatrix(prefix + "wo", shape_.n_embd, n_q));

  blocks::AttentionSizes sizes;
  sizes.layer = layers_.size() - 1;
  sizes.n_heads = shape_.n_heads;
  sizes.n_kv_heads = shape_.n_kv_heads;
  sizes.head_dim = shape_.head_dim;
  sizes.n_rot = shape_.n_rot;
  sizes.k_offset = wq.padded_rows();
  sizes.v_offset = sizes.k_offset + wk.padded_rows();
  sizes.scale = scale;
  const bool quantized = IsQuantized(wq.format) || IsQuantized(wk.format) || IsQuantized(wv.format);

  StepList& steps = layers_.back();
  steps.push_back(blocks::NormRows(norm, eps_, quantized, /*logit_rows=*/false));
  steps.push_back(blocks::Project({{wq, 0}, {wk, sizes.k_offset}, {wv, sizes.v_offset}}));
  steps.push_back(blocks::RopeAndStore(sizes));
  steps.push_back(blocks::Attend(sizes));
  steps.push_back(blocks::MergeBlocks(sizes));
  if (IsQuantized(wo.format)) steps.push_back(blocks::QuantizeRows(n_q, /*from_wide=*/false));
  steps.push_back(blocks::ProjectResidual(wo, /*from_wide=*/false));
  return OkStatus();
}

Status NetworkBuilder::AddGatedFfn(const std::string& prefix, size_t n_ff) {
  KRAFLA_ASSIGN_OR_RETURN(const Vector norm,
                          weights_.FindVector(prefix + "ffn_norm", shape_.n_embd));
  KRAFLA_ASSIGN_OR_RETURN(const Matrix gate,
                          weights_.FindMatrix(prefix + "w_gate", n_ff, shape_.n_embd));
  KRAFLA_ASSIGN_OR_RETURN(const Matrix up,
                          weights_.FindMatrix(prefix + "w_up", n_ff, shape_.n_embd));
  KRAFLA_ASSIGN_OR_RETURN(const Matrix down,
                          weights_.FindMatrix(prefix + "w_down", shape_.n_embd, n_ff));
  StepList& steps = layers_.back();
  const bool quantized = IsQuantized(gate.format) || IsQuantized(up.format);
  steps.push_back(blocks::NormRows(norm, eps_, quantized, /*logit_rows=*/false));
  steps.push_back(blocks::GateUp(gate, up));
  if (IsQuantized(down.format)) steps.push_back(blocks::QuantizeRows(n_ff, /*from_wide=*/true));
  steps.push_back(blocks::ProjectResidual(down, /*from_wide=*/true));
  return OkStatus();
}

Status NetworkBuilder::AddHead(std::string_view norm, std::string_view head) {
  KRAFLA_ASSIGN_OR_RETURN(const Vector vector, weights_.FindVector(norm, shape_.n_embd));
  KRAFLA_ASSIGN_OR_RETURN(const Matrix matrix,
                          weights_.FindMatrix(head, shape_.n_vocab, shape_.n_embd));
  head_.push_back(blocks::NormRows(vector, eps_, IsQuantized(matrix.format), /*logit_rows=*/true));
  head_.push_back(blocks::HeadTiles(matrix));
  return OkStatus();
}

std::unique_ptr<Network> NetworkBuilder::Finish() {
  return std::make_unique<Network>(shape_, std::move(embed_), std::move(layers_), std::move(head_));
}

}  // namespace krafla
