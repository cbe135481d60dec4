// The experts' products. Items are tiles of the experts that have rows in this batch; how many
// there are is known once the pairs are grouped.
#include "lib/model/blocks_experts.h"

#include <algorithm>
#include <cstring>

#include "lib/model/tiles.h"

namespace krafla::blocks {
namespace {

// The blocks of one expert's pairs lie together, as the kernels want them, and begin where no other
// expert's do, be they of rows or of units: an expert may be done before another begins.
ActBlock* BlocksFrom(const Pass& pass, size_t first_pair) {
  return pass.expert_blocks + first_pair * std::max(BlocksOf(pass.ldx), BlocksOf(pass.ld_units));
}

class GatherRowsStep final : public Step {
 public:
  GatherRowsStep(size_t width, size_t n_used, bool quantized, bool plain)
      : width_(width), n_used_(n_used), quantized_(quantized), plain_(plain) {}
  const char* name() const override { return "gather"; }
  StepWork Work(const Pass& pass) const override {
    return {pass.rows.size() * n_used_, 4 * width_, width_ / 4};
  }
  void Run(const Pass& pass, size_t begin, size_t end, size_t) const override {
    const size_t n = BlocksOf(width_);
    const Routes& routes = pass.routes;
    const uint32_t* next = std::upper_bound(routes.begin, routes.begin + *routes.n_hit, begin);
    for (size_t pair = begin; pair < end; ++pair) {
      if (pair == *next) ++next;
      const size_t first = next[-1];  // pair of this one's expert
      const size_t row = routes.row[pair];
      if (quantized_) {
        std::copy_n(pass.blocks + row * n, n, BlocksFrom(pass, first) + (pair - first) * n);
      }
      if (plain_) {
        std::copy_n(pass.act + row * pass.ld_act, width_, pass.expert_rows + pair * pass.ldx);
      }
    }
  }

 private:
  size_t width_;
  size_t n_used_;
  bool quantized_;
  bool plain_;
};

// The pairs of one expert of a batch, and the tiles of its matrices that an item range covers.
struct Share {
  size_t expert = 0;
  size_t first_pair = 0;
  size_t n_pairs = 0;
  size_t tile = 0;
  size_t n_tiles = 0;
  const std::byte* slot = nullptr;  // of the expert, where it is not with the model
};

size_t HitsOf(const Pass& pass) {
  return pass.wave != nullptr ? pass.wave->hits.size() : *pass.routes.n_hit;
}

// The i-th of HitsOf; no tiles yet.
Share ShareOf(const Pass& pass, size_t i) {
  const Routes& routes = pass.routes;
  const size_t hit = pass.wave != nullptr ? pass.wave->hits[i] : i;
  Share share{routes.hit[hit], routes.begin[hit], routes.begin[hit + 1] - routes.begin[hit]};
  if (pass.wave != nullptr) share.slot = pass.wave->slots[i];
  return share;
}

// Calls f(share) for each expert in [begin, end), items being (expert, tile).
template <typename F>
void ForEachShare(const Pass& pass, size_t tiles, size_t begin, size_t end, F f) {
  while (begin < end) {
    Share share = ShareOf(pass, begin / tiles);
    share.tile = begin % tiles;
    share.n_tiles = std::min(tiles - share.tile, end - begin);
    f(share);
    begin += share.n_tiles;
  }
}

StepWork ExpertWork(const Pass& pass, const ExpertMatrices& matrices, size_t n_matrices) {
  const size_t n_hit = HitsOf(pass);
  size_t n_pairs = 0;
  for (size_t i = 0; i < n_hit; ++i) n_pairs += ShareOf(pass, i).n_pairs;
  StepWork work = TileWork(matrices.at(0), n_matrices, n_pairs / std::max<size_t>(n_hit, 1) + 1);
  work.items *= n_hit;
  return work;
}

Activations PairsFrom(const Pass& pass, const ExpertMatrices& matrices, const float* x, size_t ldx,
                      const Share& share, size_t row) {
  return {x + (share.first_pair + row) * ldx, ldx,
          BlocksFrom(pass, share.first_pair) + row * BlocksOf(matrices.cols)};
}

Vector BiasOf(const ExpertProjection& p, size_t expert) {
  if (p.bias.size == 0) return {};
  return {p.bias.data + expert * p.matrices.rows, p.matrices.rows};
}

class ExpertGateUpStep final : public Step {
 public:
  ExpertGateUpStep(ExpertProjection gate, ExpertProjection up, ExpertActivation activation)
      : gate_(gate), up_(up), activation_(activation) {}
  const char* name() const override { return "experts: gate and up"; }
  StepInput Input() const override { return {{}, false, {&gate_.matrices, &up_.matrices}}; }
  StepWork Work(const Pass& pass) const override { return ExpertWork(pass, gate_.matrices, 2); }
  void Run(const Pass& pass, size_t begin, size_t end, size_t thread) const override {
    auto* up = pass.thread_scratch<float>(thread);
    ForEachShare(pass, gate_.matrices.n_tiles(), begin, end, [&](Share share) {
      const Matrix gate = gate_.matrices.at(share.expert, share.slot);
      InScratchPieces(gate, share.n_pairs, share.tile, share.tile + share.n_tiles,
                      [&](size_t row, size_t n_rows, size_t tile, size_t n_tiles) {
                        Piece(pass, share, row, n_rows, tile, n_tiles, up);
                      });
    });
  }

 private:
  void Piece(const Pass& pass, const Share& share, size_t row, size_t n_rows, size_t tile,
             size_t n_tiles, float* up) const {
    const size_t first = tile * kTileRows;
    const size_t width = n_tiles * kTileRows;
    const size_t pair = share.first_pair + row;
    float* out = pass.expert_units + pair * pass.ld_units;
    Multiply(gate_.matrices.at(share.expert, share.slot), tile, tile + n_tiles,
             PairsFrom(pass, gate_.matrices, pass.expert_rows, pass.ldx, share, row), n_rows, out,
             pass.ld_units);
    Multiply(Slice(up_.matrices.at(share.expert, share.slot), tile, n_tiles), 0, n_tiles,
             PairsFrom(pass, up_.matrices, pass.expert_rows, pass.ldx, share, row), n_rows, up,
             width);
    AddBias(BiasOf(gate_, share.expert), first, width, out + first, n_rows, pass.ld_units);
    AddBias(BiasOf(up_, share.expert), first, width, up, n_rows, width);
    for (size_t i = 0; i < n_rows; ++i) {
      Combine(out + i * pass.ld_units + first, up + i * width, width);
    }
  }
  void Combine(float* gate, const float* up, size_t n) const {
    if (activation_.swiglu_alpha > 0) {
      kernels::swiglu_clamped(gate, up, activation_.swiglu_alpha, activation_.swiglu_limit, n,
                              gate);
    } else {
      kernels::silu_mul(gate, up, n, gate);
    }
  }
  ExpertProjection gate_;
  ExpertProjection up_;
  ExpertActivation activation_;
};

class QuantizeUnitsStep final : public Step {
 public:
  explicit QuantizeUnitsStep(size_t width) : width_(width) {}
  const char* name() const override { return "experts: quantize"; }
  StepWork Work(const Pass& pass) const override {
    const size_t n = HitsOf(pass);
    size_t n_pairs = 0;
    for (size_t i = 0; i < n; ++i) n_pairs += ShareOf(pass, i).n_pairs;
    const size_t of_each = n_pairs / std::max<size_t>(n, 1) + 1;
    return {n * kParts, 4 * width_ * of_each / kParts, 2 * width_ * of_each / kParts};
  }
  void Run(const Pass& pass, size_t begin, size_t end, size_t) const override {
    const size_t n = BlocksOf(width_);
    for (size_t i = begin; i < end; ++i) {
      const Share share = ShareOf(pass, i / kParts);
      ActBlock* blocks = BlocksFrom(pass, share.first_pair);
      const size_t last = (i % kParts + 1) * share.n_pairs / kParts;
      for (size_t row = i % kParts * share.n_pairs / kParts; row < last; ++row) {
        kernels::quantize(pass.expert_units + (share.first_pair + row) * pass.ld_units, width_,
                          blocks + row * n);
      }
    }
  }

 private:
  static constexpr size_t kParts = 8;  // of an expert's pairs, for threads to share
  size_t width_;
};

class ExpertDownStep final : public Step {
 public:
  explicit ExpertDownStep(ExpertProjection down) : down_(down) {}
  const char* name() const override { return "experts: down"; }
  StepInput Input() const override { return {{}, true, {&down_.matrices}}; }
  StepWork Work(const Pass& pass) const override { return ExpertWork(pass, down_.matrices, 1); }
  void Run(const Pass& pass, size_t begin, size_t end, size_t) const override {
    ForEachShare(pass, down_.matrices.n_tiles(), begin, end, [&](Share share) {
      const Matrix down = down_.matrices.at(share.expert, share.slot);
      const size_t at_once = RowsAtOnce(down, share.n_pairs);
      const size_t first = share.tile * kTileRows;
      float* y = pass.expert_rows + share.first_pair * pass.ldx;
      for (size_t row = 0; row < share.n_pairs; row += at_once) {
        Multiply(down, share.tile, share.tile + share.n_tiles,
                 PairsFrom(pass, down_.matrices, pass.expert_units, pass.ld_units, share, row),
                 std::min(at_once, share.n_pairs - row), y + row * pass.ldx, pass.ldx);
      }
      AddBias(BiasOf(down_, share.expert), first, share.n_tiles * kTileRows, y + first,
              share.n_pairs, pass.ldx);
    });
  }

 private:
  ExpertProjection down_;
};

// The driver runs its parts (lib/model/expert_stream.h).
class StreamExpertsStep final : public Step {
 public:
  explicit StreamExpertsStep(StreamedLayer layer) : layer_(std::move(layer)) {}
  const char* name() const override { return "experts"; }
  StepWork Work(const Pass& pass) const override { return {*pass.routes.n_hit, 0, 0}; }
  void Run(const Pass&, size_t, size_t, size_t) const override {}
  const StreamedLayer* streamed() const override { return &layer_; }

 private:
  StreamedLayer layer_;
};

class CombineExpertsStep final : public Step {
 public:
  CombineExpertsStep(size_t width, size_t n_used, bool shared, float scale)
      : width_(width), n_used_(n_used), shared_(shared), scale_(scale) {}
  const char* name() const override { return "experts: combine"; }
  StepWork Work(const Pass& pass) const override {
    return {pass.rows.size(), 4 * width_ * (n_used_ + 2), width_ * (n_used_ + 2)};
  }
  void Run(const Pass& pass, size_t begin, size_t end, size_t) const override {
    for (size_t row = begin; row < end; ++row) {
      const uint32_t* pair = pass.routes.pair + row * n_used_;
      const float* weight = pass.routes.weight + row * n_used_;
      float* sum = pass.expert_rows + pair[0] * pass.ldx;
      for (size_t rank = 0; rank < n_used_; ++rank) {
        float* part = pass.expert_rows + pair[rank] * pass.ldx;
        kernels::scale(weight[rank], width_, part);
        if (rank > 0) kernels::add(part, width_, sum);
      }
      if (shared_) {
        float* part = pass.act + row * pass.ld_act;
        kernels::scale(pass.routes.shared[row], width_, part);
        kernels::add(part, width_, sum);
      }
      if (scale_ != 1.0F) kernels::scale(scale_, width_, sum);
      kernels::add(sum, width_, pass.x + row * pass.ldx);
    }
  }

 private:
  size_t width_;
  size_t n_used_;
  bool shared_;
  float scale_;
};

}  // namespace

std::unique_ptr<const Step> GatherRows(size_t width, size_t n_used, bool quantized, bool plain) {
  return std::make_unique<GatherRowsStep>(width, n_used, quantized, plain);
}

std::unique_ptr<const Step> ExpertGateUp(ExpertProjection gate, ExpertProjection up,
                                         ExpertActivation activation) {
  return std::make_unique<ExpertGateUpStep>(gate, up, activation);
}

std::unique_ptr<const Step> QuantizeUnits(size_t width) {
  return std::make_unique<QuantizeUnitsStep>(width);
}

std::unique_ptr<const Step> ExpertDown(ExpertProjection down) {
  return std::make_unique<ExpertDownStep>(down);
}

std::unique_ptr<const Step> StreamExperts(StreamedLayer layer) {
  return std::make_unique<StreamExpertsStep>(std::move(layer));
}

std::unique_ptr<const Step> CombineExperts(size_t width, size_t n_used, bool shared, float scale) {
  return std::make_unique<CombineExpertsStep>(width, n_used, shared, scale);
}

}  // namespace krafla::blocks
