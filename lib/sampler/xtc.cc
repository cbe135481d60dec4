// xtc: "exclude top choices" (p-e-w 2024). With the given probability all candidates that are at
// least `threshold` likely go but the least likely of them, so that a text leaves the beaten track
// where the model knows more than one way. probability 0 is no effect, and so is a single token
// above the threshold. Takes a random number wherever there is a choice.
#include "lib/base/math.h"
#include "lib/sampler/stage.h"

namespace krafla {
namespace {

class Xtc final : public Stage {
 public:
  Status Apply(const StageInput& in, Candidates* candidates) override {
    if (in.params[0] == 0) return OkStatus();
    const std::span<const Candidate> items = candidates->items();
    if (items.size() < 2 || in.random->Next() >= in.params[0]) return OkStatus();
    const double max = candidates->Max();
    double total = 0;
    for (const Candidate& c : items) total += Exp(c.value - max);
    const double limit = in.params[1] * total;
    const Candidate* last = nullptr;  // of those above: the lowest value, then the highest id
    for (const Candidate& c : items) {
      if (Exp(c.value - max) < limit) continue;
      const bool worse =
          last == nullptr || c.value < last->value || (c.value == last->value && c.id > last->id);
      if (worse) last = &c;
    }
    if (last == nullptr) return OkStatus();
    const int32_t id = last->id;
    candidates->KeepIf([&items, id, max, limit](size_t i) {
      return items[i].id == id || Exp(items[i].value - max) < limit;
    });
    return OkStatus();
  }
};

}  // namespace

std::unique_ptr<Stage> CreateXtc() { return std::make_unique<Xtc>(); }

}  // namespace krafla
