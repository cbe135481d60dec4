// Steps whose items are tiles of 16 output rows: every multiplication with a weight matrix.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "kernels/kernels.h"
#include "lib/model/blocks.h"
#include "lib/model/tiles.h"

namespace krafla::blocks {
namespace {

class ProjectStep final : public Step {
 public:
  ProjectStep(std::vector<Projection> projections, bool from_wide)
      : projections_(std::move(projections)), from_wide_(from_wide) {}
  const char* name() const override { return "project"; }
  StepInput Input() const override {
    StepInput input{{}, from_wide_};
    for (const Projection& p : projections_) input.matrices.push_back(&p.matrix);
    return input;
  }
  StepWork Work(const Pass& pass) const override {
    StepWork work = TileWork(projections_.front().matrix, 1, pass.rows.size());
    for (size_t i = 1; i < projections_.size(); ++i) work.items += projections_[i].matrix.n_tiles();
    return work;
  }
  void Run(const Pass& pass, size_t begin, size_t end, size_t) const override {
    size_t first = 0;  // item of the projection's tile 0
    for (const Projection& p : projections_) {
      const size_t last = first + p.matrix.n_tiles();
      if (begin < last && end > first) {
        Multiplied(pass, p, std::max(begin, first) - first, std::min(end, last) - first);
      }
      first = last;
    }
  }

 private:
  void Multiplied(const Pass& pass, const Projection& p, size_t begin, size_t end) const {
    const size_t n_rows = pass.rows.size();
    const size_t at_once = RowsAtOnce(p.matrix, n_rows);
    const size_t ldy = from_wide_ ? pass.ld_act : pass.ld_wide;
    float* y = (from_wide_ ? pass.act : pass.wide) + p.offset;
    for (size_t row = 0; row < n_rows; row += at_once) {
      Multiply(p.matrix, begin, end, From(pass, p.matrix, from_wide_, row),
               std::min(at_once, n_rows - row), y + row * ldy, ldy);
    }
    AddBias(p.bias, begin * kTileRows, (end - begin) * kTileRows, y + begin * kTileRows, n_rows,
            ldy);
  }
  std::vector<Projection> projections_;
  bool from_wide_;
};

class ProjectResidualStep final : public Step {
 public:
  ProjectResidualStep(Matrix matrix, Vector bias, float scale, bool from_wide)
      : matrix_(matrix), bias_(bias), scale_(scale), from_wide_(from_wide) {}
  const char* name() const override { return from_wide_ ? "down" : "attention out"; }
  StepInput Input() const override { return {{&matrix_}, from_wide_}; }
  StepWork Work(const Pass& pass) const override { return TileWork(matrix_, 1, pass.rows.size()); }
  void Run(const Pass& pass, size_t begin, size_t end, size_t thread) const override {
    auto* y = pass.thread_scratch<float>(thread);
    InScratchPieces(matrix_, pass.rows.size(), begin, end,
                    [&](size_t row, size_t n_rows, size_t tile, size_t n_tiles) {
                      const size_t width = n_tiles * kTileRows;
                      Multiply(Slice(matrix_, tile, n_tiles), 0, n_tiles,
                               From(pass, matrix_, from_wide_, row), n_rows, y, width);
                      AddBias(bias_, tile * kTileRows, width, y, n_rows, width);
                      if (scale_ != 1.0F) kernels::scale(scale_, n_rows * width, y);
                      for (size_t i = 0; i < n_rows; ++i) {
                        kernels::add(y + i * width, width,
                                     pass.x + (row + i) * pass.ldx + tile * kTileRows);
                      }
                    });
  }

 private:
  Matrix matrix_;
  Vector bias_;
  float scale_;
  bool from_wide_;
};

class GateUpStep final : public Step {
 public:
  GateUpStep(Projection gate, Projection up, Activation activation)
      : gate_(gate), up_(up), activation_(activation) {}
  const char* name() const override { return "gate and up"; }
  StepInput Input() const override { return {{&gate_.matrix, &up_.matrix}, false}; }
  StepWork Work(const Pass& pass) const override {
    return TileWork(gate_.matrix, 2, pass.rows.size());
  }
  void Run(const Pass& pass, size_t begin, size_t end, size_t thread) const override {
    auto* up = pass.thread_scratch<float>(thread);
    InScratchPieces(gate_.matrix, pass.rows.size(), begin, end,
                    [&](size_t row, size_t n_rows, size_t tile, size_t n_tiles) {
                      const size_t first = tile * kTileRows;
                      const size_t width = n_tiles * kTileRows;
                      float* out = pass.wide + row * pass.ld_wide;
                      Multiply(gate_.matrix, tile, tile + n_tiles,
                               From(pass, gate_.matrix, false, row), n_rows, out, pass.ld_wide);
                      Multiply(Slice(up_.matrix, tile, n_tiles), 0, n_tiles,
                               From(pass, up_.matrix, false, row), n_rows, up, width);
                      AddBias(gate_.bias, first, width, out + first, n_rows, pass.ld_wide);
                      AddBias(up_.bias, first, width, up, n_rows, width);
                      for (size_t i = 0; i < n_rows; ++i) {
                        Combine(out + i * pass.ld_wide + first, up + i * width, width);
                      }
                    });
  }

 private:
  void Combine(float* gate, const float* up, size_t n) const {
    if (activation_ == Activation::kSilu) {
      kernels::silu_mul(gate, up, n, gate);
    } else {
      kernels::gelu_tanh_mul(gate, up, n, gate);
    }
  }
  Projection gate_;
  Projection up_;
  Activation activation_;
};

class HeadStep final : public Step {
 public:
  HeadStep(Matrix head, float scale, float softcap)
      : head_(head), scale_(scale), softcap_(softcap) {}
  const char* name() const override { return "head"; }
  StepWork Work(const Pass& pass) const override {
    return TileWork(head_, 1, pass.logit_rows.size());
  }
  void Run(const Pass& pass, size_t begin, size_t end, size_t) const override {
    Multiply(head_, begin, end, From(pass, head_, false, 0), pass.logit_rows.size(), pass.logits,
             pass.ld_logits);
    const size_t width = (end - begin) * kTileRows;
    for (size_t i = 0; i < pass.logit_rows.size(); ++i) {
      Finish(pass.logits + i * pass.ld_logits + begin * kTileRows, width);
    }
  }

 private:
  void Finish(float* logits, size_t n) const {
    if (scale_ != 1.0F) kernels::scale(scale_, n, logits);
    if (softcap_ > 0.0F) {
      kernels::scale(1.0F / softcap_, n, logits);
      kernels::map_tanh(logits, n, logits);
      kernels::scale(softcap_, n, logits);
    }
  }
  Matrix head_;
  float scale_;
  float softcap_;
};

}  // namespace

std::unique_ptr<const Step> Project(std::vector<Projection> projections, bool from_wide) {
  return std::make_unique<ProjectStep>(std::move(projections), from_wide);
}

std::unique_ptr<const Step> ProjectResidual(Matrix matrix, Vector bias, float scale,
                                            bool from_wide) {
  return std::make_unique<ProjectResidualStep>(matrix, bias, scale, from_wide);
}

std::unique_ptr<const Step> GateUp(Projection gate, Projection up, Activation activation) {
  return std::make_unique<GateUpStep>(gate, up, activation);
}

std::unique_ptr<const Step> HeadTiles(Matrix head, float scale, float softcap) {
  return std::make_unique<HeadStep>(head, scale, softcap);
}

}  // namespace krafla::blocks
