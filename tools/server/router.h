// From a request to its handler: who may come in, which handler it is, and every error as a reply.
#ifndef KRAFLA_TOOLS_SERVER_ROUTER_H_
#define KRAFLA_TOOLS_SERVER_ROUTER_H_

#include <string>

#include "tools/server/http/connection.h"
#include "tools/server/state.h"

namespace krafla::server {

void Route(State& state, const HttpRequest& request, HttpReply& reply);
// For errors of the transport.
std::string TransportErrorBody(const HttpError& error);

}  // namespace krafla::server

#endif  // KRAFLA_TOOLS_SERVER_ROUTER_H_
