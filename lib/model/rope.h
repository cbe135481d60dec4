// Rotary position embedding: the frequencies of a model, as Hugging Face rounds them.
#ifndef KRAFLA_LIB_MODEL_ROPE_H_
#define KRAFLA_LIB_MODEL_ROPE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/model/config.h"

namespace krafla {

// [n_rot / 2] angles per position; `config` is validated.
std::vector<float> RopeFrequencies(const RopeConfig& config, size_t n_rot);

// cos and sin of f32(position) * frequency, the angle rounded to f32 first.
void RopeAngles(const std::vector<float>& frequencies, int64_t position, float* cos, float* sin);

}  // namespace krafla

#endif  // KRAFLA_LIB_MODEL_ROPE_H_
