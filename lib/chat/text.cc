// Run bookkeeping of Text: runs are merged on append, so neighbours always differ in trust.
#include "lib/chat/text.h"

#include <algorithm>

namespace krafla::chat {

size_t Text::FirstCutAfter(size_t offset) const {
  return static_cast<size_t>(std::upper_bound(cuts_.begin(), cuts_.end(), offset) - cuts_.begin());
}

void Text::Append(std::string_view bytes, bool trusted) {
  if (bytes.empty()) return;
  if (bytes_.empty()) {
    first_trusted_ = trusted;
  } else if ((first_trusted_ != (cuts_.size() % 2 != 0)) != trusted) {
    cuts_.push_back(bytes_.size());
  }
  bytes_.append(bytes);
}

void Text::Append(const Text& other, size_t begin, size_t end) {
  if (&other == this) {
    Append(other.Slice(begin, end));
    return;
  }
  other.ForEachRun(begin, end,
                   [this](std::string_view run, bool trusted) { Append(run, trusted); });
}

Text Text::Slice(size_t begin, size_t end) const {
  Text out;
  if (begin < end) {
    out.bytes_.reserve(end - begin);
    out.Append(*this, begin, end);
  }
  return out;
}

bool Text::TrustedAt(size_t offset) const {
  return first_trusted_ != (FirstCutAfter(offset) % 2 != 0);
}

}  // namespace krafla::chat
