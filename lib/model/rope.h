// Rotary position embedding: the frequencies of a model, as Hugging Face rounds them.
#ifndef KRAFLA_LIB_MODEL_ROPE_H_
#define KRAFLA_LIB_MODEL_ROPE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/model/config.h"

namespace krafla {

// What the layers of one RopeConfig turn by. longrope has two sets of frequencies and the session's
// context decides between them, so that a position means the same however the text grows.
struct RopeTable {
  std::vector<float> frequencies;       // [n_rot / 2] angles per position
  std::vector<float> long_frequencies;  // likewise, in contexts beyond long_after; empty: the same
  int64_t long_after = 0;
  float factor = 1;  // multiplies cos and sin

  const std::vector<float>& in_context(int64_t context) const {
    return long_frequencies.empty() || context <= long_after ? frequencies : long_frequencies;
  }
};

// `config` is validated.
RopeTable MakeRopeTable(const RopeConfig& config, size_t n_rot);

// cos and sin of f32(position) * frequency, the angle rounded to f32 first, times factor.
void RopeAngles(const std::vector<float>& frequencies, int64_t position, float factor, float* cos,
                float* sin);

}  // namespace krafla

#endif  // KRAFLA_LIB_MODEL_ROPE_H_
