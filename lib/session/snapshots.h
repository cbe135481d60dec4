// Copies of a session's recurrent state at earlier lengths. Keys and values can be cut anywhere, a
// recurrent state cannot be turned back: a cut goes to the last copy before it and reads the rest
// again. Copies are made where a text is likely to be cut: before and after each prompt, which are
// the borders of messages in a chat, and every so many tokens within a long one.
// A copy of this object shares them.
//
// Their bytes stay below a budget: the one that was not used for longest goes first. A copy that
// cannot be had (memory, budget) is not made; nothing else depends on it.
#ifndef KRAFLA_LIB_SESSION_SNAPSHOTS_H_
#define KRAFLA_LIB_SESSION_SNAPSHOTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lib/runtime/memory.h"

namespace krafla {

class Snapshots {
 public:
  struct Copy {
    int64_t length = 0;
    std::span<const std::byte> state;
    std::span<const float> logits;  // after `length` tokens; may be empty
  };

  Snapshots() = default;
  // state_bytes 0 or budget 0: keeps nothing. `memory` outlives this and all copies.
  Snapshots(Memory* memory, uint64_t state_bytes, uint64_t budget, int64_t spacing);

  // A copy of what holds after `length` tokens, unless there is one or, where `spaced`, one less
  // than the spacing before.
  void Keep(int64_t length, const std::byte* state, std::span<const float> logits, bool spaced);
  // The last one of at most `length` tokens, and the one of `length` tokens that has logits. Its
  // length is 0 where there is none.
  Copy Before(int64_t length);
  Copy At(int64_t length);
  void Cut(int64_t length);  // drops those of longer texts

  uint64_t bytes() const { return bytes_; }
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    int64_t length = 0;
    uint64_t used = 0;  // time of the last use
    size_t n_logits = 0;
    std::shared_ptr<const Buffer> data;  // the state, then the logits
  };
  void MakeRoom(uint64_t bytes);
  Copy Use(Entry& entry);

  Memory* memory_ = nullptr;
  uint64_t state_bytes_ = 0;
  uint64_t budget_ = 0;
  int64_t spacing_ = 0;
  uint64_t clock_ = 0;
  uint64_t bytes_ = 0;
  std::vector<Entry> entries_;  // by length, ascending
};

}  // namespace krafla

#endif  // KRAFLA_LIB_SESSION_SNAPSHOTS_H_
