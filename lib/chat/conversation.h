// A conversation as a template's input: messages, tools and variables, each checked when it comes
// in and kept as JSON text. Rendering keeps the trust of every byte (lib/chat/template.h): what
// messages and tools say never becomes a control token. A conversation that grew too long loses its
// oldest turns by a rule, or is refused.
#ifndef KRAFLA_LIB_CHAT_CONVERSATION_H_
#define KRAFLA_LIB_CHAT_CONVERSATION_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/status.h"
#include "lib/chat/reply_parser.h"
#include "lib/chat/template.h"

namespace krafla {

class Conversation {
 public:
  // source: of the template, which also shows the form of calls.
  Conversation(std::shared_ptr<const ChatTemplate> chat_template, std::string_view source);

  // One message object, or an array of them: all or nothing. ArgumentError names what is wrong,
  // UnsupportedError a part that is no text.
  Status Add(std::string_view json);
  Status Add(std::string_view role, std::string_view content);
  void Truncate(size_t n_messages);
  size_t size() const { return messages_.size(); }
  // All messages as a JSON array.
  std::string Json() const;

  // An array of tools in OpenAI's shape, {"type": "function", "function": {...}}, or of the inner
  // objects; "" for none.
  Status SetTools(std::string_view json);
  bool has_tools() const { return !tools_.empty(); }
  // An object whose members the template sees as variables (chat_template_kwargs).
  Status SetVariables(std::string_view json);

  // The prompt for the next reply.
  StatusOr<std::vector<TextRun>> Render(std::span<const TrustedVariable> trusted) const;

  // The messages that one oldest turn takes away: behind the system messages at the beginning, up
  // to the next user message. {begin, end}, equal where only the last turn is left.
  std::pair<size_t, size_t> OldestTurn() const;
  void Drop(size_t begin, size_t end);

  // A parser for the next reply, to which prompt_end is the end of the prompt.
  chat::ReplyParser Parser(std::string_view prompt_end) const;
  const chat::ReplyFormat& format() const { return format_; }
  struct Tool {
    std::string name;
    std::string parameters;  // a JSON schema
  };
  // The named tool or ("") all. NotFoundError, StateError without tools.
  StatusOr<std::vector<Tool>> Tools(std::string_view tool) const;
  // A JSON schema of one call in the model's form, of one of these.
  StatusOr<std::string> CallSchema(std::string_view tool) const;
  // The reply as an assistant's message is added; calls get the ids that events told.
  void AddReply(std::string_view content, std::string_view reasoning, std::string_view calls_json,
                size_t n_calls);

 private:
  struct Message {
    std::string role;
    std::string json;
    std::string filled = {};  // with an empty text for a content that is not there; "": it is
  };

  std::string Input(bool filled) const;

  std::shared_ptr<const ChatTemplate> template_;
  chat::ReplyFormat format_;
  std::vector<Message> messages_;
  std::string tools_;      // an array
  std::string variables_;  // members without braces
  std::vector<Tool> tool_list_;
  chat::ToolNames tool_names_;
  int64_t n_calls_ = 0;  // the number of the next one's id: none of the history has it
};

}  // namespace krafla

#endif  // KRAFLA_LIB_CHAT_CONVERSATION_H_
