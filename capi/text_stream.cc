// See text_stream.h. A stop is UTF-8, so in well-formed text it begins and ends between code
// points.
#include "capi/text_stream.h"

#include <algorithm>
#include <utility>

#include "lib/base/utf8.h"

namespace krafla::capi {

// Room beyond any token of a usual vocabulary: steady decoding allocates nothing.
constexpr size_t kRoom = 1024;

TextStream::TextStream(const Tokenizer* tokenizer, std::vector<std::string> stops)
    : tokenizer_(tokenizer), decoder_(tokenizer, /*skip_special=*/true), stops_(std::move(stops)) {
  for (const std::string& stop : stops_) longest_ = std::max(longest_, stop.size());
  raw_.reserve(kRoom);
  text_.reserve(kRoom + longest_);
}

// Moves the complete code points from raw_ to text_.
void TextStream::Clean() {
  const size_t whole = raw_.size() - IncompleteUtf8Suffix(raw_);
  const std::string_view complete = std::string_view(raw_).substr(0, whole);
  if (ValidUtf8Prefix(complete) == whole) {
    text_.append(complete);
  } else {
    text_ += ReplaceInvalidUtf8(complete);
  }
  raw_.erase(0, whole);
}

// Where the first stop begins, noted in stop_; npos where there is none. Of two at one place the
// first of the caller's list counts.
size_t TextStream::FindStop() {
  size_t first = std::string::npos;
  for (size_t i = 0; i < stops_.size(); ++i) {
    const size_t at = text_.find(stops_[i]);
    if (at >= first) continue;
    first = at;
    stop_ = static_cast<int32_t>(i);
  }
  return first;
}

// The length of the longest end of the text that some stop begins with.
size_t TextStream::HeldLength() const {
  const std::string_view text = text_;
  for (size_t n = std::min(text.size(), longest_ - 1); n > 0; --n) {
    const std::string_view end = text.substr(text.size() - n);
    for (const std::string& stop : stops_) {
      if (stop.size() > n && std::string_view(stop).substr(0, n) == end) return n;
    }
  }
  return 0;
}

StatusOr<std::string_view> TextStream::Push(int32_t id) {
  text_.erase(0, given_);
  given_ = 0;
  if (stop_ >= 0) return std::string_view();
  if (tokenizer_->Has(id)) KRAFLA_RETURN_IF_ERROR(decoder_.Push(id, &raw_));
  Clean();
  given_ = text_.size();
  if (!stops_.empty()) {
    const size_t at = FindStop();
    given_ = at != std::string::npos ? at : text_.size() - HeldLength();
  }
  return std::string_view(text_).substr(0, given_);
}

std::string_view TextStream::Finish() {
  text_.erase(0, given_);
  given_ = 0;
  if (stop_ >= 0) return {};
  text_ += ReplaceInvalidUtf8(raw_);
  raw_.clear();
  given_ = text_.size();
  return text_;
}

}  // namespace krafla::capi
