// A model's reply as events while it is written: content, reasoning, tool calls. Byte by byte, so
// that however the text is cut, the events are the same but for the cuts of the deltas.
//
// No text is lost or told twice: contents and reasonings are the reply's bytes but for the markers
// and the calls. What begins like a call and turns out to be none (broken JSON, no end) becomes
// content, all of it, markers included; where its beginning was told already, kCallDropped says so.
// Bytes that are no UTF-8 become U+FFFD.
#ifndef KRAFLA_LIB_CHAT_REPLY_PARSER_H_
#define KRAFLA_LIB_CHAT_REPLY_PARSER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/chat/call_reader.h"
#include "lib/chat/reply_format.h"

namespace krafla::chat {

enum class ReplyEventKind : uint8_t {
  kContent = 1,    // text
  kReasoning,      // text
  kCallBegin,      // index, text: the name, id
  kCallArguments,  // index, text: more of the arguments' JSON
  kCallEnd,        // index
  kCallDropped,    // index: it was none; its text follows as content
};

struct ReplyEvent {
  ReplyEventKind kind;
  int32_t index = 0;
  std::string text;
  std::string id;
};

// What a host knows of its tools.
struct ToolNames {
  std::set<std::string, std::less<>> names;
  // "name/parameter" of parameters that are strings, for forms that write values bare.
  std::set<std::string, std::less<>> strings;
};

class ReplyParser {
 public:
  // Without tools only markers that no other text has begin a call: JSON alone is content then.
  // prompt_end: the end of the rendered prompt, which may have opened the reasoning. Ids that a
  // model does not give are made of first_call.
  ReplyParser(ReplyFormat format, const ToolNames* tools, std::string_view prompt_end,
              int64_t first_call);

  void Push(std::string_view bytes);
  void Finish();  // the end of the reply
  // The next event, in order; none: more text is needed. Neighbouring deltas are one.
  std::optional<ReplyEvent> Next();

  int32_t n_calls() const { return n_calls_; }

 private:
  enum class Mode : uint8_t { kContent, kReasoning, kCall, kHeader };
  enum class Step : uint8_t {
    kBefore,     // of a call: nothing but space since its marker
    kObject,     // in its JSON
    kBetween,    // behind it, where another one may follow
    kClose,      // behind it, before the marker of its end
    kFunction,   // in <function=...>
    kParameter,  // between parameters
    kValue,      // of a parameter
    kName,       // in name[ARGS]
    kArguments,  // in JSON that follows a name
  };

  void PushByte(char c);
  void PushText(char c);  // content and reasoning
  // Of calls; false: c is no part of one, which is broken (reply_calls.cc).
  bool PushCall(char c);
  bool PushBefore(char c);
  bool PushObject(char c);
  bool PushBetween(char c);
  bool PushClose(char c);
  bool PushFunction(char c);
  bool PushParameter(char c);
  bool PushValue(char c);
  bool PushName(char c);
  bool PushArguments(char c);
  // Of gpt-oss (reply_harmony.cc).
  void PushHarmony(char c);
  bool HarmonyMarker();
  void HarmonyText(char c);
  void HarmonyHeader();
  void BeginCall();
  void TellCall();
  void EndCall();
  void Break();
  bool MayBegin(std::string_view text) const;
  bool Opens(std::string_view text);
  void Tell(ReplyEventKind kind, std::string_view text);
  bool AtStart() const { return !said_; }

  ReplyFormat format_;
  const ToolNames* tools_;
  int64_t first_call_;
  std::vector<std::string_view> openers_;
  Mode mode_ = Mode::kContent;
  Step step_ = Step::kBefore;
  std::string utf8_;     // bytes of a code point that is not complete
  std::string pending_;  // may be the beginning of a marker
  std::string raw_;      // of the call, in case it is none
  std::string word_;     // a tag, a name, a closing marker so far
  std::string key_;      // of a parameter
  CallReader reader_;
  std::string_view close_;  // the marker of its end
  bool bare_ = false;       // no marker began it
  bool list_ = false;       // in [...]
  bool told_ = false;       // its beginning
  bool any_parameter_ = false;
  std::string name_, id_;
  bool said_ = false;  // something other than space, or a call
  int32_t n_calls_ = 0;
  std::deque<ReplyEvent> events_;
};

}  // namespace krafla::chat

#endif  // KRAFLA_LIB_CHAT_REPLY_PARSER_H_
