// See call_reader.h.
#include "lib/chat/call_reader.h"

#include <utility>

#include "lib/chat/json_text.h"

namespace krafla::chat {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

// A byte of a value: of one that is kept, or of the arguments as they stream.
void CallReader::Keep(char c) {
  if (keeps_value_) {
    value_.push_back(c);
  } else if (is_arguments_) {
    arguments_.push_back(c);
  }
}

void CallReader::StartValue(char c) {
  part_ = Part::kComma;
  const std::string key = UnescapeJson(key_);
  keeps_value_ = is_arguments_ = false;
  if (depth_ != base_) return;
  if (key == "function" && c == '{') {
    base_ = depth_ + 1;
    part_ = Part::kKey;
    return;
  }
  is_arguments_ = key == "arguments" || key == "parameters";
  const bool is_name = key == "name" || key == "function";
  keeps_value_ = is_name || key == "id" || (is_arguments_ && c != '{');
  // A second one would contradict what has been given out.
  broken_ |= (is_arguments_ && has_arguments_) || (is_name && !name_.empty());
  has_arguments_ |= is_arguments_;
  value_.clear();
}

void CallReader::EndValue() {
  if (keeps_value_ && is_arguments_) {
    // A string that holds the arguments, or null for none.
    const std::string text = UnescapeJson(value_);
    bool is_object = false;
    broken_ |= text.empty() ? value_ != "null" : !IsJson(text, &is_object) || !is_object;
    arguments_ += text;
    has_arguments_ = !text.empty();
  } else if (keeps_value_) {
    const std::string key = UnescapeJson(key_);
    (key == "id" ? id_ : name_) = UnescapeJson(value_);
  }
  keeps_value_ = is_arguments_ = false;
}

CallReader::State CallReader::EndObject() {
  if (broken_ || name_.empty() || !IsJson(raw_)) return State::kBroken;
  if (!has_arguments_) arguments_ = "{}";
  return State::kDone;
}

CallReader::State CallReader::Push(char c) {
  raw_.push_back(c);
  if (in_string_) {
    if (part_ == Part::kColon && depth_ == base_) key_.push_back(c);
    Keep(c);
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      in_string_ = false;
      if (part_ == Part::kComma && depth_ == base_) EndValue();
    }
    return State::kMore;
  }
  if (IsSpace(c)) {
    Keep(c);
    return State::kMore;
  }
  const bool own = depth_ == base_;  // a member of the call itself
  if (own && part_ == Part::kValue && c != '}' && c != ']' && c != ',' && c != ':') StartValue(c);
  switch (c) {
    case '"':
      in_string_ = true;
      if (own && part_ == Part::kKey) {
        part_ = Part::kColon;
        key_ = c;
      } else {
        Keep(c);
      }
      return State::kMore;
    case ':':
      if (own && part_ == Part::kColon) {
        part_ = Part::kValue;
      } else {
        Keep(c);
      }
      return State::kMore;
    case ',':
      if (own) {
        EndValue();
        part_ = Part::kKey;
      } else {
        Keep(c);
      }
      return State::kMore;
    case '{':
    case '[':
      Keep(c);
      ++depth_;
      return State::kMore;
    case '}':
    case ']':
      if (own) EndValue();
      if (--depth_ < base_ && base_ == 2) base_ = 1;
      if (depth_ == 0) return EndObject();
      Keep(c);
      if (depth_ == base_) EndValue();
      return State::kMore;
    default:
      Keep(c);
      return State::kMore;
  }
}

void CallReader::Begin(std::string_view name) {
  std::string text = "{\"name\": ";
  AppendJsonString(name, &text);
  text += ", \"arguments\": ";
  for (const char c : text) Push(c);
}

std::string CallReader::TakeArguments() {
  return name_.empty() ? std::string() : std::exchange(arguments_, std::string());
}

}  // namespace krafla::chat
