// See head_tracker.h.
#include "lib/tokenizer/head_tracker.h"

#include "lib/base/utf8.h"

namespace krafla {

void HeadTracker::Put(size_t bytes, int change) {
  if (done_) return;
  Settle();
  bytes_ = bytes;
  change_ = change;
}

size_t HeadTracker::Finish() {
  Settle();
  return head_;
}

void HeadTracker::Settle() {
  if (bytes_ == 0 || done_) return;
  // What is put in belongs to the character before it.
  done_ = change_ > 0 ? at_ > in_.head : at_ >= in_.head;
  if (!done_) head_ += bytes_;
  for (int n = change_; n <= 0 && at_ < in_.text.size(); ++n) {
    at_ += DecodeUtf8(std::string_view(in_.text).substr(at_)).length;
  }
  bytes_ = 0;
}

}  // namespace krafla
