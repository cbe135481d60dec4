// Where drafts come from. A generation asks for one before each pass, reads it together with the
// token that it has chosen, and chooses on from the rows' logits as it would have without: what a
// speculator says changes the time, never a token.
#ifndef KRAFLA_LIB_BATCH_SPECULATOR_H_
#define KRAFLA_LIB_BATCH_SPECULATOR_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "lib/base/status.h"
#include "lib/batch/payoff.h"
#include "lib/model/network.h"
#include "lib/sampler/sampler.h"
#include "lib/session/session.h"

namespace krafla {

enum class DraftLength {
  kWhatPays,
  kMost,  // as many tokens as there can be, for tests and measurements
};

class Speculator {
 public:
  static constexpr size_t kMost = kHeadRows - 1;  // beside the chosen token's row

  virtual ~Speculator() = default;

  // Begins a draft of what comes after the ids that were read and the chosen one. `sampler` is that
  // of the generation, before it has accepted `next`; it lives until the draft is there.
  virtual Status Begin(std::span<const int32_t> read, int32_t next, size_t most,
                       const Sampler& sampler) = 0;
  // As Session::Step: true once draft() is there. A cancel of the generation's session ends it.
  virtual StatusOr<bool> Step(int64_t max_us) = 0;
  virtual void Abandon() {}  // the draft that was begun
  std::span<const int32_t> draft() const { return {ids_.data(), n_draft_}; }

  // Each token that was chosen, in order, the drafted ones that were right too.
  void Chose(int32_t id);
  void Passed(size_t rows, double us) { payoff_.Passed(rows, us); }

 protected:
  Speculator(DraftLength length, const Payoff::Chances& prior) : length_(length), payoff_(prior) {}
  bool always() const { return length_ == DraftLength::kMost; }
  void Clear() { n_known_ = n_draft_ = n_judged_ = n_right_ = 0; }

  DraftLength length_;
  Payoff payoff_;
  std::array<int32_t, kMost> ids_{};
  std::array<uint8_t, kMost> classes_{};
  size_t n_known_ = 0;  // ids_ that may be judged; the first n_draft_ are the draft
  size_t n_draft_ = 0;
  size_t n_judged_ = 0;
  size_t n_right_ = 0;
};

// By lookup in the text itself (lookup.h).
std::unique_ptr<Speculator> CreateLookupSpeculator(DraftLength length);

// By a session of a smaller model with the same vocabulary, which must outlive this. Its text is
// made to follow `target`'s, whose cancel it heeds.
std::unique_ptr<Speculator> CreateModelSpeculator(DraftLength length, Session& draft,
                                                  Session& target);

}  // namespace krafla

#endif  // KRAFLA_LIB_BATCH_SPECULATOR_H_
