// The forms in which models write tool calls and reasoning. A model's own template shows which one
// it was taught: it renders calls of the history in it.
#ifndef KRAFLA_LIB_CHAT_REPLY_FORMAT_H_
#define KRAFLA_LIB_CHAT_REPLY_FORMAT_H_

#include <cstdint>
#include <string_view>

namespace krafla::chat {

enum class CallForm : uint8_t {
  kJson,     // the whole reply is {"name": ..., "arguments"|"parameters": ...} or a list of such
  kTagged,   // <tool_call> with such an object or <function=name><parameter=key>value</...>
  kMistral,  // [TOOL_CALLS] with a list of them, or name[ARGS]{...}
  kLlama,    // as kJson, or behind <|python_tag|>
  kFenced,   // as kJson, or in ```tool_code, ```tool_call or ```json
  kHarmony,  // channels: analysis, commentary to=functions.name, final
};

struct ReplyFormat {
  CallForm form = CallForm::kJson;
  bool thinks = false;  // <think>...</think> is reasoning
};

ReplyFormat RecogniseFormat(std::string_view template_source);

// What stands around the calls of one reply, and how a call is known from other text.
struct CallTexts {
  std::string_view begin, end;
  std::string_view between;  // two calls; "" where the form has but one
  std::string_view no_call;  // a pattern that text without a call does not match
  bool text_before = false;  // calls may follow other text
  // kHarmony: the tool's name stands between these, and only its arguments follow.
  std::string_view name_begin, name_end;
  std::string_view text_begin;  // before text without a call
  std::string_view think_begin = "<think>", think_end = "</think>";
  std::string_view think_after;  // before what follows reasoning; empty: line breaks
};

CallTexts TextsOf(CallForm form);
// "tagged", "mistral", ...
std::string_view FormName(CallForm form);

}  // namespace krafla::chat

#endif  // KRAFLA_LIB_CHAT_REPLY_FORMAT_H_
