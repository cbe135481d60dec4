// The stacks of a walk through an automaton: persistent (a push makes a new stack and leaves the
// old one), and one for each content, so that two stacks are equal where their numbers are.
#ifndef KRAFLA_LIB_CONSTRAINT_FRAMES_H_
#define KRAFLA_LIB_CONSTRAINT_FRAMES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace krafla {

struct Frame {
  uint32_t below;  // stack
  uint32_t site;   // the call that this frame returns to
  uint32_t data;   // kRepeat: turns begun; kMembers: a number of Frames::Seen
  uint32_t depth;  // frames from the bottom up to this one
};

// What of an object's members a text has.
struct SeenMembers {
  uint32_t count = 0;
  bool after_separator = false;
  // Free order: a bit an item. In order: {the first item that may still come; the number of all
  // for the rests}.
  std::vector<uint32_t> items;

  friend bool operator<(const SeenMembers& a, const SeenMembers& b) {
    if (a.count != b.count) return a.count < b.count;
    if (a.after_separator != b.after_separator) return a.after_separator < b.after_separator;
    return a.items < b.items;
  }
};

class Frames {
 public:
  static constexpr uint32_t kBottom = 0;

  Frames();
  const Frame& operator[](uint32_t stack) const { return frames_[stack]; }
  uint32_t Push(uint32_t below, uint32_t site, uint32_t data);
  uint32_t Depth(uint32_t stack) const { return frames_[stack].depth; }

  uint32_t AddSeen(SeenMembers seen);
  const SeenMembers& seen(uint32_t number) const { return *seen_list_[number]; }

  size_t bytes() const;

 private:
  void Grow();

  std::vector<Frame> frames_;
  std::vector<uint32_t> slots_;  // hash table of stacks; 0: free
  std::map<SeenMembers, uint32_t> seen_;
  std::vector<const SeenMembers*> seen_list_;
  size_t seen_bytes_ = 0;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_CONSTRAINT_FRAMES_H_
