// Elementary functions in double that give the same bits on every machine: sequences of our own
// over IEEE add, subtract, multiply and divide and moves of bits, never libm. RoPE tables and
// samplers use them; the float functions on the way through a layer are kernels
// (kernels/kernels.h). They expect the mode of lib/base/float_mode.h (round to nearest, denormals
// kept).
#ifndef KRAFLA_LIB_BASE_MATH_H_
#define KRAFLA_LIB_BASE_MATH_H_

namespace krafla {

// Relative error below 1e-15 (where the result is not denormal) unless said otherwise; NaN gives
// NaN.
double Exp(double x);            // 0 below -745.14, +inf above 709.79
double Log(double x);            // -inf at 0, NaN below; +inf at +inf
double Pow(double x, double y);  // x >= 0 (NaN below); Pow(x, 0) = Pow(1, y) = 1 even for NaN
double Sin(double x);            // absolute error below 1e-15 for |x| <= 2^30, NaN beyond
double Cos(double x);            // likewise

}  // namespace krafla

#endif  // KRAFLA_LIB_BASE_MATH_H_
