// The kernels of one set as function pointers: the only place where two sets meet in one program.
// table.cc is compiled for the build's instruction set and once more for the scalar reference.
#ifndef KRAFLA_TESTS_KERNELS_TABLE_H_
#define KRAFLA_TESTS_KERNELS_TABLE_H_

#include "kernels/kernels.h"

namespace krafla {

using MatmulQuant = void (*)(const void*, size_t, size_t, size_t, const ActBlock*, size_t, float*,
                             size_t);
using MatmulFloat = void (*)(const void*, size_t, size_t, size_t, const float*, size_t, size_t,
                             float*, size_t);
using GetRow = void (*)(const void*, size_t, size_t, float*);
using Map = void (*)(const float*, size_t, float*);
using Gated = void (*)(const float*, const float*, size_t, float*);
using Narrow = void (*)(const float*, size_t, uint16_t*);
using Widen = void (*)(const uint16_t*, size_t, float*);
using Attend = void (*)(const AttendArgs&);

struct KernelTable {
  const char* (*isa_name)();
  const char* (*missing_feature)();
  MatmulQuant matmul_q8, matmul_q4;
  MatmulFloat matmul_f32, matmul_f16, matmul_bf16;
  GetRow get_row_q8, get_row_q4, get_row_f32, get_row_f16, get_row_bf16;
  void (*quantize)(const float*, size_t, ActBlock*);
  void (*rms_norm)(const float*, const float*, size_t, float, float*);
  Map add, mul;
  void (*scale)(float, size_t, float*);
  float (*dot)(const float*, const float*, size_t);
  void (*swiglu_clamped)(const float*, const float*, float, float, size_t, float*);
  Gated silu_mul, gelu_tanh_mul, gelu_erf_mul;
  void (*rope)(float*, size_t, size_t, size_t, const float*, const float*);
  Map map_exp, map_sigmoid, map_tanh, map_erf, map_log1p, map_softplus;
  Narrow f32_to_f16, f32_to_bf16;
  Widen f16_to_f32, bf16_to_f32;
  Attend attend_keys_f32, attend_keys_f16, attend_keys_q8, attend_keys_q6, attend_keys_q4;
  Attend attend_values_f32, attend_values_f16, attend_values_q8, attend_values_q6, attend_values_q4;
  void (*attend_merge)(float, float, const float*, size_t, float*, float*, float*);
  void (*attend_finish)(float, size_t, float*);
  void (*pack_keys)(size_t, const uint16_t*, size_t, void*);
  void (*pack_values)(size_t, const float*, size_t, size_t, void*);
  void (*hadamard)(float*, size_t);
  void (*conv_silu)(float*, size_t, size_t, size_t, const float*, size_t, size_t, float*, size_t);
  void (*gated_delta)(const DeltaArgs&);
  uint64_t (*measure_read)(const void*, size_t);
  uint64_t (*measure_int8)(uint64_t);
  MatmulQuant matmul_affine[6];  // q4a, q4a64, q6a, q6a64, q8a, q8a64
  GetRow get_row_affine[6];
};

namespace kernels {
const KernelTable& table();
}
namespace scalar_reference {
const KernelTable& table();
}

}  // namespace krafla

#endif  // KRAFLA_TESTS_KERNELS_TABLE_H_
