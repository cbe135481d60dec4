// The layer that a pass is at, where a Residency keeps whole layers: it is in memory for as long as
// it is held.
#ifndef KRAFLA_LIB_MODEL_LAYER_HOLD_H_
#define KRAFLA_LIB_MODEL_LAYER_HOLD_H_

#include <cstddef>
#include <cstdint>

#include "lib/base/status.h"
#include "lib/weights/residency/residency.h"

namespace krafla {

class LayerHold {
 public:
  void Begin() { counted_ = kNone; }  // a new pass
  // False: it is not there yet. Whatever layer was held before is not any more.
  StatusOr<bool> Hold(Residency& residency, size_t layer, int64_t most_wait_us) {
    if (lease_.open() && layer != layer_) LetGo();
    if (!lease_.open()) {
      const ExpertUse use{0, 0, 1};
      lease_.Open(residency, layer, {&use, 1}, counted_ == layer);
      layer_ = counted_ = layer;
    }
    if (has_) return true;
    KRAFLA_ASSIGN_OR_RETURN(const auto held, lease_.Take());
    has_ = !held.empty();
    if (!has_) lease_.Wait(most_wait_us);
    return has_;
  }
  void LetGo() {
    lease_.Close();
    has_ = false;
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;
  ExpertLease lease_;
  size_t layer_ = kNone;
  size_t counted_ = kNone;  // the last layer that was opened: a pause does not count it again
  bool has_ = false;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_MODEL_LAYER_HOLD_H_
