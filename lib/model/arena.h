// Where each region of the driver's arena begins: one walk gives the plan's bytes and the pointers.
#ifndef KRAFLA_LIB_MODEL_ARENA_H_
#define KRAFLA_LIB_MODEL_ARENA_H_

#include <cstddef>
#include <cstdint>

#include "lib/model/network.h"

namespace krafla {

struct ArenaLayout {
  ArenaLayout(const NetworkShape& shape, size_t max_rows, int64_t context, size_t threads);

  uint64_t x = 0;
  uint64_t act = 0;
  uint64_t blocks = 0;
  uint64_t wide = 0;
  uint64_t rope_cos = 0;
  uint64_t rope_sin = 0;
  uint64_t part_m = 0;
  uint64_t part_l = 0;
  uint64_t part_o = 0;
  uint64_t route_expert = 0;
  uint64_t route_weight = 0;
  uint64_t route_pair = 0;
  uint64_t route_shared = 0;
  uint64_t route_row = 0;
  uint64_t route_hit = 0;
  uint64_t route_begin = 0;
  uint64_t route_n_hit = 0;
  uint64_t expert_rows = 0;
  uint64_t expert_units = 0;
  uint64_t expert_blocks = 0;
  uint64_t logits = 0;
  uint64_t scratch = 0;
  uint64_t scratch_bytes = 0;  // of one thread
  uint64_t bytes = 0;          // of all; UINT64_MAX where that is too small a type
  size_t max_pairs = 0;        // BlockPairs that fit
};

}  // namespace krafla

#endif  // KRAFLA_LIB_MODEL_ARENA_H_
