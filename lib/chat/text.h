// Text that knows where it came from: UTF-8 bytes in alternating runs of trusted (template, host)
// and untrusted (message) origin. Every string of the template interpreter is one, so that user
// text can never become a control token however a template cuts, joins or rewrites it.
#ifndef KRAFLA_LIB_CHAT_TEXT_H_
#define KRAFLA_LIB_CHAT_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace krafla::chat {

class Text {
 public:
  Text() = default;
  Text(std::string bytes, bool trusted) : bytes_(std::move(bytes)), first_trusted_(trusted) {}

  const std::string& bytes() const { return bytes_; }
  std::string_view view() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  // Bytes of memory behind this text.
  size_t memory() const { return bytes_.size() + cuts_.size() * sizeof(size_t); }

  void Append(std::string_view bytes, bool trusted);
  void Append(const Text& other) { Append(other, 0, other.size()); }
  void Append(const Text& other, size_t begin, size_t end);
  Text Slice(size_t begin, size_t end) const;

  bool TrustedAt(size_t offset) const;
  bool AllTrusted() const { return bytes_.empty() || (first_trusted_ && cuts_.empty()); }

  // f(std::string_view bytes, bool trusted) for each run within [begin, end), in order.
  template <typename F>
  void ForEachRun(size_t begin, size_t end, F f) const {
    size_t run = FirstCutAfter(begin);
    bool trusted = first_trusted_ != (run % 2 != 0);
    while (begin < end) {
      size_t stop = run < cuts_.size() && cuts_[run] < end ? cuts_[run] : end;
      f(view().substr(begin, stop - begin), trusted);
      begin = stop;
      trusted = !trusted;
      ++run;
    }
  }

 private:
  size_t FirstCutAfter(size_t offset) const;

  std::string bytes_;
  std::vector<size_t> cuts_;  // offsets, ascending, at which the trust flips
  bool first_trusted_ = true;
};

}  // namespace krafla::chat

#endif  // KRAFLA_LIB_CHAT_TEXT_H_
