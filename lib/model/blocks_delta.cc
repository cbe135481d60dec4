// The steps of a gated delta net. The convolution's and the rule's items are parts of a sequence's
// state: an item copies its part from the committed copy to the one being written, then works
// there.
#include "lib/model/blocks_delta.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/kernels.h"

namespace krafla {

DeltaTraits DeltaTraitsOf(const Config& config) {
  return {static_cast<size_t>(config.delta_k_heads), static_cast<size_t>(config.delta_v_heads),
          static_cast<size_t>(config.delta_k_dim),   static_cast<size_t>(config.delta_v_dim),
          static_cast<size_t>(config.delta_taps),    config.delta_tiled};
}

namespace blocks {
namespace {

constexpr size_t kChannels = 64;  // of one item of the convolution

// n floats of the state that a pass writes, holding what they were before it.
float* TakeState(const PassSequence& sequence, uint64_t offset, size_t n) {
  std::byte* out = sequence.state->recurrent_out() + offset;
  const std::byte* in = sequence.state->recurrent_in() + offset;
  const size_t bytes = n * sizeof(float);
  if (sequence.position == 0) {
    std::memset(out, 0, bytes);
  } else if (in != out) {
    std::memcpy(out, in, bytes);
  }
  return reinterpret_cast<float*>(out);
}

size_t RowsPerSequence(const Pass& pass) {
  return pass.rows.size() / std::max<size_t>(pass.sequences.size(), 1) + 1;
}

class DeltaTraceStep final : public Step {
 public:
  explicit DeltaTraceStep(const DeltaLayout& layout) : l_(layout) {}
  const char* name() const override { return "trace"; }
  StepWork Work(const Pass& pass) const override {
    const bool any = std::any_of(pass.sequences.begin(), pass.sequences.end(),
                                 [](const PassSequence& s) { return s.state->tracing(); });
    return {any ? pass.sequences.size() : 0, kHeadRows * l_.end * sizeof(float), 0};
  }
  void Run(const Pass& pass, size_t begin, size_t end, size_t) const override {
    for (size_t i = begin; i < end; ++i) {
      const PassSequence& sequence = pass.sequences[i];
      if (!sequence.state->tracing()) continue;
      float* out = sequence.state->trace() + l_.layer * kHeadRows * l_.end;
      for (size_t row = 0; row < sequence.n_rows; ++row) {
        std::memcpy(out + row * l_.end, pass.wide + (sequence.first_row + row) * pass.ld_wide,
                    l_.end * sizeof(float));
      }
    }
  }

 private:
  DeltaLayout l_;
};

class DeltaConvolveStep final : public Step {
 public:
  DeltaConvolveStep(const DeltaLayout& layout, Vector weights) : l_(layout), weights_(weights) {
    const size_t parts[][2] = {{l_.q, l_.t.keys()}, {l_.k, l_.t.keys()}, {l_.v, l_.t.values()}};
    size_t channel = 0;
    for (const auto& [offset, size] : parts) {
      for (size_t c = 0; c < size; c += kChannels) {
        runs_.push_back({offset + c, channel + c, std::min(kChannels, size - c)});
      }
      channel += size;
    }
  }
  const char* name() const override { return "convolve"; }
  bool FromTrace() const override { return true; }
  StepWork Work(const Pass& pass) const override {
    const size_t rows = RowsPerSequence(pass);
    return {pass.sequences.size() * runs_.size(), kChannels * 8,
            rows * kChannels * (l_.t.taps + 12)};
  }
  void Run(const Pass& pass, size_t begin, size_t end, size_t) const override {
    const size_t channels = l_.t.channels();
    const uint64_t tail_offset = l_.state + l_.t.v_heads * l_.t.head_floats() * sizeof(float);
    for (size_t i = begin; i < end; ++i) {
      const PassSequence& sequence = pass.sequences[i / runs_.size()];
      const ChannelRun& run = runs_[i % runs_.size()];
      float* tail = nullptr;  // rows of all channels
      for (size_t j = l_.t.taps - 1; j-- > 0;) {
        tail =
            TakeState(sequence, tail_offset + (j * channels + run.channel) * sizeof(float), run.n);
      }
      kernels::conv_silu(pass.wide + sequence.first_row * pass.ld_wide + run.offset, pass.ld_wide,
                         sequence.n_rows, run.n, weights_.data + run.channel, channels, l_.t.taps,
                         tail, channels);
    }
  }

 private:
  struct ChannelRun {
    size_t offset;  // in a row of Pass::wide
    size_t channel;
    size_t n;
  };
  DeltaLayout l_;
  Vector weights_;  // [taps][channels]
  std::vector<ChannelRun> runs_;
};

// x / sqrt(sum x^2 + eps) is a norm of the mean with eps / n and weights 1 / sqrt(n); queries have
// the factor 1 / sqrt(n) of attention too.
class DeltaPrepareStep final : public Step {
 public:
  DeltaPrepareStep(const DeltaLayout& layout, Vector a, Vector dt_bias)
      : l_(layout), a_(a), dt_bias_(dt_bias) {
    const auto n = static_cast<double>(l_.t.k_dim);
    q_weights_.assign(l_.t.k_dim, static_cast<float>(1 / n));
    k_weights_.assign(l_.t.k_dim, static_cast<float>(1 / std::sqrt(n)));
    eps_ = static_cast<float>(1e-6 / n);
  }
  const char* name() const override { return "decay and norms"; }
  bool FromTrace() const override { return true; }
  StepWork Work(const Pass& pass) const override {
    return {pass.rows.size(), 0, 10 * l_.t.keys() + 60 * l_.t.v_heads};
  }
  void Run(const Pass& pass, size_t begin, size_t end, size_t) const override {
    const size_t d = l_.t.k_dim;
    for (size_t row = begin; row < end; ++row) {
      float* wide = pass.wide + row * pass.ld_wide;
      for (size_t h = 0; h < l_.t.k_heads; ++h) {
        float* q = wide + l_.q + h * d;
        float* k = wide + l_.k + h * d;
        kernels::rms_norm(q, q_weights_.data(), d, eps_, q);
        kernels::rms_norm(k, k_weights_.data(), d, eps_, k);
        wide[l_.qk + h] = kernels::dot(q, k, d);
      }
      float* decay = wide + l_.decay;
      kernels::add(dt_bias_.data, l_.t.v_heads, decay);
      kernels::map_softplus(decay, l_.t.v_heads, decay);
      kernels::mul(a_.data, l_.t.v_heads, decay);
      kernels::map_exp(decay, l_.t.v_heads, decay);
      kernels::map_sigmoid(wide + l_.beta, l_.t.v_heads, wide + l_.beta);
    }
  }

 private:
  DeltaLayout l_;
  Vector a_;
  Vector dt_bias_;
  std::vector<float> q_weights_;
  std::vector<float> k_weights_;
  float eps_ = 0;
};

class DeltaRuleStep final : public Step {
 public:
  explicit DeltaRuleStep(const DeltaLayout& layout) : l_(layout) {}
  const char* name() const override { return "delta rule"; }
  bool FromTrace() const override { return true; }
  StepWork Work(const Pass& pass) const override {
    const size_t cells = l_.t.k_dim * kDeltaColumns;
    return {pass.sequences.size() * l_.t.v_heads * l_.t.column_tiles(), 8 * cells,
            RowsPerSequence(pass) * cells * 5};
  }
  void Run(const Pass& pass, size_t begin, size_t end, size_t) const override {
    const size_t tiles = l_.t.column_tiles();
    for (size_t i = begin; i < end; ++i) {
      RunTile(pass, pass.sequences[i / tiles / l_.t.v_heads], i / tiles % l_.t.v_heads, i % tiles);
    }
  }

 private:
  void RunTile(const Pass& pass, const PassSequence& sequence, size_t head, size_t tile) const {
    const size_t cells = l_.t.k_dim * kDeltaColumns;
    const size_t per_k = l_.t.v_heads / l_.t.k_heads;
    const size_t k_head = l_.t.tiled ? head % l_.t.k_heads : head / per_k;
    const float* wide = pass.wide + sequence.first_row * pass.ld_wide;
    DeltaArgs args{};
    args.n_tokens = sequence.n_rows;
    args.ld = pass.ld_wide;
    args.q = wide + l_.q + k_head * l_.t.k_dim;
    args.k = wide + l_.k + k_head * l_.t.k_dim;
    args.qk = wide + l_.qk + k_head;
    args.decay = wide + l_.decay + head;
    args.beta = wide + l_.beta + head;
    args.v = pass.wide + sequence.first_row * pass.ld_wide + l_.v + head * l_.t.v_dim +
             tile * kDeltaColumns;
    args.head_dim = l_.t.k_dim;
    args.n_columns = std::min(kDeltaColumns, l_.t.v_dim - tile * kDeltaColumns);
    const size_t at = head * l_.t.head_floats() + tile * cells;
    args.state = TakeState(sequence, l_.state + at * sizeof(float), cells);
    kernels::gated_delta(args);
  }
  DeltaLayout l_;
};

class DeltaGateStep final : public Step {
 public:
  DeltaGateStep(const DeltaLayout& layout, Vector norm, float eps)
      : l_(layout), norm_(norm), eps_(eps) {}
  const char* name() const override { return "delta gate"; }
  StepWork Work(const Pass& pass) const override {
    return {pass.rows.size(), 0, 20 * l_.t.values()};
  }
  void Run(const Pass& pass, size_t begin, size_t end, size_t) const override {
    const size_t d = l_.t.v_dim;
    for (size_t row = begin; row < end; ++row) {
      float* wide = pass.wide + row * pass.ld_wide;
      float* act = pass.act + row * pass.ld_act;
      for (size_t h = 0; h < l_.t.v_heads; ++h) {
        float* o = wide + l_.v + h * d;
        kernels::rms_norm(o, norm_.data, d, eps_, o);
        kernels::silu_mul(wide + l_.z + h * d, o, d, act + h * d);
      }
    }
  }

 private:
  DeltaLayout l_;
  Vector norm_;
  float eps_;
};

}  // namespace

DeltaLayout::DeltaLayout(const DeltaTraits& traits, size_t which)
    : t(traits), layer(which), state(which * traits.state_floats() * sizeof(float)) {
  k = PadTo16(t.keys());
  v = k + PadTo16(t.keys());
  z = v + PadTo16(t.values());
  decay = z + PadTo16(t.values());
  beta = decay + PadTo16(t.v_heads);
  qk = beta + PadTo16(t.v_heads);
  end = qk + PadTo16(t.k_heads);
}

std::unique_ptr<const Step> DeltaTrace(const DeltaLayout& layout) {
  return std::make_unique<DeltaTraceStep>(layout);
}

std::unique_ptr<const Step> DeltaConvolve(const DeltaLayout& layout, Vector weights) {
  return std::make_unique<DeltaConvolveStep>(layout, weights);
}

std::unique_ptr<const Step> DeltaPrepare(const DeltaLayout& layout, Vector a, Vector dt_bias) {
  return std::make_unique<DeltaPrepareStep>(layout, a, dt_bias);
}

std::unique_ptr<const Step> DeltaRule(const DeltaLayout& layout) {
  return std::make_unique<DeltaRuleStep>(layout);
}

std::unique_ptr<const Step> DeltaGate(const DeltaLayout& layout, Vector norm, float eps) {
  return std::make_unique<DeltaGateStep>(layout, norm, eps);
}

}  // namespace blocks
}  // namespace krafla
