// What is common to all forms: text, markers, the ends of calls. reply_calls.cc has the calls'
// insides.
#include "lib/chat/reply_parser.h"

#include <utility>

#include "lib/base/format.h"
#include "lib/base/utf8.h"

namespace krafla::chat {
namespace {

constexpr std::string_view kThink = "<think>", kEndThink = "</think>";

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::vector<std::string_view> OpenersOf(const ReplyFormat& format) {
  std::vector<std::string_view> openers;
  if (format.thinks) openers.push_back(kThink);
  switch (format.form) {
    case CallForm::kTagged:
      openers.push_back("<tool_call>");
      break;
    case CallForm::kMistral:
      openers.push_back("[TOOL_CALLS]");
      break;
    case CallForm::kLlama:
      openers.push_back("<|python_tag|>");
      break;
    case CallForm::kHarmony:
      openers = {"<|channel|>", "<|start|>"};
      break;
    case CallForm::kJson:
    case CallForm::kFenced:
      break;
  }
  return openers;
}

}  // namespace

ReplyParser::ReplyParser(ReplyFormat format, const ToolNames* tools, std::string_view prompt_end,
                         int64_t first_call)
    : format_(format), tools_(tools), first_call_(first_call), openers_(OpenersOf(format)) {
  while (!prompt_end.empty() && IsSpace(prompt_end.back())) prompt_end.remove_suffix(1);
  if (format.thinks && prompt_end.ends_with(kThink)) mode_ = Mode::kReasoning;
}

void ReplyParser::Push(std::string_view bytes) {
  utf8_.append(bytes);
  const size_t whole = utf8_.size() - IncompleteUtf8Suffix(utf8_);
  const std::string text = ReplaceInvalidUtf8(std::string_view(utf8_).substr(0, whole));
  utf8_.erase(0, whole);
  for (const char c : text) PushByte(c);
}

void ReplyParser::PushByte(char c) {
  if (format_.form == CallForm::kHarmony) return PushHarmony(c);
  if (mode_ == Mode::kCall) {
    raw_.push_back(c);
    if (PushCall(c)) return;
    raw_.pop_back();
    Break();
  }
  PushText(c);
}

// Content or reasoning. What may be the beginning of a marker waits until it is one or not.
void ReplyParser::PushText(char c) {
  pending_.push_back(c);
  while (!pending_.empty()) {
    if (Opens(pending_)) {
      pending_.clear();
      return;
    }
    if (MayBegin(pending_)) return;
    const ReplyEventKind kind =
        mode_ == Mode::kReasoning ? ReplyEventKind::kReasoning : ReplyEventKind::kContent;
    if (mode_ == Mode::kContent) said_ |= !IsSpace(pending_[0]);
    Tell(kind, std::string_view(pending_).substr(0, 1));
    pending_.erase(0, 1);
  }
}

bool ReplyParser::MayBegin(std::string_view text) const {
  if (mode_ == Mode::kReasoning) return kEndThink.starts_with(text);
  for (const std::string_view opener : openers_) {
    if (opener.starts_with(text)) return true;
  }
  // Of a fence at the beginning of a reply.
  if (AtStart() && tools_ != nullptr) {
    for (const std::string_view fence : {"```tool_code\n", "```tool_call\n", "```json\n"}) {
      if (fence.starts_with(text)) return true;
    }
  }
  return false;
}

// Takes a whole marker, which changes the mode.
bool ReplyParser::Opens(std::string_view text) {
  if (mode_ == Mode::kReasoning) {
    if (text != kEndThink) return false;
    mode_ = Mode::kContent;
    return true;
  }
  if (format_.thinks && text == kThink) {
    mode_ = Mode::kReasoning;
    return true;
  }
  // Whatever they were taught, small models write a call as JSON alone, too.
  if (AtStart() && tools_ != nullptr) {
    const bool fence = text.starts_with("```") && text.ends_with('\n');
    const bool list = text == "[" && format_.form != CallForm::kMistral;  // whose marker it begins
    if (fence || list || text == "{") {
      BeginCall();
      close_ = fence ? "```" : "";
      bare_ = true;
      raw_ = text;
      if (!fence) (void)PushBefore(text[0]);
      return true;
    }
  }
  for (const std::string_view opener : openers_) {
    if (text != opener || opener == kThink) continue;
    BeginCall();
    close_ = format_.form == CallForm::kTagged ? "</tool_call>" : "";
    bare_ = false;
    raw_ = text;
    return true;
  }
  return false;
}

void ReplyParser::BeginCall() {
  mode_ = Mode::kCall;
  step_ = Step::kBefore;
  reader_ = CallReader();
  word_.clear();
  list_ = false;
  told_ = any_parameter_ = false;
  name_.clear();
  id_.clear();
}

// Tells the call's name and what there is of its arguments, once the name is known.
void ReplyParser::TellCall() {
  if (!told_) {
    if (name_.empty()) name_ = reader_.name();
    if (id_.empty()) id_ = reader_.id();
    if (name_.empty()) return;
    // Without a marker before it only a tool's own name makes JSON a call.
    if (bare_ && tools_->names.count(name_) == 0) return;
    told_ = true;
    if (id_.empty()) id_ = FormatText("call{:05}", first_call_ + n_calls_);
    events_.push_back({ReplyEventKind::kCallBegin, n_calls_, name_, id_});
  }
  const std::string arguments = reader_.TakeArguments();
  if (!arguments.empty()) Tell(ReplyEventKind::kCallArguments, arguments);
}

void ReplyParser::EndCall() {
  events_.push_back({ReplyEventKind::kCallEnd, n_calls_, {}, {}});
  ++n_calls_;
  said_ = true;
  // What follows is a call of its own, or text.
  reader_ = CallReader();
  raw_.clear();
  word_.clear();
  told_ = any_parameter_ = false;
  name_.clear();
  id_.clear();
}

void ReplyParser::Break() {
  if (told_) events_.push_back({ReplyEventKind::kCallDropped, n_calls_, {}, {}});
  mode_ = Mode::kContent;
  said_ = true;
  Tell(ReplyEventKind::kContent, raw_);
  raw_.clear();
  told_ = false;
}

void ReplyParser::Finish() {
  const std::string rest = ReplaceInvalidUtf8(std::exchange(utf8_, std::string()));
  for (const char c : rest) PushByte(c);
  if (mode_ == Mode::kCall || mode_ == Mode::kHeader) {
    raw_ += pending_;
    Break();
  } else {
    Tell(mode_ == Mode::kReasoning ? ReplyEventKind::kReasoning : ReplyEventKind::kContent,
         pending_);
  }
  pending_.clear();
}

void ReplyParser::Tell(ReplyEventKind kind, std::string_view text) {
  if (text.empty()) return;
  if (!events_.empty() && events_.back().kind == kind) {
    events_.back().text.append(text);
  } else {
    events_.push_back({kind, n_calls_, std::string(text), {}});
  }
}

std::optional<ReplyEvent> ReplyParser::Next() {
  if (events_.empty()) return std::nullopt;
  std::optional<ReplyEvent> event(std::move(events_.front()));
  events_.pop_front();
  return event;
}

}  // namespace krafla::chat
