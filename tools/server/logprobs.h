// Log-probabilities of tokens as the two APIs show them.
#ifndef KRAFLA_TOOLS_SERVER_LOGPROBS_H_
#define KRAFLA_TOOLS_SERVER_LOGPROBS_H_

#include "tools/server/json.h"
#include "tools/server/model.h"

namespace krafla::server {

// The text of a token for people; what is no UTF-8 as \xNN.
std::string ShowToken(std::string_view bytes);
// Of a chat: {"token", "logprob", "bytes", "top_logprobs"}.
Json ChatLogprob(const ServedModel& model, const krafla_event& event);
// As JSON can say them: minus infinity is -9999.
double FiniteLogprob(float logprob);

}  // namespace krafla::server

#endif  // KRAFLA_TOOLS_SERVER_LOGPROBS_H_
