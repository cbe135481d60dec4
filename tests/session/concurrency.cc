// Sessions of one model on several threads of the host at once, and decoding without allocations.
#include <thread>

#include "tests/sampler/allocations.h"
#include "tests/session/fixture.h"

namespace krafla {
namespace {

using namespace test;

TEST_CASE("forks that share pages run at the same time") {
  const auto model = OpenTiny("smollm2", Format::kQ8, MakeRuntime(2));
  SessionOptions options;
  options.batch = 32;
  const auto ids = Ids(200, 1, 512);
  const std::span<const int32_t> all(ids);
  const auto whole = NewSession(model, options);
  REQUIRE(whole->Append(ids, {}).ok());
  for (int round = 0; round < 5; ++round) {
    auto parent = NewSession(model, options);
    REQUIRE(parent->Append(all.first(45), {}).ok());
    auto fork = parent->Fork(0);
    REQUIRE(fork.ok());
    auto third = parent->Fork(0);
    REQUIRE(third.ok());
    const auto append = [&](std::unique_ptr<Session>& session, bool* same) {
      for (size_t i = 45; i < 200 && session->Append(all.subspan(i, 1), {}).ok(); ++i) {
      }
      *same = SameBits(session->logits(), whole->logits());
      session.reset();
    };
    bool same[3] = {};
    std::thread a([&] { append(parent, &same[0]); });
    std::thread b([&] { append(*fork, &same[1]); });
    append(*third, &same[2]);
    a.join();
    b.join();
    CHECK((same[0] && same[1] && same[2]));
  }
}

TEST_CASE("cancel comes from another thread") {
  const auto model = OpenTiny("smollm2", Format::kF32, MakeRuntime(2));
  const auto session = NewSession(model, {});
  const auto ids = Ids(500, 1, 512);
  std::thread other([&] { session->Cancel(); });
  Status status = OkStatus();
  for (int i = 0; i < 1000 && status.ok(); ++i) {
    status = session->Append(ids, {});
    if (status.ok()) REQUIRE(session->Truncate(0, nullptr).ok());
  }
  other.join();
  CHECK(status.code() == absl::StatusCode::kCancelled);
  CHECK(session->length() == 0);
}

TEST_CASE("decoding allocates nothing") {
  const auto runtime = MakeRuntime(2);
  const auto model = OpenTiny("smollm2", Format::kQ8, runtime);
  const auto session = NewSession(model, {});
  const auto ids = Ids(300, 1, 512);
  REQUIRE(session->Append(std::span<const int32_t>(ids).first(10), {}).ok());
  const uint64_t bytes = runtime->memory().used();
  const long before = AllocationCount();
  Status status = OkStatus();
  for (size_t i = 10; i < ids.size() && status.ok(); ++i) {
    status = session->Append({&ids[i], 1}, {});
  }
  const long after = AllocationCount();
  CHECK(status.ok());
  CHECK(after == before);
  CHECK(runtime->memory().used() == bytes);
}

}  // namespace
}  // namespace krafla
