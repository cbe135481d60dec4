// What all requests share, and what one request's handler is given.
#ifndef KRAFLA_TOOLS_SERVER_STATE_H_
#define KRAFLA_TOOLS_SERVER_STATE_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tools/server/http/message.h"
#include "tools/server/http/reply.h"
#include "tools/server/json.h"
#include "tools/server/metrics.h"
#include "tools/server/model.h"
#include "tools/server/security.h"

namespace krafla::server {

struct State {
  AccessRules access;
  // Filled before ready is set, never changed afterwards.
  std::vector<std::unique_ptr<ServedModel>> models;
  std::atomic<bool> ready{false};
  std::atomic<bool> stopping{false};  // requests at work are cancelled
  int64_t parallel = 0;
  std::atomic<uint64_t> loaded_bytes{0};
  std::atomic<uint64_t> total_bytes{0};
  Metrics metrics;
  std::function<std::string()> connection_metrics;
};

// The client went away: nobody is to be answered.
struct ClientLeft {};

// One request while it is answered.
struct Call {
  State& state;
  const HttpRequest& request;
  HttpReply& reply;

  void SendJson(const Json& json, int status = 200) const {
    reply.Send(status, "application/json", Dump(json));
  }
  // The model that the request names; the first one where it names none. Throws ApiError.
  ServedModel& FindModel(const Json& body) const;

  // Throws what ends a request that nobody waits for: ClientLeft, or ApiError where the server
  // stops.
  void CheckWanted() const;
  // Work of a session, which hands StopUnwanted and this to it as on_progress and user.
  template <typename Work>
  void WhileWanted(Work work) const {
    try {
      work();
    } catch (const Error&) {
      CheckWanted();
      throw;
    }
  }
  static int StopUnwanted(void* call, int64_t done, int64_t total);
};

// "chatcmpl-" and 24 letters and digits that no other id has.
std::string NewId(std::string_view prefix);
int64_t UnixTime();

}  // namespace krafla::server

#endif  // KRAFLA_TOOLS_SERVER_STATE_H_
