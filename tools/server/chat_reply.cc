// See chat_reply.h.
#include "tools/server/chat_reply.h"

namespace krafla::server {

ChatDelta ChatReply::Push(const krafla_event& token) {
  if (token.id >= 0) ++tokens_;
  if (by_text_ && (token.id < 0 || !model_->IsSpecial(token.id))) {
    if (token.text_length > 0) chat_.Push(std::string_view(token.text, token.text_length));
  } else if (token.id >= 0) {
    chat_.Push(token.id);
  }
  return Take();
}

ChatDelta ChatReply::Finish() {
  chat_.Push(std::string_view());  // a reply of no token at all is one, too
  chat_.Finish();
  return Take();
}

ChatDelta ChatReply::Take() {
  ChatDelta delta;
  delta.first_call = calls_.size();
  krafla_chat_event event = KRAFLA_CHAT_EVENT_INIT;
  while (chat_.Next(&event)) {
    const std::string_view text(event.text, event.text_length);
    switch (event.kind) {
      case KRAFLA_CHAT_CONTENT:
        delta.content += text;
        break;
      case KRAFLA_CHAT_REASONING:
        delta.reasoning += text;
        break;
      case KRAFLA_CHAT_CALL_BEGIN:
        open_ = {std::string(event.id, event.id_length), std::string(text), {}};
        break;
      case KRAFLA_CHAT_CALL_ARGUMENTS:
        open_.arguments += text;
        break;
      case KRAFLA_CHAT_CALL_END:
        if (open_.arguments.empty()) open_.arguments = "{}";
        delta.calls.push_back(open_);
        calls_.push_back(std::move(open_));
        open_ = {};
        break;
      default:
        open_ = {};
        break;
    }
  }
  content_ += delta.content;
  reasoning_ += delta.reasoning;
  if (!delta.reasoning.empty()) reasoning_tokens_ = tokens_;
  return delta;
}

Json CallJson(const ToolCall& call) {
  return {{"id", call.id},
          {"type", "function"},
          {"function", {{"name", call.name}, {"arguments", call.arguments}}}};
}

Json ChatReply::Message() const {
  Json message = {{"role", "assistant"}};
  const bool blank = content_.find_first_not_of(" \t\r\n") == std::string::npos;
  message["content"] = blank && !calls_.empty() ? Json() : Json(content_);
  message["refusal"] = nullptr;
  if (!reasoning_.empty()) message["reasoning_content"] = reasoning_;
  if (!calls_.empty()) {
    message["tool_calls"] = Json::array();
    for (const ToolCall& call : calls_) message["tool_calls"].push_back(CallJson(call));
  }
  return message;
}

}  // namespace krafla::server
