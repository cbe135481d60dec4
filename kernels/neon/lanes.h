// What AArch64 adds to the lanes that both widths of ARM share: division, square root, rounding and
// half precision in hardware.
#ifndef KRAFLA_KERNELS_NEON_LANES_H_
#define KRAFLA_KERNELS_NEON_LANES_H_

#include "kernels/arm/lanes.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

constexpr size_t kFloatTokens = 6;       // tokens of a float tile: 24 of 32 registers
constexpr size_t kAttendQueries = 6;     // queries that share keys and values: 12 chains
constexpr size_t kAttendWide = 2;        // vectors of each of them
constexpr size_t kPrefetchBytes = 2048;  // how far ahead of a stream of weights

inline F32 operator/(F32 a, F32 b) { return {vdivq_f32(a.v, b.v)}; }
inline F32 sqrt(F32 a) { return {vsqrtq_f32(a.v)}; }
inline I32 round_to_int(F32 a) { return {vcvtnq_s32_f32(a.v)}; }

inline F32 load_f16(const uint16_t* p) { return {vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)))}; }
inline void store_f16(uint16_t* p, F32 a) { vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(a.v))); }

inline int32_t fold_sum(I32 a) { return vaddvq_s32(a.v); }

}  // namespace
}  // namespace krafla::KRAFLA_KERNELS

#include "kernels/generic/float_tails.h"
#include "kernels/generic/half_tails.h"

#endif  // KRAFLA_KERNELS_NEON_LANES_H_
