// Server-sent events: data lines, comments that keep a connection alive while nothing is to be
// said, and a client that has gone as an exception.
#ifndef KRAFLA_TOOLS_SERVER_EVENT_STREAM_H_
#define KRAFLA_TOOLS_SERVER_EVENT_STREAM_H_

#include <string_view>

#include "tools/server/errors.h"
#include "tools/server/http/reply.h"
#include "tools/server/json.h"

namespace krafla::server {

class EventStream {
 public:
  // Sends the head of the reply.
  explicit EventStream(HttpReply* reply);

  void Send(const Json& data);
  // With a name, as /v1/responses has them.
  void Send(std::string_view event, const Json& data);
  // A comment, where nothing was sent for a while.
  void KeepAlive();
  void Done();  // "[DONE]", and the end
  void End();
  // The last thing that is sent.
  void Fail(const ApiError& error);
  // body(), whose errors become an event: the status has been sent.
  template <typename Body>
  void Guard(Body&& body) {
    try {
      body();
    } catch (const ApiError& error) {
      Fail(error);
    } catch (const Error& error) {
      Fail(FromLibrary(error));
    }
  }

 private:
  void Write(std::string_view text);

  HttpReply* reply_;
  Clock::time_point sent_ = Clock::now();
};

}  // namespace krafla::server

#endif  // KRAFLA_TOOLS_SERVER_EVENT_STREAM_H_
