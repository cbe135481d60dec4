// The products of a layer whose experts are not all in memory: those that are there are multiplied
// while the others are read. Each expert's results have places of their own, so the order in which
// they come changes no bit.
#ifndef KRAFLA_LIB_MODEL_EXPERT_STREAM_H_
#define KRAFLA_LIB_MODEL_EXPERT_STREAM_H_

#include <cstdint>
#include <vector>

#include "lib/base/status.h"
#include "lib/model/network.h"
#include "lib/weights/residency/residency.h"

namespace krafla {

class ExpertStream {
 public:
  enum class Outcome : uint8_t { kWorked, kWaited, kDone };
  // Runs some items from `first` on; returns how many.
  using RunItems = size_t (*)(void* context, const Step& step, const Pass& pass, size_t first);

  // A new layer.
  void Begin() { progress_.clear(); }
  // A group of items, or a wait of at most most_wait_us. An error names the expert; a later call
  // goes on.
  StatusOr<Outcome> Advance(const StreamedLayer& layer, const Pass& pass, RunItems run,
                            void* context, int64_t most_wait_us);
  // Holds no expert any more until the next Advance: what is done stays done.
  void LetGo();

 private:
  // Of a hit: its part that runs, and the item of it that comes next.
  struct Progress {
    size_t part = 0;
    size_t item = 0;
    bool fresh() const { return part == 0 && item == 0; }
  };
  void OpenLease(const StreamedLayer& layer, const Pass& pass);
  void ReadAhead(const StreamedLayer& layer, const Pass& pass);
  void NextWave();
  void EndWave();

  std::vector<Progress> progress_;  // [n_hit]; empty: not begun
  size_t n_parts_ = 0;
  size_t n_left_ = 0;  // hits
  ExpertLease lease_;
  std::vector<ExpertUse> uses_;
  std::vector<float> scores_;
  std::vector<uint32_t> expected_;
  std::vector<ExpertLease::Held> taken_;  // of the lease, not in a wave yet
  ExpertWave wave_;
  Pass pass_;  // with the wave
  size_t part_ = 0;
  size_t next_ = 0;   // item of the wave
  size_t items_ = 0;  // of the wave's part
};

}  // namespace krafla

#endif  // KRAFLA_LIB_MODEL_EXPERT_STREAM_H_
