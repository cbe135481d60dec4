// Harmony, the form of gpt-oss: a reply is a row of messages, each with a channel and perhaps a
// recipient before <|message|>:
//   <|channel|>analysis<|message|>...<|end|><|start|>assistant<|channel|>final<|message|>...
//   <|channel|>commentary to=functions.name <|constrain|>json<|message|>{...}<|call|>
// Text outside of messages is content.
#include "lib/chat/reply_parser.h"

namespace krafla::chat {
namespace {

constexpr std::string_view kMarkers[] = {"<|channel|>",   "<|start|>",  "<|message|>", "<|end|>",
                                         "<|constrain|>", "<|return|>", "<|call|>"};
constexpr std::string_view kRecipient = "to=functions.";

}  // namespace

void ReplyParser::PushHarmony(char c) {
  pending_.push_back(c);
  while (!pending_.empty()) {
    bool begins = false;
    for (const std::string_view marker : kMarkers) {
      if (pending_ == marker && HarmonyMarker()) {
        pending_.clear();
        return;
      }
      begins |= marker.size() > pending_.size() && marker.starts_with(pending_);
    }
    if (begins) return;
    HarmonyText(pending_[0]);
    pending_.erase(0, 1);
  }
}

// False: it has no meaning here and is text.
bool ReplyParser::HarmonyMarker() {
  if (mode_ == Mode::kHeader) {
    raw_ += pending_;
    if (pending_ == "<|message|>") {
      HarmonyHeader();
    } else {
      word_.push_back(' ');
    }
    return true;
  }
  if (pending_ == "<|message|>" || pending_ == "<|constrain|>") return false;
  if (mode_ == Mode::kCall) Break();  // before its arguments were closed
  mode_ = Mode::kContent;
  if (pending_ == "<|channel|>" || pending_ == "<|start|>") {
    mode_ = Mode::kHeader;
    raw_ = pending_;
    word_.clear();
  }
  return true;
}

void ReplyParser::HarmonyText(char c) {
  switch (mode_) {
    case Mode::kHeader:
      raw_.push_back(c);
      word_.push_back(c);
      return;
    case Mode::kCall:
      raw_.push_back(c);
      if (PushArguments(c)) return;
      Break();
      return;
    case Mode::kReasoning:
      return Tell(ReplyEventKind::kReasoning, std::string_view(&c, 1));
    case Mode::kContent:
      return Tell(ReplyEventKind::kContent, std::string_view(&c, 1));
  }
}

void ReplyParser::HarmonyHeader() {
  const std::string header = word_;
  const size_t at = header.find(kRecipient);
  if (at == std::string::npos) {
    mode_ = header.find("analysis") != std::string::npos ? Mode::kReasoning : Mode::kContent;
    raw_.clear();
    return;
  }
  BeginCall();
  const size_t begin = at + kRecipient.size();
  name_ = header.substr(begin, header.find_first_of(" \t\n", begin) - begin);
  if (name_.empty()) return Break();
  close_ = {};
  bare_ = false;
  step_ = Step::kArguments;
  reader_.Begin(name_);
  TellCall();
}

}  // namespace krafla::chat
