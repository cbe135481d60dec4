// Failed, cancelled and refused calls leave a session as it was; plans are exact.
#include <absl/status/status.h>

#include "tests/session/fixture.h"

namespace krafla {
namespace {

using namespace test;

struct Snapshot {
  explicit Snapshot(const Session& session)
      : ids(session.ids().begin(), session.ids().end()),
        logits(Copy(session.logits())),
        kv_bytes(session.kv_bytes()) {}
  std::vector<int32_t> ids;
  std::vector<float> logits;
  uint64_t kv_bytes;
};

void CheckSame(const Session& session, const Snapshot& before) {
  CHECK(std::vector<int32_t>(session.ids().begin(), session.ids().end()) == before.ids);
  CHECK(SameBits(session.logits(), before.logits));
  CHECK(session.kv_bytes() == before.kv_bytes);
  CHECK(!session.begun());
}

struct Stop {
  int after = 0;
  int calls = 0;
  Session* cancel = nullptr;
};

int StopAfter(void* user, int64_t done, int64_t total) {
  auto& stop = *static_cast<Stop*>(user);
  CHECK(done >= 0);
  CHECK(done <= total);
  if (++stop.calls < stop.after) return 0;
  if (stop.cancel == nullptr) return 1;
  stop.cancel->Cancel();
  return 0;
}

TEST_CASE("a stopped append leaves the session as it was") {
  const auto model = OpenTiny("smollm2", Format::kQ8, MakeRuntime(2));
  const auto ids = Ids(300, 1, 512);
  const std::span<const int32_t> all(ids);
  SessionOptions options;
  options.batch = 64;
  options.kv = GENERATE(KvType::kF16, KvType::kK6V6);
  const auto whole = NewSession(model, options);
  REQUIRE(whole->Append(ids, {}).ok());

  for (const bool by_cancel : {false, true}) {
    for (const int after : {1, 2, 10, 60}) {
      const auto session = NewSession(model, options);
      REQUIRE(session->Append(all.first(40), {}).ok());
      const Snapshot before(*session);
      Stop stop{after, 0, by_cancel ? session.get() : nullptr};
      AppendOptions append;
      append.on_progress = StopAfter;
      append.user = &stop;
      const Status status = session->Append(all.subspan(40), append);
      CHECK(status.code() ==
            (by_cancel ? absl::StatusCode::kCancelled : absl::StatusCode::kAborted));
      CHECK(stop.calls == after);
      CheckSame(*session, before);
      REQUIRE(session->Append(all.subspan(40), {}).ok());
      CHECK(SameBits(session->logits(), whole->logits()));
    }
  }
}

TEST_CASE("a cancel given early is taken by the next call, once") {
  const auto model = OpenTiny("smollm2", Format::kF32, MakeRuntime(1));
  SessionOptions session_options;
  session_options.kv = GENERATE(KvType::kF16, KvType::kK4V4);
  const auto session = NewSession(model, session_options);
  const auto ids = Ids(100, 1, 512);
  session->Cancel();
  CHECK(session->Append(ids, {}).code() == absl::StatusCode::kCancelled);
  CHECK(session->length() == 0);
  CHECK(session->Append(ids, {}).ok());
  const Snapshot before(*session);
  session->Cancel();
  CHECK(session->Truncate(50, nullptr).code() == absl::StatusCode::kCancelled);
  CheckSame(*session, before);
  CHECK(session->Truncate(50, nullptr).ok());
  const auto other = NewSession(model, {});
  Session* sessions[] = {session.get(), other.get()};
  const std::span<const int32_t> both[] = {ids, ids};
  const Snapshot shorter(*session);
  other->Cancel();
  CHECK(Session::AppendBatch(sessions, both).code() == absl::StatusCode::kCancelled);
  CheckSame(*session, shorter);
  CHECK(other->length() == 0);
  CHECK(Session::AppendBatch(sessions, both).ok());
}

TEST_CASE("logits callbacks may stop") {
  const auto model = OpenTiny("smollm2", Format::kF32, MakeRuntime(1));
  const auto session = NewSession(model, {});
  const auto ids = Ids(40, 1, 512);
  REQUIRE(session->Append(std::span<const int32_t>(ids).first(3), {}).ok());
  const Snapshot before(*session);
  int64_t last = -1;
  AppendOptions options;
  options.logits = WantLogits::kAll;
  options.user = &last;
  options.on_logits = [](void* user, int64_t position, const float*, size_t n_vocab) {
    auto& seen = *static_cast<int64_t*>(user);
    CHECK(n_vocab == 512);
    CHECK((seen == -1 || position == seen + 1));
    seen = position;
    return position == 25 ? 1 : 0;
  };
  CHECK(session->Append(ids, options).code() == absl::StatusCode::kAborted);
  CHECK(last == 25);
  CheckSame(*session, before);
}

TEST_CASE("slices keep what they did, abandoning drops it") {
  const auto model = OpenTiny("smollm2", Format::kF32, MakeRuntime(1));
  const auto session = NewSession(model, {});
  const auto ids = Ids(100, 1, 512);
  CHECK(session->Step(0).status().code() == absl::StatusCode::kFailedPrecondition);
  REQUIRE(session->Append(std::span<const int32_t>(ids).first(10), {}).ok());
  const Snapshot before(*session);
  REQUIRE(session->Begin(std::span<const int32_t>(ids).subspan(10), {}).ok());
  CHECK(session->begun());
  CHECK(session->Append(ids, {}).code() == absl::StatusCode::kFailedPrecondition);
  CHECK(session->Append({}, {}).code() == absl::StatusCode::kFailedPrecondition);
  CHECK(session->Truncate(3, nullptr).code() == absl::StatusCode::kFailedPrecondition);
  CHECK(session->Fork(0).status().code() == absl::StatusCode::kFailedPrecondition);
  for (int i = 0; i < 5; ++i) REQUIRE(session->Step(0).ok());
  session->Abandon();
  CheckSame(*session, before);

  REQUIRE(session->Begin(std::span<const int32_t>(ids).subspan(10), {}).ok());
  for (int i = 0; i < 5; ++i) REQUIRE(session->Step(0).ok());
  session->Cancel();
  CHECK(session->Step(0).status().code() == absl::StatusCode::kCancelled);
  CHECK(session->begun());
  CHECK(*session->Step(-1));
  const auto whole = NewSession(model, {});
  REQUIRE(whole->Append(ids, {}).ok());
  CHECK(SameBits(session->logits(), whole->logits()));

  REQUIRE(session->Begin({}, {}).ok());
  CHECK(*session->Step(0));
  CHECK(SameBits(session->logits(), whole->logits()));
}

TEST_CASE("without logits, then with") {
  const auto model = OpenTiny("smollm2", Format::kF32, MakeRuntime(1));
  const auto session = NewSession(model, {});
  const auto ids = Ids(100, 1, 512);
  AppendOptions none;
  none.logits = WantLogits::kNone;
  REQUIRE(session->Append(ids, none).ok());
  CHECK(session->length() == 100);
  CHECK(session->logits().empty());
  CutReport report;
  REQUIRE(session->Truncate(100, &report).ok());
  CHECK(report.recomputed == 1);
  const auto whole = NewSession(model, {});
  REQUIRE(whole->Append(ids, {}).ok());
  CHECK(SameBits(session->logits(), whole->logits()));
}

TEST_CASE("bad arguments are refused before any work") {
  const auto model = OpenTiny("smollm2", Format::kF32, MakeRuntime(1));
  SessionOptions options;
  options.context = 50;
  const auto session = NewSession(model, options);
  const auto ids = Ids(51, 1, 512);
  CHECK(session->Append(ids, {}).code() == absl::StatusCode::kOutOfRange);
  const int32_t bad[] = {1, 512};
  CHECK(session->Append(bad, {}).code() == absl::StatusCode::kInvalidArgument);
  const int32_t negative[] = {-1};
  CHECK(session->Append(negative, {}).code() == absl::StatusCode::kInvalidArgument);
  CHECK(session->length() == 0);
  CHECK(session->Append(std::span<const int32_t>(ids).first(50), {}).ok());
  CHECK(session->Append(std::span<const int32_t>(ids).first(1), {}).code() ==
        absl::StatusCode::kOutOfRange);
  CHECK(session->length() == 50);
  CHECK(session->Append({}, {}).ok());
  CHECK(session->Truncate(51, nullptr).code() == absl::StatusCode::kInvalidArgument);
  CHECK(session->Truncate(-1, nullptr).code() == absl::StatusCode::kInvalidArgument);
  CHECK(!session->Fork(51).ok());

  Session* twice[] = {session.get(), session.get()};
  const std::span<const int32_t> none[] = {{}, {}};
  CHECK(Session::AppendBatch(twice, none).code() == absl::StatusCode::kInvalidArgument);
  CHECK(Session::AppendBatch({twice, 1}, none).code() == absl::StatusCode::kInvalidArgument);
  CHECK(Session::AppendBatch({twice, 1}, {none, 1}).ok());
  CHECK(Session::AppendBatch({}, {}).ok());

  for (const SessionOptions& refused :
       {SessionOptions{513}, SessionOptions{-1}, SessionOptions{50, static_cast<KvType>(7)},
        SessionOptions{50, KvType::kF16, 51}, SessionOptions{50, KvType::kF16, -2},
        SessionOptions{50, KvType::kF16, -1, 100000}}) {
    CHECK(Session::Create(model, refused).status().code() == absl::StatusCode::kInvalidArgument);
    CHECK(!PlanSession(model->config(), refused, 1).ok());
  }
}

TEST_CASE("the plan is what a session takes") {
  const KvType kv = GENERATE(KvType::kF16, KvType::kQ8, KvType::kK4V4);
  for (const int32_t threads : {1, 3}) {
    for (const int64_t context : {0, 33, 512}) {
      const auto runtime = MakeRuntime(threads);
      const auto model = OpenTiny("llama_odd", Format::kQ4, runtime);
      SessionOptions options;
      options.context = context;
      options.batch = 40;
      options.kv = kv;
      const auto plan = PlanSession(model->config(), options, runtime->threads().size());
      REQUIRE(plan.ok());
      const Memory& memory = runtime->memory();
      const uint64_t before = memory.used();
      {
        const auto session = NewSession(model, options);
        CHECK(memory.used(MemoryKind::kKv) == plan->kv);
        CHECK(memory.used(MemoryKind::kScratch) == plan->scratch);
        CHECK(memory.used() - before == plan->kv + plan->state + plan->scratch);
        const auto ids = Ids(static_cast<size_t>(session->context()), 1, 509);
        REQUIRE(session->Append(ids, {}).ok());
        CHECK(memory.used() - before == plan->kv + plan->state + plan->scratch);
        if (kv == KvType::kF16) CHECK(session->kv_bytes() == plan->kv);
        CHECK(session->kv_bytes() <= plan->kv);
      }
      CHECK(memory.used() == before);
    }
  }
}

TEST_CASE("plans of absurd sizes are refused, not wrapped") {
  Config config = ReadConfig("smollm2");
  config.max_positions = 1 << 30;
  config.n_layers = 4096;
  config.n_heads = 1 << 14;
  config.n_kv_heads = 1 << 14;
  config.head_dim = 1024;
  SessionOptions options;
  options.context = 1 << 30;
  options.kv = KvType::kF32;
  CHECK(!PlanSession(config, options, 4).ok());
}

TEST_CASE("steady decoding takes no memory from the allocator") {
  const auto runtime = MakeRuntime(1);
  const auto model = OpenTiny("smollm2", Format::kF32, runtime);
  for (const int64_t reserve : {int64_t{-1}, int64_t{0}}) {
    SessionOptions options;
    options.kv = KvType::kK4V4;
    options.batch = 48;
    options.context = 256;  // the slab of a session without a reserve
    options.reserve = reserve;
    const auto session = NewSession(model, options);
    const auto ids = Ids(256, 1, 512);
    REQUIRE(session->Append(std::span<const int32_t>(ids).first(50), {}).ok());
    const uint64_t used = runtime->memory().used();
    for (size_t i = 50; i < ids.size(); ++i) {
      REQUIRE(session->Append(std::span<const int32_t>(ids).subspan(i, 1), {}).ok());
    }
    CHECK(runtime->memory().used() == used);
  }
}

TEST_CASE("a budget is kept") {
  const auto runtime = MakeRuntime(1, 3000000);
  const auto model = OpenTiny("smollm2", Format::kF32, runtime);
  SessionOptions options;
  options.batch = 32;
  options.reserve = 0;
  const auto session = NewSession(model, options);
  const auto ids = Ids(512, 1, 512);
  REQUIRE(session->Append(std::span<const int32_t>(ids).first(40), {}).ok());
  const Snapshot before(*session);
  std::vector<std::unique_ptr<Session>> forks;
  while (true) {
    auto fork = session->Fork(0);
    if (!fork.ok()) {
      CHECK(fork.status().code() == absl::StatusCode::kPermissionDenied);
      break;
    }
    forks.push_back(*std::move(fork));
    REQUIRE(forks.size() < 1000);
  }
  CHECK(session->Append(std::span<const int32_t>(ids).first(400), {}).code() ==
        absl::StatusCode::kPermissionDenied);
  CheckSame(*session, before);
  CHECK(runtime->memory().peak() <= 3000000);
  forks.clear();
  REQUIRE(session->Append(std::span<const int32_t>(ids).first(400), {}).ok());
}

}  // namespace
}  // namespace krafla
