// Scores of one block of attention and their exponentials: the meaning, one query and one position
// at a time. What a query computes does not depend on its company.
#include "kernels/scalar/functions.h"
#include "kernels/scalar/kv_codes.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

struct F32Keys {
  static float at(const void* page, size_t c, size_t p) {
    float v;
    memcpy(&v, static_cast<const char*>(page) + 4 * (c * kPagePositions + p), sizeof v);
    return v;
  }
  static float dot(const AttendArgs& a, const float* q, size_t page, size_t p) {
    float dot = 0.0f;
    for (size_t c = 0; c < a.head_dim; ++c) dot = dot + q[c] * at(a.k_pages[page], c, p);
    return dot;
  }
};

struct F16Keys {
  static float dot(const AttendArgs& a, const float* q, size_t page, size_t p) {
    float dot = 0.0f;
    for (size_t c = 0; c < a.head_dim; ++c) {
      dot = dot + q[c] * f16_at(a.k_pages[page], c * kPagePositions + p);
    }
    return dot;
  }
};

template <size_t kBits>
struct QuantisedKeys {
  static float dot(const AttendArgs& a, const float* q, size_t page, size_t p) {
    if ((a.f16_keys >> page & 1) != 0) return F16Keys::dot(a, q, page, p);
    const void* keys = a.k_pages[page];
    const auto* scales = static_cast<const char*>(keys) + KvCodeBytes(kBits, a.head_dim);
    float dot = 0.0f, mids[16] = {};
    for (size_t c = 0; c < a.head_dim; ++c) {
      const auto code = static_cast<float>(code_at<kBits>(keys, a.head_dim, c, p));
      dot = dot + q[c] * f16_at(scales, c) * code;
    }
    if constexpr (kBits == 8) return dot;
    for (size_t c = 0; c < a.head_dim; ++c) {
      mids[c % 16] = mids[c % 16] + q[c] * f16_at(scales, a.head_dim + c);
    }
    return dot + fold_sum(mids);
  }
};

template <class Keys>
inline void attend_keys(const AttendArgs& a) {
  for (size_t i = 0; i < a.n_queries; ++i) {
    const float* q = a.q + i * a.ldq;
    float* s = a.scores + i * kAttendPositions;
    const size_t first = static_cast<size_t>(a.first[i]), last = static_cast<size_t>(a.last[i]);
    float lanes[16];
    for (float& v : lanes) v = float_of(0xff800000u);  // -inf
    for (size_t p = first; p < last; ++p) {
      s[p] = Keys::dot(a, q, p / kPagePositions, p % kPagePositions) * a.scale;
      if (a.softcap > 0.0f) s[p] = a.softcap * tanh_of(s[p] / a.softcap);
      lanes[p % 16] = max_of(s[p], lanes[p % 16]);
    }
    a.m[i] = fold_max(lanes);
    float sums[16] = {};
    for (size_t p = first; p < last; ++p) {
      s[p] = exp_of(s[p] - a.m[i]);
      sums[p % 16] = sums[p % 16] + s[p];
    }
    a.l[i] = fold_sum(sums);
  }
}

}  // namespace

void attend_keys_f32(const AttendArgs& args) { attend_keys<F32Keys>(args); }
void attend_keys_f16(const AttendArgs& args) { attend_keys<F16Keys>(args); }
void attend_keys_q8(const AttendArgs& args) { attend_keys<QuantisedKeys<8>>(args); }
void attend_keys_q6(const AttendArgs& args) { attend_keys<QuantisedKeys<6>>(args); }
void attend_keys_q4(const AttendArgs& args) { attend_keys<QuantisedKeys<4>>(args); }

}  // namespace krafla::KRAFLA_KERNELS
