// Recurrent layers. Lanes are channels or columns of the state, which do not depend on each other,
// so nothing crosses lanes. A token's update of the state and the next token's sums over it are one
// walk: each element is loaded and stored once a token.
#include "kernels/generic/functions.h"
#include "kernels/generic/loops.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

constexpr size_t kInTile = kDeltaColumns / kLanes;       // vectors of a row of the state
constexpr size_t kTogether = kInTile < 4 ? kInTile : 4;  // that are walked together

template <size_t kTaps, class Count>
inline void convolve(float* x, size_t ldx, size_t n_tokens, const float* w, size_t ldw, float* tail,
                     size_t ld_tail, Count count) {
  F32 weights[kTaps], window[kTaps];
#pragma GCC unroll 8
  for (size_t j = 0; j < kTaps; ++j) weights[j] = load(w + j * ldw, count);
#pragma GCC unroll 8
  for (size_t j = 0; j + 1 < kTaps; ++j) window[j + 1] = load(tail + j * ld_tail, count);
  for (size_t t = 0; t < n_tokens; ++t) {
#pragma GCC unroll 8
    for (size_t j = 0; j + 1 < kTaps; ++j) window[j] = window[j + 1];
    window[kTaps - 1] = load(x + t * ldx, count);
    F32 y = splat(0.0f);
#pragma GCC unroll 8
    for (size_t j = 0; j < kTaps; ++j) y = y + weights[j] * window[j];
    store(x + t * ldx, y * sigmoid(y), count);
  }
#pragma GCC unroll 8
  for (size_t j = 0; j + 1 < kTaps; ++j) store(tail + j * ld_tail, window[j + 1], count);
}

template <size_t kTaps>
inline void convolve_all(float* x, size_t ldx, size_t n_tokens, size_t n, const float* w,
                         size_t ldw, size_t taps, float* tail, size_t ld_tail) {
  if constexpr (kTaps >= 2) {
    if (taps != kTaps) {
      convolve_all<kTaps - 1>(x, ldx, n_tokens, n, w, ldw, taps, tail, ld_tail);
      return;
    }
    for_vectors(n, [=](size_t c, auto count) {
      convolve<kTaps>(x + c, ldx, n_tokens, w + c, ldw, tail + c, ld_tail, count);
    });
  }
}

// The sums over the state that a token needs: with its k and with its q.
struct Sums {
  F32 u[kTogether];
  F32 w[kTogether];
};

// One walk over the state: where kUpdate, S = decay * S + k * d of the token `t` before; where
// kSum, the sums of the token `next` over what the state then is.
template <bool kUpdate, bool kSum>
inline void walk(const DeltaArgs& a, size_t column, size_t t, size_t next, const F32* d,
                 Sums* sums) {
  const float* k = a.k + t * a.ld;
  const float *next_k = a.k + next * a.ld, *next_q = a.q + next * a.ld;
  const F32 decay = splat(a.decay[t * a.ld]);
  F32 u[kTogether], w[kTogether], change[kTogether];
#pragma GCC unroll 4
  for (size_t j = 0; j < kTogether; ++j) {
    u[j] = splat(0.0f);
    w[j] = splat(0.0f);
    if constexpr (kUpdate) change[j] = d[j];
  }
  for (size_t i = 0; i < a.head_dim; ++i) {
    float* row = a.state + i * kDeltaColumns + column;
    F32 s[kTogether];
#pragma GCC unroll 4
    for (size_t j = 0; j < kTogether; ++j) s[j] = load(row + j * kLanes);
    if constexpr (kUpdate) {
      const F32 ki = splat(k[i]);
#pragma GCC unroll 4
      for (size_t j = 0; j < kTogether; ++j) {
        s[j] = decay * s[j] + ki * change[j];
        store(row + j * kLanes, s[j]);
      }
    }
    if constexpr (kSum) {
      const F32 ki = splat(next_k[i]), qi = splat(next_q[i]);
#pragma GCC unroll 4
      for (size_t j = 0; j < kTogether; ++j) {
        u[j] = u[j] + ki * s[j];
        w[j] = w[j] + qi * s[j];
      }
    }
  }
  if constexpr (kSum) {
#pragma GCC unroll 4
    for (size_t j = 0; j < kTogether; ++j) {
      sums->u[j] = u[j];
      sums->w[j] = w[j];
    }
  }
}

// A token's d from its sums; its o takes the place of its v.
inline void change(const DeltaArgs& a, size_t column, size_t t, const Sums& sums, F32* d) {
  const F32 decay = splat(a.decay[t * a.ld]), beta = splat(a.beta[t * a.ld]);
  const F32 qk = splat(a.qk[t * a.ld]);
  for (size_t j = 0; j < kTogether; ++j) {
    const size_t c = column + j * kLanes;
    const size_t n = lanes_left(c, a.n_columns);
    float* v = a.v + t * a.ld + (n == 0 ? 0 : c);
    d[j] = (load(v, n) - decay * sums.u[j]) * beta;
    store(v, decay * sums.w[j] + qk * d[j], n);
  }
}

}  // namespace

void conv_silu(float* x, size_t ldx, size_t n_tokens, size_t n, const float* w, size_t ldw,
               size_t taps, float* tail, size_t ld_tail) {
  convolve_all<8>(x, ldx, n_tokens, n, w, ldw, taps, tail, ld_tail);
}

void gated_delta(const DeltaArgs& a) {
  if (a.n_tokens == 0) return;
  for (size_t column = 0; column < kDeltaColumns; column += kTogether * kLanes) {
    Sums sums;
    F32 d[kTogether];
    walk<false, true>(a, column, 0, 0, d, &sums);
    for (size_t t = 0; t + 1 < a.n_tokens; ++t) {
      change(a, column, t, sums, d);
      walk<true, true>(a, column, t, t + 1, d, &sums);
    }
    change(a, column, a.n_tokens - 1, sums, d);
    walk<true, false>(a, column, a.n_tokens - 1, a.n_tokens - 1, d, &sums);
  }
}

}  // namespace krafla::KRAFLA_KERNELS
