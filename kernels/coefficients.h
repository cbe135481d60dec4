// Constants of the float functions, shared by the scalar meaning and the vector algorithms: minimax
// fits of our own in float precision (relative error before rounding in brackets). The sequences
// that use them are written twice, in scalar/functions.h and generic/functions.h.
#ifndef KRAFLA_KERNELS_COEFFICIENTS_H_
#define KRAFLA_KERNELS_COEFFICIENTS_H_

#include "kernels/kernels.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

// exp(r) = 1 + r + r^2 P(r), |r| <= log(2) / 2 [2^-28]. n * kLn2Hi is exact for |n| <= 256.
constexpr float kLog2E = 1.44269504f;
constexpr float kLn2Hi = 0.693145752f;
constexpr float kLn2Lo = 1.42860677e-06f;
constexpr float kExpLowest = -87.3f;  // exact zero below: no result is ever denormal
// Beyond log(FLT_MAX), and still a power of two that two factors make.
constexpr float kExpHighest = 89.0f;
constexpr float kExp[] = {0.49999994f, 0.166665211f, 0.0416682921f, 0.00836871564f, 0.00138186978f};

// tanh(x) = x + x z P(z), z = x^2, |x| < kTanhSplit [2^-32]; beyond: 1 - 2 / (exp(2 |x|) + 1).
constexpr float kTanhSplit = 0.625f;
constexpr float kTanhHighest = 10.0f;  // tanh is 1 in float from 9.02 on
constexpr float kTanh[] = {-0.333333313f, 0.133332208f,    -0.0539481789f,
                           0.021706894f,  -0.00819001254f, 0.00215268112f};

// erf(x) = x + x P(x^2), |x| < kErfSplit [2^-30]; beyond: 1 - exp(Q(|x|)), Q = log erfc [2^-33].
constexpr float kErfSplit = 0.875f;
constexpr float kErfHighest = 4.0f;  // erf is 1 in float from 3.92 on
constexpr float kErf[] = {0.128379166f,   -0.376126289f,    0.112836219f,   -0.0268552825f,
                          0.00519063557f, -0.000802172348f, 7.84224176e-05f};
constexpr float kLogErfc[] = {0.000162025026f, -1.12945318f,    -0.633473396f,   -0.108139135f,
                              0.025027208f,    -0.00413566036f, 0.000427081977f, -2.04506869e-05f};

// log1p(f) = f - f^2 / 2 + f^3 P(f), -0.25 <= f <= 0.5 [2^-30].
constexpr float kLog1p[] = {0.333333403f,  -0.250001639f,  0.199995816f,
                            -0.166553184f, 0.142767027f,   -0.127282068f,
                            0.116977535f,  -0.0910910219f, 0.0376265422f};
constexpr float kLn2 = 0.693147182f;

constexpr float kSqrtHalf = 0.707106769f;     // of erf's argument in GELU
constexpr float kSqrt2OverPi = 0.797884583f;  // of tanh's argument in GELU
constexpr float kGeluCubic = 0.044715f;

constexpr float kLargest = 3.40282347e+38f;         // FLT_MAX
constexpr float kSmallestNormal = 1.17549435e-38f;  // FLT_MIN

}  // namespace
}  // namespace krafla::KRAFLA_KERNELS

#endif  // KRAFLA_KERNELS_COEFFICIENTS_H_
