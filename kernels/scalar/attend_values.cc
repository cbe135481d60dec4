// Weighted sums of a block's values: the meaning, one query, one position and one channel at a
// time.
#include "kernels/scalar/kv_codes.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

struct F32Values {
  static float product(const void* page, size_t head_dim, size_t p, size_t c, float e) {
    float v;
    memcpy(&v, static_cast<const char*>(page) + 4 * (p * head_dim + c), sizeof v);
    return e * v;
  }
};

struct F16Values {
  static float product(const void* page, size_t head_dim, size_t p, size_t c, float e) {
    return e * f16_at(page, p * head_dim + c);
  }
};

template <size_t kBits>
struct QuantisedValues {
  static float product(const void* page, size_t head_dim, size_t p, size_t c, float e) {
    const size_t n_groups = KvGroups(head_dim), n_rows = kPagePositions * n_groups, g = c / 32;
    const auto* scales = static_cast<const char*>(page) + KvCodeBytes(kBits, n_rows);
    const auto code =
        static_cast<float>(code_at<kBits>(page, n_rows, g * kPagePositions + p, c % 32));
    return e * f16_at(scales, g * kPagePositions + p) * code;
  }
};

template <class Values>
inline void attend_values(const AttendArgs& a) {
  for (size_t i = 0; i < a.n_queries; ++i) {
    const float* e = a.scores + i * kAttendPositions;
    float* o = a.o + i * a.ldo;
    for (size_t c = 0; c < a.head_dim; ++c) o[c] = 0.0f;
    for (size_t p = static_cast<size_t>(a.first[i]); p < static_cast<size_t>(a.last[i]); ++p) {
      const void* page = a.v_pages[p / kPagePositions];
      for (size_t c = 0; c < a.head_dim; ++c) {
        o[c] = o[c] + Values::product(page, a.head_dim, p % kPagePositions, c, e[p]);
      }
    }
  }
}

}  // namespace

void attend_values_f32(const AttendArgs& args) { attend_values<F32Values>(args); }
void attend_values_f16(const AttendArgs& args) { attend_values<F16Values>(args); }
void attend_values_q8(const AttendArgs& args) { attend_values<QuantisedValues<8>>(args); }
void attend_values_q6(const AttendArgs& args) { attend_values<QuantisedValues<6>>(args); }
void attend_values_q4(const AttendArgs& args) { attend_values<QuantisedValues<4>>(args); }

}  // namespace krafla::KRAFLA_KERNELS
