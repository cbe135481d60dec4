// How often each expert of each layer was used: what stays in memory longest, kept per model file
// from one run to the next where the host names a place.
#ifndef KRAFLA_LIB_WEIGHTS_RESIDENCY_HEAT_MAP_H_
#define KRAFLA_LIB_WEIGHTS_RESIDENCY_HEAT_MAP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/weights/residency/expert_layout.h"

namespace krafla {

class HeatMap {
 public:
  explicit HeatMap(const ExpertLayout& layout);

  uint32_t at(size_t layer, uint32_t expert) const { return counts_[layer][expert]; }
  const std::vector<uint32_t>& layer(size_t i) const { return counts_[i]; }
  void Add(size_t layer, uint32_t expert, uint32_t uses);
  // The count from which an expert is among the `n` hottest of its layer; UINT32_MAX where none
  // is used more than others.
  uint32_t ThresholdOf(size_t layer, size_t n) const;

  // NotFoundError where there is no such file; FileError for one of another model or a damaged one.
  // Refuses a file of another kind in the map's place.
  static Status CheckReplaces(const std::string& path);
  Status Load(const std::string& path, uint64_t content_hash);
  // Appears complete or not at all.
  Status Save(const std::string& path, uint64_t content_hash) const;

 private:
  std::vector<std::vector<uint32_t>> counts_;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_WEIGHTS_RESIDENCY_HEAT_MAP_H_
