// From tokens to the text that a host is given: whole code points only, and nothing of a stop
// string. What may still become one, or is part of a code point, is held back.
#ifndef KRAFLA_CAPI_TEXT_STREAM_H_
#define KRAFLA_CAPI_TEXT_STREAM_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/tokenizer/tokenizer.h"

namespace krafla::capi {

class TextStream {
 public:
  // The stops are UTF-8 and not empty.
  TextStream(const Tokenizer* tokenizer, std::vector<std::string> stops);

  // The text that this token lets out; valid until the next call.
  StatusOr<std::string_view> Push(int32_t id);
  // The index of the stop that has appeared, or -1. After one nothing more is let out.
  int32_t stop() const { return stop_; }
  // What is held back at the end, an incomplete code point as U+FFFD; empty after a stop.
  std::string_view Finish();

 private:
  void Clean();
  size_t FindStop();
  size_t HeldLength() const;

  const Tokenizer* tokenizer_;
  StreamDecoder decoder_;
  std::vector<std::string> stops_;
  size_t longest_ = 0;
  std::string raw_;   // bytes of a code point that is not complete
  std::string text_;  // [0, given_): handed out, then what is held back
  size_t given_ = 0;
  int32_t stop_ = -1;
};

}  // namespace krafla::capi

#endif  // KRAFLA_CAPI_TEXT_STREAM_H_
