// Scalable vectors cannot be members or array elements, so the vocabulary of generic/ is that of
// 128 bits; SVE itself is in this folder's kernels.
#ifndef KRAFLA_KERNELS_SVE_VEC_H_
#define KRAFLA_KERNELS_SVE_VEC_H_

#include "kernels/neon_i8mm/vec.h"

#endif  // KRAFLA_KERNELS_SVE_VEC_H_
