// Options a host may get wrong, and the log's level.
#include "lib/runtime/runtime.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace krafla {
namespace {

TEST_CASE("bad options are refused by name") {
  RuntimeOptions options;
  options.threads.threads = 1;
  options.allocator.allocate = [](void*, size_t, size_t) -> void* { return nullptr; };
  REQUIRE(Message(Runtime::Create(options).status()).starts_with("allocator: "));
  options.allocator = {};
  options.log_level = static_cast<LogLevel>(5);
  REQUIRE(Message(Runtime::Create(options).status()) == "log level: got 5, want 1 to 4");
  options.log_level = LogLevel::kInfo;
  options.threads.threads = 1025;
  REQUIRE(Message(Runtime::Create(options).status()) == "threads: got 1025, want 0 to 1024");
  options.threads.threads = -1;
  REQUIRE(Message(Runtime::Create(options).status()) == "threads: got -1, want 0 to 1024");
}

TEST_CASE("a runtime holds its budget and its threads") {
  RuntimeOptions options;
  options.threads.threads = 3;
  options.budget = 0;
  const auto runtime = Runtime::Create(options);
  REQUIRE(runtime.ok());
  REQUIRE((*runtime)->threads().size() == 3);
  REQUIRE((*runtime)->memory().Allocate(1, MemoryKind::kKv, "KV").status().code() ==
          absl::StatusCode::kPermissionDenied);
}

TEST_CASE("the log gets what its level lets through") {
  std::vector<std::string> lines;
  RuntimeOptions options;
  options.threads.threads = 1;
  options.log_level = LogLevel::kWarning;
  options.log_user = &lines;
  options.log = [](void* user, int32_t level, const char* text, size_t length) {
    static_cast<std::vector<std::string>*>(user)->push_back(std::to_string(level) + " " +
                                                            std::string(text, length));
  };
  const auto runtime = Runtime::Create(options);
  REQUIRE(runtime.ok());
  (*runtime)->Log(LogLevel::kError, "e");
  (*runtime)->Log(LogLevel::kWarning, "w");
  (*runtime)->Log(LogLevel::kInfo, "i");
  REQUIRE(lines == std::vector<std::string>{"1 e", "2 w"});
  options.log = nullptr;
  (*Runtime::Create(options))->Log(LogLevel::kError, "nobody listens");
}

}  // namespace
}  // namespace krafla
