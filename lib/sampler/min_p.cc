// min_p: keeps the tokens at least p times as likely as the most likely one (Nguyen et al. 2024).
// In logarithms that is a limit on the values, which takes no sum over the candidates. 0 keeps all.
#include "lib/base/math.h"
#include "lib/sampler/stage.h"

namespace krafla {
namespace {

class MinP final : public Stage {
 public:
  Status Apply(const StageInput& in, Candidates* candidates) override {
    if (in.params[0] > 0) candidates->KeepAtLeast(candidates->Max() + Log(in.params[0]));
    return OkStatus();
  }
};

}  // namespace

std::unique_ptr<Stage> CreateMinP() { return std::make_unique<MinP>(); }

}  // namespace krafla
