// Follows TrustedText::head through a rewriting that is told character by character, each with what
// it did to the number of characters, as Hugging Face's normalisers tell it to their table of
// offsets.
#ifndef KRAFLA_LIB_TOKENIZER_HEAD_TRACKER_H_
#define KRAFLA_LIB_TOKENIZER_HEAD_TRACKER_H_

#include <cstddef>

#include "lib/tokenizer/trusted_text.h"

namespace krafla {

class HeadTracker {
 public:
  explicit HeadTracker(const TrustedText& in) : in_(in), done_(in.head == 0) {}

  // The next character written, of so many bytes. change: 1, none of the text's is used up for it;
  // 0, one is; -n, one and the n behind it.
  void Put(size_t bytes, int change);
  // So many more of the text's are gone with the last one written. Before any is written that is
  // lost, and what follows counts from the text's first character; Hugging Face has it so.
  void Remove(int n) { change_ -= n; }
  // Nothing that is still to come can belong to the head.
  bool done() const { return done_; }
  // The head of what was written.
  size_t Finish();

 private:
  void Settle();

  const TrustedText& in_;
  bool done_;
  size_t at_ = 0;  // bytes of the text that are used up
  size_t head_ = 0;
  size_t bytes_ = 0;  // of the last character written, 0: none; what it uses up is not yet known
  int change_ = 0;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_TOKENIZER_HEAD_TRACKER_H_
