// The insides of calls: JSON objects alone or in a list, Qwen3-Coder's tags, Mistral's name[ARGS].
// A call ends with its last brace or tag; a marker of its end may be missing.
#include "lib/chat/json_text.h"
#include "lib/chat/reply_parser.h"

namespace krafla::chat {
namespace {

constexpr std::string_view kFunctionTag = "<function=", kEndFunction = "</function>",
                           kParameterTag = "<parameter=", kEndParameter = "</parameter>";
constexpr std::string_view kArgs = "[ARGS]", kCallId = "[CALL_ID]";
constexpr size_t kMaxName = 256;

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

// `text` may be, or is begun by, `tag`.
bool Fits(std::string_view text, std::string_view tag) {
  return text.size() < tag.size() ? tag.starts_with(text) : text.starts_with(tag);
}

}  // namespace

bool ReplyParser::PushCall(char c) {
  switch (step_) {
    case Step::kBefore:
      return PushBefore(c);
    case Step::kObject:
      return PushObject(c);
    case Step::kBetween:
      return PushBetween(c);
    case Step::kClose:
      return PushClose(c);
    case Step::kFunction:
      return PushFunction(c);
    case Step::kParameter:
      return PushParameter(c);
    case Step::kValue:
      return PushValue(c);
    case Step::kName:
      return PushName(c);
    case Step::kArguments:
      return PushArguments(c);
  }
  return false;
}

bool ReplyParser::PushBefore(char c) {
  if (IsSpace(c)) return true;
  if (c == '{') {
    step_ = Step::kObject;
    return PushObject(c);
  }
  if (c == '[' && !list_) {
    list_ = true;
    return true;
  }
  if (list_ || bare_) return false;
  if (c == '<' && format_.form == CallForm::kTagged) {
    step_ = Step::kFunction;
    return PushFunction(c);
  }
  if (format_.form == CallForm::kMistral && IsNameByte(c)) {
    step_ = Step::kName;
    return PushName(c);
  }
  return false;
}

bool ReplyParser::PushObject(char c) {
  const CallReader::State state = reader_.Push(c);
  if (state == CallReader::State::kBroken) return false;
  TellCall();
  if (state == CallReader::State::kMore) return true;
  if (!told_) return false;  // not the name of a tool
  EndCall();
  step_ = list_ || close_.empty() ? Step::kBetween : Step::kClose;
  return true;
}

bool ReplyParser::PushBetween(char c) {
  if (IsSpace(c) || (c == ',' && list_) || (c == ';' && !list_)) return true;
  if (c == '{') {
    step_ = Step::kObject;
    return PushObject(c);
  }
  if (c != ']' || !list_) return false;
  list_ = false;
  raw_.clear();
  step_ = Step::kClose;
  if (close_.empty()) mode_ = Mode::kContent;
  return true;
}

bool ReplyParser::PushClose(char c) {
  if (word_.empty() && IsSpace(c)) return true;
  word_.push_back(c);
  if (!close_.starts_with(word_)) return false;
  if (word_ == close_) {
    mode_ = Mode::kContent;
    raw_.clear();
  }
  return true;
}

bool ReplyParser::PushFunction(char c) {
  word_.push_back(c);
  if (!Fits(word_, kFunctionTag)) return false;
  if (word_.size() <= kFunctionTag.size()) return true;
  if (c != '>') return IsNameByte(c) && word_.size() < kMaxName;
  name_ = word_.substr(kFunctionTag.size(), word_.size() - kFunctionTag.size() - 1);
  if (name_.empty()) return false;
  TellCall();
  word_.clear();
  step_ = Step::kParameter;
  return true;
}

bool ReplyParser::PushParameter(char c) {
  if (word_.empty() && IsSpace(c)) return true;
  word_.push_back(c);
  if (word_ == kEndFunction) {
    Tell(ReplyEventKind::kCallArguments, any_parameter_ ? "}" : "{}");
    EndCall();
    step_ = Step::kClose;
    return true;
  }
  if (kEndFunction.starts_with(word_)) return true;
  if (!Fits(word_, kParameterTag)) return false;
  if (word_.size() <= kParameterTag.size() || c != '>') {
    return c != '\n' && word_.size() < kMaxName;
  }
  key_ = word_.substr(kParameterTag.size(), word_.size() - kParameterTag.size() - 1);
  word_.clear();
  step_ = Step::kValue;
  return true;
}

bool ReplyParser::PushValue(char c) {
  word_.push_back(c);
  if (c != '>' || !word_.ends_with(kEndParameter)) return true;
  std::string_view value(word_);
  value.remove_suffix(kEndParameter.size());
  if (value.starts_with('\n')) value.remove_prefix(1);
  if (value.ends_with('\n')) value.remove_suffix(1);
  std::string text = any_parameter_ ? ", " : "{";
  any_parameter_ = true;
  AppendJsonString(key_, &text);
  text += ": ";
  // A bare value is a string where the tool says so, or else where it is no JSON.
  const bool is_string = tools_ != nullptr && tools_->strings.count(name_ + "/" + key_) > 0;
  if (!is_string && tools_ != nullptr && (value == "True" || value == "False" || value == "None")) {
    text += value == "True" ? "true" : value == "False" ? "false" : "null";
  } else if (!is_string && IsJson(value)) {
    text += value;
  } else {
    AppendJsonString(value, &text);
  }
  Tell(ReplyEventKind::kCallArguments, text);
  word_.clear();
  step_ = Step::kParameter;
  return true;
}

bool ReplyParser::PushName(char c) {
  word_.push_back(c);
  if (word_.size() > kMaxName) return false;
  if (!word_.ends_with(kArgs)) {
    return IsNameByte(c) || word_.find('[') != std::string::npos || IsSpace(c);
  }
  std::string_view name(word_);
  name.remove_suffix(kArgs.size());
  if (const size_t at = name.find(kCallId); at != std::string_view::npos) {
    id_ = name.substr(at + kCallId.size());
    name = name.substr(0, at);
  }
  name_ = name;
  reader_.Begin(name_);
  TellCall();
  step_ = Step::kArguments;
  return told_;
}

bool ReplyParser::PushArguments(char c) {
  (void)reader_.Push(c);
  TellCall();
  if (!reader_.arguments_closed()) return c == '{' || reader_.begun() || IsSpace(c);
  if (reader_.Push('}') != CallReader::State::kDone) return false;
  EndCall();
  mode_ = Mode::kContent;
  return true;
}

}  // namespace krafla::chat
