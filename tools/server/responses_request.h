// A request of /v1/responses in the words of /v1/chat/completions: items become messages.
#ifndef KRAFLA_TOOLS_SERVER_RESPONSES_REQUEST_H_
#define KRAFLA_TOOLS_SERVER_RESPONSES_REQUEST_H_

#include <string>
#include <vector>

#include "tools/server/errors.h"
#include "tools/server/json.h"

namespace krafla::server {

class ResponsesRequest {
 public:
  // Throws ApiError, with the names of the fields that were given.
  explicit ResponsesRequest(const Json& body);

  const Json& chat() const { return chat_; }
  // What is wrong with chat(), told in the names of what it was made of.
  ApiError Told(const ApiError& error) const;

 private:
  // What a message was made of: "input[2]", and so each of its calls.
  struct Origin {
    std::string name;
    std::vector<std::string> calls;
  };

  void ReadInput(const Json& body);
  void AddMessage(Json message, std::string name);
  void AddItem(const Json& item, const std::string& name);
  std::string GivenName(const std::string& name) const;

  Json chat_ = Json::object();
  std::vector<Origin> origins_;  // of each message
  bool text_format_ = false;     // the response_format is text.format
};

}  // namespace krafla::server

#endif  // KRAFLA_TOOLS_SERVER_RESPONSES_REQUEST_H_
