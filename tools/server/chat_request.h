// A request for a chat reply: what was asked, checked and turned into a prompt.
#ifndef KRAFLA_TOOLS_SERVER_CHAT_REQUEST_H_
#define KRAFLA_TOOLS_SERVER_CHAT_REQUEST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/server/json.h"
#include "tools/server/model.h"
#include "tools/server/sampling.h"

namespace krafla::server {

struct ChatRequest {
  // Throws ApiError.
  // any_length: the prompt may be far too long for the context.
  ChatRequest(const Json& body, ServedModel* model, bool any_length = false);

  // A conversation that expects the reply to this request; one for each choice.
  Chat NextChat();

  ServedModel* model;
  std::string messages;  // JSON, as are the next two; "": none
  std::string tools;
  std::string variables;
  bool calls_allowed = true;  // tool_choice is not none
  bool parallel_calls = true;
  bool stream = false;
  bool include_usage = false;
  bool return_progress = false;
  int64_t n = 1;
  std::optional<Constraint> constraint;
  Sampling sampling;
  std::vector<int32_t> ids;  // the prompt

 private:
  Chat NewChat() const;
  void CheckLength() const;

  std::optional<Chat> first_;  // the one that the prompt was encoded with
};

}  // namespace krafla::server

#endif  // KRAFLA_TOOLS_SERVER_CHAT_REQUEST_H_
