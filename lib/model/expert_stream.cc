// See expert_stream.h.
#include "lib/model/expert_stream.h"

#include <algorithm>

#include "lib/model/router_guess.h"

namespace krafla {
namespace {

// Of a pass for whose next layer a guess is made: more rows want most experts anyway.
constexpr size_t kMostGuessRows = 4;

}  // namespace

void ExpertStream::OpenLease(const StreamedLayer& layer, const Pass& pass) {
  const bool again = !progress_.empty();
  if (!again) {
    progress_.assign(*pass.routes.n_hit, Progress{});
    n_parts_ = layer.parts.size();
    n_left_ = progress_.size();
  }
  uses_.clear();
  for (uint32_t hit = 0; hit < progress_.size(); ++hit) {
    if (progress_[hit].part == n_parts_) continue;
    const Routes& routes = pass.routes;
    uses_.push_back({hit, routes.hit[hit], routes.begin[hit + 1] - routes.begin[hit]});
  }
  lease_.Open(*layer.residency, layer.layer, uses_, again);
  if (!again && pass.rows.size() <= kMostGuessRows) ReadAhead(layer, pass);
}

void ExpertStream::ReadAhead(const StreamedLayer& layer, const Pass& pass) {
  if (layer.next == nullptr || !layer.next->has_value()) return;
  const RouterGuess& guess = **layer.next;
  if (!layer.residency->expects(guess.layer())) return;
  expected_.clear();
  for (size_t row = 0; row < pass.rows.size(); ++row) {
    guess.Choose(pass.x + row * pass.ldx, &scores_, &expected_);
  }
  layer.residency->Expect(guess.layer(), expected_);
}

// Experts that nothing was done for go together; one that was stopped goes on alone.
void ExpertStream::NextWave() {
  wave_.hits.clear();
  wave_.slots.clear();
  const auto started = std::find_if(taken_.begin(), taken_.end(),
                                    [&](const auto& held) { return !progress_[held.tag].fresh(); });
  const auto add = [&](const ExpertLease::Held& held) {
    wave_.hits.push_back(held.tag);
    wave_.slots.push_back(held.data);
  };
  if (started != taken_.end()) {
    add(*started);
    part_ = progress_[started->tag].part;
    next_ = progress_[started->tag].item;
    taken_.erase(started);
  } else {
    for (const ExpertLease::Held& held : taken_) add(held);
    part_ = next_ = 0;
    taken_.clear();
  }
}

// Where each expert of the wave stands, by the items that were run.
void ExpertStream::EndWave() {
  const size_t n = wave_.hits.size();
  for (size_t i = 0; i < n; ++i) {
    Progress& progress = progress_[wave_.hits[i]];
    const size_t of_each = part_ == n_parts_ ? 0 : items_ / n;
    const size_t before = i * of_each;
    progress.part = part_;
    progress.item = next_ <= before ? 0 : std::min(next_ - before, of_each);
    if (progress.part < n_parts_ && progress.item == of_each) progress = {part_ + 1, 0};
    n_left_ -= progress.part == n_parts_;
  }
  wave_.hits.clear();
}

void ExpertStream::LetGo() {
  if (!lease_.open()) return;
  EndWave();
  taken_.clear();
  lease_.Close();
}

StatusOr<ExpertStream::Outcome> ExpertStream::Advance(const StreamedLayer& layer, const Pass& pass,
                                                      RunItems run, void* context,
                                                      int64_t most_wait_us) {
  if (!lease_.open()) OpenLease(layer, pass);
  if (wave_.hits.empty()) {
    if (taken_.empty()) {
      KRAFLA_ASSIGN_OR_RETURN(const auto held, lease_.Take());
      taken_.assign(held.begin(), held.end());
    }
    if (taken_.empty()) {
      lease_.Wait(most_wait_us);
      return Outcome::kWaited;
    }
    NextWave();
    pass_ = pass;
    pass_.wave = &wave_;
    items_ = layer.parts[part_]->Work(pass_).items;
  }
  next_ += run(context, *layer.parts[part_], pass_, next_);
  if (next_ < items_) return Outcome::kWorked;
  next_ = 0;
  if (++part_ < n_parts_) {
    items_ = layer.parts[part_]->Work(pass_).items;
    return Outcome::kWorked;
  }
  EndWave();
  if (taken_.empty()) lease_.Finish();
  if (n_left_ > 0) return Outcome::kWorked;
  lease_.Close();
  return Outcome::kDone;
}

}  // namespace krafla
