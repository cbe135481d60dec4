// Steps whose items are rows: embedding, rotary tables, norm and quantisation.
#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/kernels.h"
#include "lib/model/blocks.h"
#include "lib/model/rope.h"

namespace krafla::blocks {
namespace {

class EmbedStep final : public Step {
 public:
  EmbedStep(Matrix embed, float scale) : embed_(embed), scale_(scale) {}
  const char* name() const override { return "embed"; }
  StepWork Work(const Pass& pass) const override {
    return {pass.rows.size(), 4 * embed_.cols, embed_.cols};
  }
  void Run(const Pass& pass, size_t begin, size_t end, size_t) const override {
    for (size_t i = begin; i < end; ++i) {
      float* x = pass.x + i * pass.ldx;
      GetRow(embed_, static_cast<size_t>(pass.rows[i].token), x);
      if (scale_ != 1.0F) kernels::scale(scale_, embed_.cols, x);
      std::fill(x + embed_.cols, x + pass.ldx, 0.0F);
    }
  }

 private:
  Matrix embed_;
  float scale_;
};

class RopeTablesStep final : public Step {
 public:
  explicit RopeTablesStep(std::vector<RopeTable> tables) : tables_(std::move(tables)) {}
  const char* name() const override { return "rope tables"; }
  StepWork Work(const Pass& pass) const override {
    return {pass.rows.size(), 0, 400 * pass.ld_rope};  // sin and cos in double
  }
  void Run(const Pass& pass, size_t begin, size_t end, size_t) const override {
    for (size_t i = begin; i < end; ++i) {
      const PassRow& row = pass.rows[i];
      const int64_t context = pass.sequences[row.sequence].state->context();
      size_t at = i * pass.ld_rope;
      for (const RopeTable& table : tables_) {
        const std::vector<float>& frequencies = table.in_context(context);
        RopeAngles(frequencies, row.position, table.factor, pass.rope_cos + at, pass.rope_sin + at);
        at += frequencies.size();
      }
    }
  }

 private:
  std::vector<RopeTable> tables_;
};

class NormStep final : public Step {
 public:
  NormStep(Vector norm, size_t width, float eps, bool quantized, bool logit_rows)
      : norm_(norm), width_(width), eps_(eps), quantized_(quantized), logit_rows_(logit_rows) {}
  const char* name() const override { return logit_rows_ ? "head norm" : "norm"; }
  StepWork Work(const Pass& pass) const override {
    return {logit_rows_ ? pass.logit_rows.size() : pass.rows.size(), 4 * width_, 4 * width_};
  }
  void Run(const Pass& pass, size_t begin, size_t end, size_t) const override {
    for (size_t i = begin; i < end; ++i) {
      const size_t row = logit_rows_ ? pass.logit_rows[i] : i;
      const float* x = pass.x + row * pass.ldx;
      float* act = pass.act + i * pass.ld_act;
      if (norm_.data == nullptr) {
        std::memcpy(act, x, width_ * sizeof(float));
      } else {
        kernels::rms_norm(x, norm_.data, width_, eps_, act);
      }
      if (quantized_) kernels::quantize(act, width_, pass.blocks + i * BlocksOf(width_));
    }
  }

 private:
  Vector norm_;
  size_t width_;
  float eps_;
  bool quantized_;
  bool logit_rows_;
};

class NormPartsStep final : public Step {
 public:
  NormPartsStep(std::vector<NormPart> parts, float eps) : parts_(std::move(parts)), eps_(eps) {}
  const char* name() const override { return "norm of q and k"; }
  StepWork Work(const Pass& pass) const override {
    size_t n = 0;
    for (const NormPart& part : parts_) n += part.count * part.norm.size;
    return {pass.rows.size(), 4 * n, 4 * n};
  }
  void Run(const Pass& pass, size_t begin, size_t end, size_t) const override {
    for (size_t i = begin; i < end; ++i) {
      for (const NormPart& part : parts_) {
        float* row = pass.wide + i * pass.ld_wide + part.offset;
        for (size_t j = 0; j < part.count; ++j, row += part.norm.size) {
          kernels::rms_norm(row, part.norm.data, part.norm.size, eps_, row);
        }
      }
    }
  }

 private:
  std::vector<NormPart> parts_;
  float eps_;
};

class AddNormedStep final : public Step {
 public:
  AddNormedStep(Vector norm, float eps, float scale, bool from_wide)
      : norm_(norm), eps_(eps), scale_(scale), from_wide_(from_wide) {}
  const char* name() const override { return "add normed"; }
  StepWork Work(const Pass& pass) const override {
    return {pass.rows.size(), 8 * norm_.size, 4 * norm_.size};
  }
  void Run(const Pass& pass, size_t begin, size_t end, size_t) const override {
    for (size_t i = begin; i < end; ++i) {
      float* row = from_wide_ ? pass.wide + i * pass.ld_wide : pass.act + i * pass.ld_act;
      kernels::rms_norm(row, norm_.data, norm_.size, eps_, row);
      if (scale_ != 1.0F) kernels::scale(scale_, norm_.size, row);
      kernels::add(row, norm_.size, pass.x + i * pass.ldx);
    }
  }

 private:
  Vector norm_;
  float eps_;
  float scale_;
  bool from_wide_;
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

class GateOutputStep final : public Step {
 public:
  GateOutputStep(size_t offset, size_t width) : offset_(offset), width_(width) {}
  const char* name() const override { return "attention gate"; }
  StepWork Work(const Pass& pass) const override {
    return {pass.rows.size(), 8 * width_, 12 * width_};
  }
  void Run(const Pass& pass, size_t begin, size_t end, size_t) const override {
    for (size_t i = begin; i < end; ++i) {
      float* gate = pass.wide + i * pass.ld_wide + offset_;
      kernels::map_sigmoid(gate, width_, gate);
      kernels::mul(gate, width_, pass.act + i * pass.ld_act);
    }
  }

 private:
  size_t offset_;
  size_t width_;
};

}  // namespace

std::unique_ptr<const Step> GateOutput(size_t offset, size_t width) {
  return std::make_unique<GateOutputStep>(offset, width);
}

std::unique_ptr<const Step> Embed(Matrix embed, float scale) {
  return std::make_unique<EmbedStep>(embed, scale);
}

std::unique_ptr<const Step> RopeTables(std::vector<RopeTable> tables) {
  return std::make_unique<RopeTablesStep>(std::move(tables));
}

std::unique_ptr<const Step> NormRows(Vector norm, size_t width, float eps, bool quantized,
                                     bool logit_rows) {
  return std::make_unique<NormStep>(norm, width, eps, quantized, logit_rows);
}

std::unique_ptr<const Step> NormParts(std::vector<NormPart> parts, float eps) {
  return std::make_unique<NormPartsStep>(std::move(parts), eps);
}

std::unique_ptr<const Step> AddNormed(Vector norm, float eps, float scale, bool from_wide) {
  return std::make_unique<AddNormedStep>(norm, eps, scale, from_wide);
}

std::unique_ptr<const Step> QuantizeRows(size_t width, bool from_wide) {
  return std::make_unique<QuantizeStep>(width, from_wide);
}

}  // namespace krafla::blocks
