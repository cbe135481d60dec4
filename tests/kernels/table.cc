// One set's functions, whichever KRAFLA_KERNELS names.
#include "tests/kernels/table.h"

namespace krafla::KRAFLA_KERNELS {

const KernelTable& table() {
  static const KernelTable functions = {
      isa_name,
      missing_feature,
      matmul_q8,
      matmul_q4,
      matmul_f32,
      matmul_f16,
      matmul_bf16,
      get_row_q8,
      get_row_q4,
      get_row_f32,
      get_row_f16,
      get_row_bf16,
      quantize,
      rms_norm,
      add,
      mul,
      scale,
      silu_mul,
      gelu_tanh_mul,
      gelu_erf_mul,
      rope,
      map_exp,
      map_sigmoid,
      map_tanh,
      map_erf,
      map_log1p,
      map_softplus,
      f32_to_f16,
      f32_to_bf16,
      f16_to_f32,
      bf16_to_f32,
      attend_keys_f32,
      attend_keys_f16,
      attend_keys_q8,
      attend_keys_q6,
      attend_keys_q4,
      attend_values_f32,
      attend_values_f16,
      attend_values_q8,
      attend_values_q6,
      attend_values_q4,
      attend_merge,
      attend_finish,
      pack_keys,
      pack_values,
      hadamard,
      measure_read,
      measure_int8,
      {matmul_q4a, matmul_q4a64, matmul_q6a, matmul_q6a64, matmul_q8a, matmul_q8a64},
      {get_row_q4a, get_row_q4a64, get_row_q6a, get_row_q6a64, get_row_q8a, get_row_q8a64}};
  return functions;
}

}  // namespace krafla::KRAFLA_KERNELS
