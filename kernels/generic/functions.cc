// The float functions over rows. The sequences stand in functions.h, since products and attention
// use them too; here are only the loops.
#include "kernels/generic/functions.h"

#include "kernels/generic/loops.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

template <F32 (*kFunction)(F32)>
inline void map(const float* x, size_t n, float* y) {
  for_vectors(n, [=](size_t i, auto count) { store(y + i, kFunction(load(x + i, count)), count); });
}

}  // namespace

void map_exp(const float* x, size_t n, float* y) { map<exp>(x, n, y); }
void map_sigmoid(const float* x, size_t n, float* y) { map<sigmoid>(x, n, y); }
void map_tanh(const float* x, size_t n, float* y) { map<tanh>(x, n, y); }
void map_erf(const float* x, size_t n, float* y) { map<erf>(x, n, y); }
void map_log1p(const float* x, size_t n, float* y) { map<log1p>(x, n, y); }
void map_softplus(const float* x, size_t n, float* y) { map<softplus>(x, n, y); }

}  // namespace krafla::KRAFLA_KERNELS
