// One block of attention, its merge into what came before, and the final division: the meaning, one
// query and one channel at a time. What a query computes does not depend on its company.
#include "kernels/scalar/convert.h"
#include "kernels/scalar/functions.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

inline float widened(float x) { return x; }

template <class T, float (*kWiden)(T)>
inline float at(const void* page, size_t i) {
  T v;
  memcpy(&v, static_cast<const char*>(page) + i * sizeof v, sizeof v);
  return kWiden(v);
}

template <class T, float (*kWiden)(T)>
inline void attend_query(const AttendArgs& a, size_t i) {
  const float* q = a.q + i * a.ldq;
  float* s = a.scores + i * kAttendPositions;
  float* o = a.o + i * a.ldo;
  const size_t first = static_cast<size_t>(a.first[i]), last = static_cast<size_t>(a.last[i]);

  float lanes[16];
  for (float& v : lanes) v = float_of(0xff800000u);  // -inf
  for (size_t p = first; p < last; ++p) {
    const void* page = a.k_pages[p / kPagePositions];
    float dot = 0.0f;
    for (size_t c = 0; c < a.head_dim; ++c) {
      dot = dot + q[c] * at<T, kWiden>(page, c * kPagePositions + p % kPagePositions);
    }
    s[p] = dot * a.scale;
    if (a.softcap > 0.0f) s[p] = a.softcap * tanh_of(s[p] / a.softcap);
    lanes[p % 16] = max_of(s[p], lanes[p % 16]);
  }
  const float m = fold_max(lanes);

  float sums[16] = {};
  for (size_t c = 0; c < a.head_dim; ++c) o[c] = 0.0f;
  for (size_t p = first; p < last; ++p) {
    const float e = exp_of(s[p] - m);
    sums[p % 16] = sums[p % 16] + e;
    const void* page = a.v_pages[p / kPagePositions];
    for (size_t c = 0; c < a.head_dim; ++c) {
      o[c] = o[c] + e * at<T, kWiden>(page, p % kPagePositions * a.head_dim + c);
    }
  }
  a.m[i] = m;
  a.l[i] = fold_sum(sums);
}

}  // namespace

void attend_f32(const AttendArgs& args) {
  for (size_t i = 0; i < args.n_queries; ++i) attend_query<float, widened>(args, i);
}

void attend_f16(const AttendArgs& args) {
  for (size_t i = 0; i < args.n_queries; ++i) attend_query<uint16_t, widen_f16>(args, i);
}

void attend_merge(float mb, float lb, const float* ob, size_t head_dim, float* m, float* l,
                  float* o) {
  if (lb == 0.0f) return;
  if (*l == 0.0f) {
    *m = mb;
    *l = lb;
    for (size_t c = 0; c < head_dim; ++c) o[c] = ob[c];
    return;
  }
  const float highest = max_of(*m, mb);
  const float a = exp_of(*m - highest), b = exp_of(mb - highest);
  *m = highest;
  *l = *l * a + lb * b;
  for (size_t c = 0; c < head_dim; ++c) o[c] = o[c] * a + ob[c] * b;
}

void attend_finish(float l, size_t head_dim, float* o) {
  for (size_t c = 0; c < head_dim; ++c) o[c] = l == 0.0f ? 0.0f : o[c] / l;
}

}  // namespace krafla::KRAFLA_KERNELS
