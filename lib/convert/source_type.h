// The element types that a checkpoint's weights come in, and their decoding to f32: exactly the
// values that ggml's reference code gives, operation by operation.
#ifndef KRAFLA_LIB_CONVERT_SOURCE_TYPE_H_
#define KRAFLA_LIB_CONVERT_SOURCE_TYPE_H_

#include <cstdint>
#include <string_view>

#include "lib/quant/format.h"

namespace krafla {

// kOther: a type that cannot be a weight here; only its name and its bytes are known.
enum class SourceType : uint8_t {
  kF32,
  kF16,
  kBF16,
  kF64,
  kQ8_0,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kQ8_K,
  kIQ4_NL,
  kIQ4_XS,
  kMXFP4,
  kOther
};

struct SourceTypeSize {
  uint64_t block;  // elements of a row that are stored together
  uint64_t block_bytes;
};
SourceTypeSize SizeOf(SourceType type);  // kOther: {1, 1}

inline constexpr std::string_view kSafetensorsWeightTypes = "F32 F16 BF16 F64";
inline constexpr std::string_view kGgufWeightTypes =
    "F32 F16 BF16 F64 Q8_0 Q4_0 Q4_1 Q5_0 Q5_1 Q2_K Q3_K Q4_K Q5_K Q6_K Q8_K IQ4_NL IQ4_XS MXFP4";

// n elements, a multiple of the type's block, from raw (little-endian, unaligned) into out. F64 is
// rounded to the nearest f32; all else is exact or ggml's own arithmetic. Not for kOther.
void DecodeElements(SourceType type, const void* raw, uint64_t n, float* out);

// Types whose blocks of 32 are s * q + m: the bits of q, 4 or 5; 0: another type. Their n elements
// into n / 32 blocks.
int AffineBits(SourceType type);
void DecodeAffine(SourceType type, const void* raw, uint64_t n, AffineBlock* out);

}  // namespace krafla

#endif  // KRAFLA_LIB_CONVERT_SOURCE_TYPE_H_
