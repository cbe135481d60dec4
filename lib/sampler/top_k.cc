// top_k: keeps the k most likely tokens (Fan et al. 2018). 0 and -1 keep all, as does a k above the
// number of candidates.
#include "lib/sampler/stage.h"

namespace krafla {
namespace {

class TopK final : public Stage {
 public:
  Status Apply(const StageInput& in, Candidates* candidates) override {
    if (in.params[0] >= 1) candidates->KeepBest(static_cast<size_t>(in.params[0]));
    return OkStatus();
  }
};

}  // namespace

std::unique_ptr<Stage> CreateTopK() { return std::make_unique<TopK>(); }

}  // namespace krafla
