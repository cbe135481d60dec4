// The first n lanes of a vector of 16-bit elements, n <= kLanes, on sets without masks for them:
// the others load as zero and are not stored; no byte of theirs is touched. For the end of a set's
// own header, whose whole vectors these copy.
#ifndef KRAFLA_KERNELS_GENERIC_HALF_TAILS_H_
#define KRAFLA_KERNELS_GENERIC_HALF_TAILS_H_

namespace krafla::KRAFLA_KERNELS {
namespace {

inline F32 load_f16(const uint16_t* p, size_t n) {
  uint16_t h[kLanes] = {};
  memcpy(h, p, n * sizeof *h);
  return load_f16(h);
}
inline F32 load_bf16(const uint16_t* p, size_t n) {
  uint16_t h[kLanes] = {};
  memcpy(h, p, n * sizeof *h);
  return load_bf16(h);
}
inline void store_f16(uint16_t* p, F32 a, size_t n) {
  uint16_t h[kLanes];
  store_f16(h, a);
  memcpy(p, h, n * sizeof *h);
}
inline void store_low16(uint16_t* p, I32 a, size_t n) {
  uint16_t h[kLanes];
  store_low16(h, a);
  memcpy(p, h, n * sizeof *h);
}

}  // namespace
}  // namespace krafla::KRAFLA_KERNELS

#endif  // KRAFLA_KERNELS_GENERIC_HALF_TAILS_H_
