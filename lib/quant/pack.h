// One packer a format: 16 rows of finite f32 into a tile (see format.h), and the steps of a block
// that tests and the GGUF packers share.
#ifndef KRAFLA_LIB_QUANT_PACK_H_
#define KRAFLA_LIB_QUANT_PACK_H_

#include <cstddef>
#include <cstdint>

#include "lib/base/status.h"
#include "lib/quant/format.h"

namespace krafla {

Status PackF32(const float* rows, size_t ld, size_t n_rows, size_t cols, void* tile);
Status PackF16(const float* rows, size_t ld, size_t n_rows, size_t cols, void* tile);
Status PackBF16(const float* rows, size_t ld, size_t n_rows, size_t cols, void* tile);
Status PackQ8(const float* rows, size_t ld, size_t n_rows, size_t cols, void* tile);
Status PackQ4(const float* rows, size_t ld, size_t n_rows, size_t cols, void* tile);
Status PackAffine(Format format, AffineSolver solver, const float* rows, size_t ld, size_t n_rows,
                  size_t cols, void* tile);

// Scale and codes of one row into its lane of a tile-block.
void StoreBlockQ8(void* tile_block, size_t row, uint16_t d, const int8_t q[32]);
void StoreBlockQ4(void* tile_block, size_t row, uint16_t d, const int8_t q[32]);

// Of a row; the weight of an element x in a fit without data is sqrt(this + x^2).
float MeanSquare(const float* x, size_t n);

// To nearest even for |x| < 2^22: adding 1.5 x 2^23 leaves no bits for a fraction.
inline float RoundEven(float x) { return (x + 12582912.0f) - 12582912.0f; }

inline float Clamp(float x, float low, float high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}

}  // namespace krafla

#endif  // KRAFLA_LIB_QUANT_PACK_H_
