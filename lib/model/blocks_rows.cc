// Steps whose items are rows: embedding, rotary tables, norm and quantisation.
#include <algorithm>
#include <utility>

#include "kernels/kernels.h"
#include "lib/model/blocks.h"
#include "lib/model/rope.h"

namespace krafla::blocks {
namespace {

class EmbedStep final : public Step {
 public:
  explicit EmbedStep(Matrix embed) : embed_(embed) {}
  const char* name() const override { return "embed"; }
  StepWork Work(const Pass& pass) const override {
    return {pass.rows.size(), 4 * embed_.cols, embed_.cols};
  }
  void Run(const Pass& pass, size_t begin, size_t end, size_t) const override {
    for (size_t i = begin; i < end; ++i) {
      float* x = pass.x + i * pass.ldx;
      GetRow(embed_, static_cast<size_t>(pass.rows[i].token), x);
      std::fill(x + embed_.cols, x + pass.ldx, 0.0F);
    }
  }

 private:
  Matrix embed_;
};

class RopeTablesStep final : public Step {
 public:
  explicit RopeTablesStep(std::vector<float> frequencies) : frequencies_(std::move(frequencies)) {}
  const char* name() const override { return "rope tables"; }
  StepWork Work(const Pass& pass) const override {
    return {pass.rows.size(), 0, 400 * frequencies_.size()};  // sin and cos in double
  }
  void Run(const Pass& pass, size_t begin, size_t end, size_t) const override {
    const size_t n = frequencies_.size();
    for (size_t i = begin; i < end; ++i) {
      RopeAngles(frequencies_, pass.rows[i].position, pass.rope_cos + i * n, pass.rope_sin + i * n);
    }
  }

 private:
  std::vector<float> frequencies_;
};

class NormStep final : public Step {
 public:
  NormStep(Vector norm, float eps, bool quantized, bool logit_rows)
      : norm_(norm), eps_(eps), quantized_(quantized), logit_rows_(logit_rows) {}
  const char* name() const override { return logit_rows_ ? "head norm" : "norm"; }
  StepWork Work(const Pass& pass) const override {
    return {logit_rows_ ? pass.logit_rows.size() : pass.rows.size(), 4 * norm_.size,
            4 * norm_.size};
  }
  void Run(const Pass& pass, size_t begin, size_t end, size_t) const override {
    for (size_t i = begin; i < end; ++i) {
      const size_t row = logit_rows_ ? pass.logit_rows[i] : i;
      float* act = pass.act + i * pass.ld_act;
      kernels::rms_norm(pass.x + row * pass.ldx, norm_.data, norm_.size, eps_, act);
      if (quantized_) {
        kernels::quantize(act, norm_.size, pass.blocks + i * BlocksOf(norm_.size));
      }
    }
  }

 private:
  Vector norm_;
  float eps_;
  bool quantized_;
  bool logit_rows_;
};

class QuantizeStep final : public Step {
 public:
  QuantizeStep(size_t width, bool from_wide) : width_(width), from_wide_(from_wide) {}
  const char* name() const override { return from_wide_ ? "quantize units" : "quantize"; }
  StepWork Work(const Pass& pass) const override {
    return {pass.rows.size(), 4 * width_, 2 * width_};
  }
  void Run(const Pass& pass, size_t begin, size_t end, size_t) const override {
    for (size_t i = begin; i < end; ++i) {
      const float* row = from_wide_ ? pass.wide + i * pass.ld_wide : pass.act + i * pass.ld_act;
      kernels::quantize(row, width_, pass.blocks + i * BlocksOf(width_));
    }
  }

 private:
  size_t width_;
  bool from_wide_;
};

}  // namespace

std::unique_ptr<const Step> Embed(Matrix embed) { return std::make_unique<EmbedStep>(embed); }

std::unique_ptr<const Step> RopeTables(std::vector<float> frequencies) {
  return std::make_unique<RopeTablesStep>(std::move(frequencies));
}

std::unique_ptr<const Step> NormRows(Vector norm, float eps, bool quantized, bool logit_rows) {
  return std::make_unique<NormStep>(norm, eps, quantized, logit_rows);
}

std::unique_ptr<const Step> QuantizeRows(size_t width, bool from_wide) {
  return std::make_unique<QuantizeStep>(width, from_wide);
}

}  // namespace krafla::blocks
