// A session's saved bytes in a string.
#ifndef KRAFLA_TESTS_SESSION_SAVED_H_
#define KRAFLA_TESTS_SESSION_SAVED_H_

#include <string>

#include "lib/session/session.h"
#include "tests/support/catch.h"

namespace krafla::test {

class StringSink final : public ByteSink {
 public:
  Status Write(const void* data, size_t n) override {
    text.append(static_cast<const char*>(data), n);
    return OkStatus();
  }
  std::string text;
};

inline std::string SavedBytes(const Session& session, bool cache) {
  StringSink sink;
  const Status status = session.Save(cache, sink);
  INFO(Message(status));
  REQUIRE(status.ok());
  REQUIRE(sink.text.size() == session.saved_bytes(cache));
  return sink.text;
}

}  // namespace krafla::test

#endif  // KRAFLA_TESTS_SESSION_SAVED_H_
