// The merge of a block of attention into what came before, and the final division.
#include "kernels/generic/functions.h"
#include "kernels/generic/loops.h"

namespace krafla::KRAFLA_KERNELS {

void attend_merge(float mb, float lb, const float* ob, size_t head_dim, float* m, float* l,
                  float* o) {
  if (lb == 0.0f) return;
  if (*l == 0.0f) {
    *m = mb;
    *l = lb;
    memcpy(o, ob, head_dim * sizeof *o);
    return;
  }
  // Both exponentials in one vector: lane 0 the old block's, lane 1 the new one's.
  const float highest = *m > mb ? *m : mb;
  float pair[kLanes] = {*m - highest, mb - highest};
  store(pair, exp(load(pair)));
  const float a = pair[0], b = pair[1];
  *m = highest;
  *l = *l * a + lb * b;
  for_vectors(head_dim, [=](size_t c, auto count) {
    store(o + c, load(o + c, count) * splat(a) + load(ob + c, count) * splat(b), count);
  });
}

void attend_finish(float l, size_t head_dim, float* o) {
  for_vectors(head_dim, [=](size_t c, auto count) {
    store(o + c, l == 0.0f ? splat(0.0f) : load(o + c, count) / splat(l), count);
  });
}

}  // namespace krafla::KRAFLA_KERNELS
