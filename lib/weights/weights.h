// The tensors of an open model in kernel layout: where the bytes of each matrix and vector are.
// Mapped files are used in place; read files are copied once into the runtime's memory.
#ifndef KRAFLA_LIB_WEIGHTS_WEIGHTS_H_
#define KRAFLA_LIB_WEIGHTS_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/file/mlb.h"
#include "lib/quant/format.h"
#include "lib/runtime/runtime.h"
#include "lib/weights/residency/residency.h"

namespace krafla {

// [rows][cols] in tiles of 16 rows.
struct Matrix {
  Format format = Format::kF32;
  size_t rows = 0;
  size_t cols = 0;
  const void* tiles = nullptr;
  // Of a layer that a Residency keeps, `tiles` is null.
  const std::byte* const* layer = nullptr;  // where the layer's bytes are now
  uint64_t in_layer = 0;                    // where the matrix lies in them

  const void* data() const { return layer != nullptr ? *layer + in_layer : tiles; }
  size_t n_tiles() const { return (rows + 15) / 16; }
  size_t padded_rows() const { return n_tiles() * 16; }
};

// Matrices of one shape, one for each expert.
struct ExpertMatrices {
  Format format = Format::kF32;
  size_t experts = 0;
  size_t rows = 0;
  size_t cols = 0;
  const std::byte* first = nullptr;
  uint64_t stride = 0;  // bytes from one expert's matrix to the next
  // Of experts that a Residency keeps, `first` is null.
  int32_t layer = -1;      // of its layout
  uint64_t in_expert = 0;  // where the matrix lies in an expert's bytes

  size_t n_tiles() const { return (rows + 15) / 16; }
  // slot: the expert's bytes, where a Residency keeps it.
  Matrix at(size_t expert, const std::byte* slot = nullptr) const {
    return {format, rows, cols, slot != nullptr ? slot + in_expert : first + expert * stride};
  }
};

struct Vector {
  const float* data = nullptr;
  size_t size = 0;
};

// done and total in bytes of all tensors; those used in place are done at once, the others come in
// steps of at most 4 MiB. Non-zero stops the load with CallbackError.
using LoadProgress = int (*)(void* user, uint64_t done, uint64_t total);

class Weights {
 public:
  // Experts, or layers, that are not all in memory: kept by a Residency, the other tensors are
  // read.
  struct Stream {
    ResidencyOptions options;
    size_t experts_used = 0;  // of a layer for one token
  };
  // Keeps the file. Where the source is in memory (mapped, or the host's with 64-byte alignment)
  // tensors are used in place; the others are read into one buffer of kind kWeights.
  static StatusOr<std::unique_ptr<Weights>> Load(std::shared_ptr<Runtime> runtime,
                                                 std::unique_ptr<MlbFile> file,
                                                 LoadProgress progress, void* user,
                                                 const Stream* stream = nullptr);

  // Bytes of that buffer where no tensor can be used in place.
  static uint64_t ReadBytes(const MlbFile& file);

  // FileError names a missing tensor or a shape that is not the wanted one.
  StatusOr<Matrix> FindMatrix(std::string_view name, size_t rows, size_t cols) const;
  StatusOr<ExpertMatrices> FindExperts(std::string_view name, size_t experts, size_t rows,
                                       size_t cols) const;
  StatusOr<Vector> FindVector(std::string_view name, size_t size) const;

  // Null where all tensors are in memory or mapped.
  Residency* residency() const { return residency_.get(); }

  // The bytes of the i-th tensor of file().tensors(), where the kernels read them; of what a
  // Residency keeps none.
  std::span<const std::byte> bytes(size_t i) const;

  const MlbFile& file() const { return *file_; }
  MlbFile& file() { return *file_; }

 private:
  Weights() = default;
  bool is_streamed(size_t i) const;
  std::shared_ptr<Runtime> runtime_;
  std::unique_ptr<MlbFile> file_;
  Buffer read_;
  std::vector<const std::byte*> locations_;  // in the order of file().tensors()
  std::unique_ptr<Residency> residency_;
};

// y[t * ldy + row] for the tiles [tile_begin, tile_end) of m; the one place that picks a kernel by
// format. Quantised formats read `blocks` ([n_tokens][cols / 32 rounded up], from
// kernels::quantize), others `x`.
struct Activations {
  const float* x = nullptr;  // [n_tokens][ldx]
  size_t ldx = 0;
  const struct ActBlock* blocks = nullptr;
};
void Multiply(const Matrix& m, size_t tile_begin, size_t tile_end, const Activations& in,
              size_t n_tokens, float* y, size_t ldy);
void GetRow(const Matrix& m, size_t row, float* y);

}  // namespace krafla

#endif  // KRAFLA_LIB_WEIGHTS_WEIGHTS_H_
