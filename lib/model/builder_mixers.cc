// The builder's part for mixtures of experts and gated delta nets.
#include <utility>

#include "lib/model/blocks.h"
#include "lib/model/blocks_delta.h"
#include "lib/model/blocks_experts.h"
#include "lib/model/router_guess.h"

namespace krafla {

// act = w_down (silu(w_gate n) * (w_up n)) of the expert that all rows use.
Status NetworkBuilder::AddSharedExpert(const std::string& prefix, size_t n_ff) {
  const size_t n_embd = shape_.n_embd;
  KRAFLA_ASSIGN_OR_RETURN(const Matrix gate, weights_.FindMatrix(prefix + "w_gate", n_ff, n_embd));
  KRAFLA_ASSIGN_OR_RETURN(const Matrix up, weights_.FindMatrix(prefix + "w_up", n_ff, n_embd));
  KRAFLA_ASSIGN_OR_RETURN(const Matrix down, weights_.FindMatrix(prefix + "w_down", n_embd, n_ff));
  StepList& steps = layers_.back();
  steps.push_back(blocks::GateUp({gate, 0, {}}, {up, 0, {}}, Activation::kSilu));
  if (IsQuantized(down.format)) steps.push_back(blocks::QuantizeRows(n_ff, /*from_wide=*/true));
  steps.push_back(blocks::Project({{down, 0, {}}}, /*from_wide=*/true));
  return OkStatus();
}

Status NetworkBuilder::AddExperts(const std::string& prefix, const ExpertTraits& traits) {
  const size_t n = shape_.n_embd;
  const size_t n_ff = shape_.n_ff_expert;
  const size_t experts = shape_.n_experts;
  const size_t used = shape_.n_experts_used;
  KRAFLA_ASSIGN_OR_RETURN(const Matrix router, weights_.FindMatrix(prefix + "router", experts, n));
  KRAFLA_ASSIGN_OR_RETURN(const Vector bias,
                          FindBias(prefix + "router_bias", traits.router_bias, experts));
  const auto find = [&](const char* name, const char* bias_name, size_t rows,
                        size_t cols) -> StatusOr<blocks::ExpertProjection> {
    blocks::ExpertProjection p;
    KRAFLA_ASSIGN_OR_RETURN(p.matrices,
                            weights_.FindExperts(prefix + "experts." + name, experts, rows, cols));
    KRAFLA_ASSIGN_OR_RETURN(
        p.bias, FindBias(prefix + "experts." + bias_name, traits.biases, experts * rows));
    return p;
  };
  KRAFLA_ASSIGN_OR_RETURN(const blocks::ExpertProjection gate, find("w_gate", "b_gate", n_ff, n));
  KRAFLA_ASSIGN_OR_RETURN(const blocks::ExpertProjection up, find("w_up", "b_up", n_ff, n));
  KRAFLA_ASSIGN_OR_RETURN(const blocks::ExpertProjection down, find("w_down", "b_down", n, n_ff));
  blocks::RouteSizes route{experts, used, traits.router, traits.norm_topk, {}, {}};
  const bool of_choice = traits.router == Router::kSigmoid;
  if (of_choice) route.bias = bias;
  if (traits.n_ff_shared > 0) {
    KRAFLA_ASSIGN_OR_RETURN(route.shared_gate, weights_.FindVector(prefix + "shared.gate", n));
  }
  const bool quantized = IsQuantized(gate.matrices.format) || IsQuantized(up.matrices.format);
  const bool plain = !IsQuantized(gate.matrices.format) || !IsQuantized(up.matrices.format);

  // The shared expert reads the blocks too.
  KRAFLA_RETURN_IF_ERROR(AddInput(prefix + "ffn_norm", NormPlace::kBefore, /*quantized=*/true));
  StepList& steps = layers_.back();
  steps.push_back(blocks::Project({{router, 0, of_choice ? Vector() : bias}}, /*from_wide=*/false));
  steps.push_back(blocks::Route(route));
  steps.push_back(blocks::GroupPairs(experts, used));
  steps.push_back(blocks::GatherRows(n, used, quantized, plain));
  StreamedLayer streamed;
  const bool streams = gate.matrices.layer >= 0;
  StepList& products = streams ? streamed.parts : steps;
  products.push_back(blocks::ExpertGateUp(gate, up, {traits.swiglu_alpha, traits.swiglu_limit}));
  if (IsQuantized(down.matrices.format)) products.push_back(blocks::QuantizeUnits(n_ff));
  products.push_back(blocks::ExpertDown(down));
  if (streams) {
    if (up.matrices.layer != gate.matrices.layer || down.matrices.layer != gate.matrices.layer) {
      return UnsupportedError(
          "{}: {}experts: gate, up and down of an expert lie apart, so that one "
          "read does not bring them: convert the model again",
          weights_.file().source().name(), prefix);
    }
    if (next_router_ != nullptr && !IsQuantized(router.format)) {
      KRAFLA_ASSIGN_OR_RETURN(const Vector norm, weights_.FindVector(prefix + "ffn_norm", n));
      next_router_->emplace(static_cast<size_t>(gate.matrices.layer), norm, eps_, router, bias,
                            used);
    }
    next_router_ = std::make_shared<std::optional<RouterGuess>>();
    streamed.next = next_router_;
    streamed.residency = weights_.residency();
    streamed.layer = static_cast<size_t>(gate.matrices.layer);
    steps.push_back(blocks::StreamExperts(std::move(streamed)));
  }
  const bool shared = traits.n_ff_shared > 0;
  if (shared) KRAFLA_RETURN_IF_ERROR(AddSharedExpert(prefix + "shared.", traits.n_ff_shared));
  layers_.back().push_back(blocks::CombineExperts(n, used, shared, traits.residual_scale));
  return OkStatus();
}

Status NetworkBuilder::AddDelta(const std::string& prefix, const DeltaTraits& traits) {
  const size_t n = shape_.n_embd;
  const std::string own = prefix + "delta.";
  const auto matrix = [&](const char* name, size_t rows) {
    return weights_.FindMatrix(own + name, rows, n);
  };
  KRAFLA_ASSIGN_OR_RETURN(const Matrix wq, matrix("wq", traits.keys()));
  KRAFLA_ASSIGN_OR_RETURN(const Matrix wk, matrix("wk", traits.keys()));
  KRAFLA_ASSIGN_OR_RETURN(const Matrix wv, matrix("wv", traits.values()));
  KRAFLA_ASSIGN_OR_RETURN(const Matrix wz, matrix("wz", traits.values()));
  KRAFLA_ASSIGN_OR_RETURN(const Matrix wa, matrix("wa", traits.v_heads));
  KRAFLA_ASSIGN_OR_RETURN(const Matrix wb, matrix("wb", traits.v_heads));
  KRAFLA_ASSIGN_OR_RETURN(const Matrix wo, weights_.FindMatrix(own + "wo", n, traits.values()));
  KRAFLA_ASSIGN_OR_RETURN(const Vector conv,
                          weights_.FindVector(own + "conv", traits.taps * traits.channels()));
  KRAFLA_ASSIGN_OR_RETURN(const Vector a, weights_.FindVector(own + "a", traits.v_heads));
  KRAFLA_ASSIGN_OR_RETURN(const Vector dt_bias,
                          weights_.FindVector(own + "dt_bias", traits.v_heads));
  KRAFLA_ASSIGN_OR_RETURN(const Vector norm, weights_.FindVector(own + "norm", traits.v_dim));
  const blocks::DeltaLayout layout(traits, n_deltas_++);
  const bool quantized = IsQuantized(wq.format) || IsQuantized(wk.format) ||
                         IsQuantized(wv.format) || IsQuantized(wz.format);
  KRAFLA_RETURN_IF_ERROR(AddInput(prefix + "attn_norm", NormPlace::kBefore, quantized));
  StepList& steps = layers_.back();
  steps.push_back(blocks::Project({{wq, layout.q, {}},
                                   {wk, layout.k, {}},
                                   {wv, layout.v, {}},
                                   {wz, layout.z, {}},
                                   {wa, layout.decay, {}},
                                   {wb, layout.beta, {}}},
                                  /*from_wide=*/false));
  steps.push_back(blocks::DeltaTrace(layout));
  steps.push_back(blocks::DeltaConvolve(layout, conv));
  steps.push_back(blocks::DeltaPrepare(layout, a, dt_bias));
  steps.push_back(blocks::DeltaRule(layout));
  steps.push_back(blocks::DeltaGate(layout, norm, eps_));
  return AddOutput(wo, Vector(), /*from_wide=*/false, "", NormPlace::kBefore, 1);
}

}  // namespace krafla
