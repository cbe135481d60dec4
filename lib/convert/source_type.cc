// One function a block type: a block's bytes to its elements. Each writes its product and its sum
// in the order of ggml's dequantize_row_*, so that the floats are the same (-ffp-contract=off).
#include "lib/convert/source_type.h"

#include <cstddef>
#include <cstring>

#include "lib/quant/half.h"

namespace krafla {
namespace {

template <typename T>
T Load(const unsigned char* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}
float Half(const unsigned char* p) { return F16ToF32(Load<uint16_t>(p)); }
float Signed(unsigned char byte) { return static_cast<float>(static_cast<int8_t>(byte)); }

// Blocks of 32: low nibbles hold elements 0..15, high ones 16..31.

void DecodeQ8_0(const unsigned char* p, float* out) {
  const float d = Half(p);
  for (size_t i = 0; i < 32; i++) out[i] = d * Signed(p[2 + i]);
}

void DecodeQ4_0(const unsigned char* p, float* out) {
  const float d = Half(p);
  for (size_t i = 0; i < 16; i++) {
    out[i] = d * static_cast<float>((p[2 + i] & 15) - 8);
    out[16 + i] = d * static_cast<float>((p[2 + i] >> 4) - 8);
  }
}

void DecodeQ4_1(const unsigned char* p, float* out) {
  const float d = Half(p);
  const float m = Half(p + 2);
  for (size_t i = 0; i < 16; i++) {
    out[i] = d * static_cast<float>(p[4 + i] & 15) + m;
    out[16 + i] = d * static_cast<float>(p[4 + i] >> 4) + m;
  }
}

// Element i of a Q5 block: its fifth bit is bit i of `high`.
int FiveBits(const unsigned char* q, uint32_t high, size_t i) {
  const int low = i < 16 ? q[i] & 15 : q[i - 16] >> 4;
  return low | static_cast<int>(high >> i & 1) << 4;
}

void DecodeQ5_0(const unsigned char* p, float* out) {
  const float d = Half(p);
  const auto high = Load<uint32_t>(p + 2);
  for (size_t i = 0; i < 32; i++) out[i] = d * static_cast<float>(FiveBits(p + 6, high, i) - 16);
}

void DecodeQ5_1(const unsigned char* p, float* out) {
  const float d = Half(p);
  const float m = Half(p + 2);
  const auto high = Load<uint32_t>(p + 4);
  for (size_t i = 0; i < 32; i++) out[i] = d * static_cast<float>(FiveBits(p + 8, high, i)) + m;
}

constexpr int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                   1,    13,   25,  38,  53,  69,  89,  113};

void DecodeIq4(const unsigned char* q, float d, float* out) {
  for (size_t i = 0; i < 16; i++) {
    out[i] = d * static_cast<float>(kIq4Values[q[i] & 15]);
    out[16 + i] = d * static_cast<float>(kIq4Values[q[i] >> 4]);
  }
}

void DecodeIQ4_NL(const unsigned char* p, float* out) { DecodeIq4(p + 2, Half(p), out); }

// A power of two and 16 floats of 4 bits. Exact: a half of what the integers give, but for the
// smallest powers, where 2^-127 is a denormal.
void DecodeMXFP4(const unsigned char* p, float* out) {
  constexpr float kValues[16] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6, 0, -0.5F, -1, -1.5F, -2, -3, -4, -6};
  const uint32_t bits = *p == 0 ? uint32_t{1} << 22 : uint32_t{*p} << 23;  // 2^(p - 127)
  float scale;
  std::memcpy(&scale, &bits, sizeof scale);
  for (size_t i = 0; i < 16; i++) {
    out[i] = scale * kValues[p[1 + i] & 15];
    out[16 + i] = scale * kValues[p[1 + i] >> 4];
  }
}

// Super-blocks of 256 with scales of their own every 16 or 32 elements.

void DecodeIQ4_XS(const unsigned char* p, float* out) {
  const float d = Half(p);
  const auto high = Load<uint16_t>(p + 2);
  for (size_t b = 0; b < 8; b++) {
    const int low = p[4 + b / 2] >> (4 * (b % 2)) & 15;
    const int scale = (low | (high >> (2 * b) & 3) << 4) - 32;
    DecodeIq4(p + 8 + 16 * b, d * static_cast<float>(scale), out + 32 * b);
  }
}

// Two bits an element: bytes 32 h to 32 h + 31 hold elements 128 h to 128 h + 127, bit pair j those
// from 32 j on.
int TwoBits(const unsigned char* q, size_t i) {
  return q[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
}

void DecodeQ2_K(const unsigned char* p, float* out) {
  const float d = Half(p + 80);
  const float min = Half(p + 82);
  for (size_t i = 0; i < 256; i += 16) {
    const float scale = d * static_cast<float>(p[i / 16] & 15);
    const float offset = min * static_cast<float>(p[i / 16] >> 4);
    for (size_t j = i; j < i + 16; j++) {
      out[j] = scale * static_cast<float>(TwoBits(p + 16, j)) - offset;
    }
  }
}

void DecodeQ3_K(const unsigned char* p, float* out) {
  const unsigned char* scales = p + 96;
  const float d = Half(p + 108);
  for (size_t b = 0; b < 16; b++) {
    const int low = b < 8 ? scales[b] & 15 : scales[b - 8] >> 4;
    const int high = scales[8 + b % 4] >> (2 * (b / 4)) & 3;
    const float scale = d * static_cast<float>((low | high << 4) - 32);
    for (size_t j = 16 * b; j < 16 * b + 16; j++) {
      const int third = p[j % 32] >> (j / 32) & 1;  // clear: 4 less
      out[j] = scale * static_cast<float>(TwoBits(p + 32, j) - (third != 0 ? 0 : 4));
    }
  }
}

// Scale and minimum of sub-block b out of 12 bytes of six-bit numbers.
struct ScaleMin {
  float scale;
  float min;
};
ScaleMin SixBits(const unsigned char* q, size_t b) {
  if (b < 4) return {static_cast<float>(q[b] & 63), static_cast<float>(q[b + 4] & 63)};
  return {static_cast<float>((q[b + 4] & 15) | q[b - 4] >> 6 << 4),
          static_cast<float>(q[b + 4] >> 4 | q[b] >> 6 << 4)};
}

// Q4_K and Q5_K: `high` has the fifth bits, or is null.
void DecodeQ45_K(const unsigned char* p, const unsigned char* high, const unsigned char* low,
                 float* out) {
  const float d = Half(p);
  const float min = Half(p + 2);
  for (size_t b = 0; b < 8; b++) {
    const ScaleMin six = SixBits(p + 4, b);
    const float scale = d * six.scale;
    const float offset = min * six.min;
    const unsigned char* q = low + b / 2 * 32;
    for (size_t i = 0; i < 32; i++) {
      int code = b % 2 == 0 ? q[i] & 15 : q[i] >> 4;
      if (high != nullptr) code += (high[i] >> b & 1) << 4;
      out[32 * b + i] = scale * static_cast<float>(code) - offset;
    }
  }
}

// The same without the last step: each sub-block's scale, offset and codes.
void AffineQ45_K(const unsigned char* p, const unsigned char* high, const unsigned char* low,
                 AffineBlock* out) {
  for (size_t b = 0; b < 8; b++) {
    const ScaleMin six = SixBits(p + 4, b);
    out[b].s = Half(p) * six.scale;
    out[b].m = -(Half(p + 2) * six.min);
    const unsigned char* q = low + b / 2 * 32;
    for (size_t i = 0; i < 32; i++) {
      int code = b % 2 == 0 ? q[i] & 15 : q[i] >> 4;
      if (high != nullptr) code += (high[i] >> b & 1) << 4;
      out[b].q[i] = static_cast<uint8_t>(code);
    }
  }
}

AffineBlock AffineOf32(float s, float m, const unsigned char* q, uint32_t high) {
  AffineBlock block{s, m, {}};
  for (size_t i = 0; i < 32; i++) block.q[i] = static_cast<uint8_t>(FiveBits(q, high, i));
  return block;
}

void DecodeQ4_K(const unsigned char* p, float* out) { DecodeQ45_K(p, nullptr, p + 16, out); }
void DecodeQ5_K(const unsigned char* p, float* out) { DecodeQ45_K(p, p + 16, p + 48, out); }

void DecodeQ6_K(const unsigned char* p, float* out) {
  const unsigned char* scales = p + 192;
  const float d = Half(p + 208);
  for (size_t i = 0; i < 256; i++) {
    const unsigned char byte = p[i / 128 * 64 + i % 64];
    const int low = i % 128 < 64 ? byte & 15 : byte >> 4;
    const int code = (low | TwoBits(p + 128, i) << 4) - 32;
    out[i] = d * Signed(scales[i / 16]) * static_cast<float>(code);
  }
}

void DecodeQ8_K(const unsigned char* p, float* out) {
  const auto d = Load<float>(p);
  for (size_t i = 0; i < 256; i++) out[i] = d * Signed(p[4 + i]);
}

struct BlockType {
  SourceTypeSize size;
  void (*decode)(const unsigned char* block, float* out);  // null: not in blocks
};

BlockType BlockTypeOf(SourceType type) {
  switch (type) {
    case SourceType::kF32:
      return {{1, 4}, nullptr};
    case SourceType::kF16:
    case SourceType::kBF16:
      return {{1, 2}, nullptr};
    case SourceType::kF64:
      return {{1, 8}, nullptr};
    case SourceType::kQ8_0:
      return {{32, 34}, DecodeQ8_0};
    case SourceType::kQ4_0:
      return {{32, 18}, DecodeQ4_0};
    case SourceType::kQ4_1:
      return {{32, 20}, DecodeQ4_1};
    case SourceType::kQ5_0:
      return {{32, 22}, DecodeQ5_0};
    case SourceType::kQ5_1:
      return {{32, 24}, DecodeQ5_1};
    case SourceType::kQ2_K:
      return {{256, 84}, DecodeQ2_K};
    case SourceType::kQ3_K:
      return {{256, 110}, DecodeQ3_K};
    case SourceType::kQ4_K:
      return {{256, 144}, DecodeQ4_K};
    case SourceType::kQ5_K:
      return {{256, 176}, DecodeQ5_K};
    case SourceType::kQ6_K:
      return {{256, 210}, DecodeQ6_K};
    case SourceType::kQ8_K:
      return {{256, 292}, DecodeQ8_K};
    case SourceType::kIQ4_NL:
      return {{32, 18}, DecodeIQ4_NL};
    case SourceType::kIQ4_XS:
      return {{256, 136}, DecodeIQ4_XS};
    case SourceType::kMXFP4:
      return {{32, 17}, DecodeMXFP4};
    case SourceType::kOther:
      break;
  }
  return {{1, 1}, nullptr};
}

}  // namespace

SourceTypeSize SizeOf(SourceType type) { return BlockTypeOf(type).size; }

void DecodeElements(SourceType type, const void* raw, uint64_t n, float* out) {
  const auto* p = static_cast<const unsigned char*>(raw);
  switch (type) {
    case SourceType::kF32:
      std::memcpy(out, p, n * sizeof(float));
      return;
    case SourceType::kF16:
      for (uint64_t i = 0; i < n; i++) out[i] = Half(p + 2 * i);
      return;
    case SourceType::kBF16:
      for (uint64_t i = 0; i < n; i++) out[i] = Bf16ToF32(Load<uint16_t>(p + 2 * i));
      return;
    case SourceType::kF64:
      for (uint64_t i = 0; i < n; i++) out[i] = static_cast<float>(Load<double>(p + 8 * i));
      return;
    default:
      break;
  }
  const BlockType block = BlockTypeOf(type);
  if (block.decode == nullptr) return;
  for (uint64_t i = 0; i < n; i += block.size.block, p += block.size.block_bytes) {
    block.decode(p, out + i);
  }
}

int AffineBits(SourceType type) {
  switch (type) {
    case SourceType::kQ4_0:
    case SourceType::kQ4_1:
    case SourceType::kQ4_K:
      return 4;
    case SourceType::kQ5_0:
    case SourceType::kQ5_1:
    case SourceType::kQ5_K:
      return 5;
    default:
      return 0;
  }
}

void DecodeAffine(SourceType type, const void* raw, uint64_t n, AffineBlock* out) {
  const auto* p = static_cast<const unsigned char*>(raw);
  const SourceTypeSize size = SizeOf(type);
  for (uint64_t i = 0; i < n; i += size.block, p += size.block_bytes, out += size.block / 32) {
    const float d = Half(p);
    switch (type) {
      case SourceType::kQ4_0:
        *out = AffineOf32(d, -8 * d, p + 2, 0);
        break;
      case SourceType::kQ4_1:
        *out = AffineOf32(d, Half(p + 2), p + 4, 0);
        break;
      case SourceType::kQ5_0:
        *out = AffineOf32(d, -16 * d, p + 6, Load<uint32_t>(p + 2));
        break;
      case SourceType::kQ5_1:
        *out = AffineOf32(d, Half(p + 2), p + 8, Load<uint32_t>(p + 4));
        break;
      case SourceType::kQ4_K:
        AffineQ45_K(p, nullptr, p + 16, out);
        break;
      default:  // Q5_K
        AffineQ45_K(p, p + 16, p + 48, out);
        break;
    }
  }
}

}  // namespace krafla
