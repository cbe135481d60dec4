// The merge of a block of attention into what came before, and the final division: the meaning.
#include "kernels/scalar/functions.h"

namespace krafla::KRAFLA_KERNELS {

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
