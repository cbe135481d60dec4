// One choice's reply in the making: from tokens to content, reasoning and calls.
#ifndef KRAFLA_TOOLS_SERVER_CHAT_REPLY_H_
#define KRAFLA_TOOLS_SERVER_CHAT_REPLY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/server/json.h"
#include "tools/server/model.h"

namespace krafla::server {

struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments;  // JSON
};

// What became complete with some tokens.
struct ChatDelta {
  std::string content;
  std::string reasoning;
  std::vector<ToolCall> calls;
  size_t first_call = 0;  // the number of calls[0] in the reply
  bool empty() const { return content.empty() && reasoning.empty() && calls.empty(); }
};

class ChatReply {
 public:
  // by_text: the reply may end at a stop string, so only text that was let out counts.
  ChatReply(Chat chat, const ServedModel* model, bool by_text)
      : chat_(std::move(chat)), model_(model), by_text_(by_text) {}

  ChatDelta Push(const krafla_event& token);
  ChatDelta Finish();

  const std::vector<ToolCall>& calls() const { return calls_; }
  // Those up to the last one that has text of the reasoning.
  int64_t reasoning_tokens() const { return reasoning_tokens_; }
  // As choices[].message has it.
  Json Message() const;

 private:
  ChatDelta Take();

  Chat chat_;
  const ServedModel* model_;
  bool by_text_;
  std::string content_;
  std::string reasoning_;
  std::vector<ToolCall> calls_;
  int64_t tokens_ = 0;
  int64_t reasoning_tokens_ = 0;
  ToolCall open_;  // a call that is told whole, since it may turn out to be none
};

Json CallJson(const ToolCall& call);

}  // namespace krafla::server

#endif  // KRAFLA_TOOLS_SERVER_CHAT_REPLY_H_
