// Conversions of rows between f32, f16 and bf16. f16 is the instruction set's own where it has one;
// bf16 is done with integers, since few have it.
#include "kernels/generic/loops.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

// Integer rounding to nearest even in the upper half; a NaN keeps its payload and becomes quiet.
inline I32 narrow_bf16(F32 x) {
  const I32 bits = as_int(x), upper = shift_right<16>(bits);
  const I32 rounded = shift_right<16>(bits + splat_int(0x7fff) + (upper & splat_int(1)));
  const F32 magnitude = as_float(bits & splat_int(0x7fffffff));
  // A number lies below infinity or is it; as integers both are equal or less, a NaN is neither.
  const Mask finite = less(magnitude, as_float(splat_int(0x7f800000)));
  const Mask infinite = equal(as_int(magnitude), splat_int(0x7f800000));
  const F32 nan = as_float(upper | splat_int(0x40));
  return as_int(select(finite, as_float(rounded), select(infinite, as_float(rounded), nan)));
}

}  // namespace

void f32_to_f16(const float* x, size_t n, uint16_t* y) {
  for_vectors(n, [=](size_t i, auto count) { store_f16(y + i, load(x + i, count), count); });
}

void f16_to_f32(const uint16_t* x, size_t n, float* y) {
  for_vectors(n, [=](size_t i, auto count) { store(y + i, load_f16(x + i, count), count); });
}

void f32_to_bf16(const float* x, size_t n, uint16_t* y) {
  for_vectors(
      n, [=](size_t i, auto count) { store_low16(y + i, narrow_bf16(load(x + i, count)), count); });
}

void bf16_to_f32(const uint16_t* x, size_t n, float* y) {
  for_vectors(n, [=](size_t i, auto count) { store(y + i, load_bf16(x + i, count), count); });
}

}  // namespace krafla::KRAFLA_KERNELS
