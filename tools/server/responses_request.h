// A request of /v1/responses in the words of /v1/chat/completions: items become messages.
#ifndef KRAFLA_TOOLS_SERVER_RESPONSES_REQUEST_H_
#define KRAFLA_TOOLS_SERVER_RESPONSES_REQUEST_H_

#include "tools/server/json.h"

namespace krafla::server {

// Throws ApiError, with the names of the fields that were given.
Json ChatBodyOf(const Json& body);

}  // namespace krafla::server

#endif  // KRAFLA_TOOLS_SERVER_RESPONSES_REQUEST_H_
