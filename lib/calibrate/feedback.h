// Quantisation of a matrix with error feedback (GPTQ): columns are rounded in order, and each takes
// over what the errors of the ones before it would do to the output, as far as it can.
#ifndef KRAFLA_LIB_CALIBRATE_FEEDBACK_H_
#define KRAFLA_LIB_CALIBRATE_FEEDBACK_H_

#include <cstddef>
#include <vector>

#include "lib/calibrate/gram.h"
#include "lib/quant/format.h"
#include "lib/runtime/thread_pool.h"

namespace krafla {

bool HasFeedback(Format format);

// weights: f32 tiles of [rows][factor.n()], replaced by the values that the codes stand for; tiles:
// MatrixBytes of the format. The factor is that of the input's Gram matrix.
Status QuantizeWithFeedback(Format format, const Gram& factor, size_t rows, float* weights,
                            void* tiles, ThreadPool& pool);

// Moves weights to where they give the outputs that they gave on other inputs: with x the inputs of
// the factor's matrix and d what they lack of the original ones,
// w += trust (sum of x x')^-1 (sum of x d') w. cross: Gram::AddCross of x and d.
void MoveToInputs(const Gram& factor, const std::vector<float>& cross, size_t rows, float* weights,
                  float trust, ThreadPool& pool);

}  // namespace krafla

#endif  // KRAFLA_LIB_CALIBRATE_FEEDBACK_H_
