// The scheduler: whatever else runs, waits, is cancelled or evicted, each reply is the one that its
// request would get alone.
#include "lib/batch/scheduler.h"

#include <atomic>
#include <cstdlib>
#include <thread>

#include "tests/batch/replies.h"

namespace krafla {
namespace {

using namespace test;

class Random {
 public:
  explicit Random(uint32_t seed) : state_(seed) {}
  size_t Below(size_t n) {
    state_ = state_ * 1664525 + 1013904223;
    return static_cast<size_t>((uint64_t{state_ >> 8} * n) >> 24);
  }

 private:
  uint32_t state_;
};

struct Kind {
  const char* model;
  Format format;
  KvType kv;
};
constexpr Kind kKinds[] = {
    {"smollm2", Format::kQ8, KvType::kF16},
    {"llama_odd", Format::kQ4, KvType::kK4V4},
    {"variants/mistral_window_41", Format::kQ8, KvType::kK8V4},
    {"qwen3_5", Format::kQ8, KvType::kF16},
    {"qwen3_next", Format::kQ4, KvType::kK6V6},
};

// Prompts of few beginnings, so that there is something to reuse.
Wanted RandomWanted(Random& random, int64_t n_vocab) {
  Wanted wanted;
  wanted.prompt = Ids(10 + 50 * random.Below(2), static_cast<uint32_t>(random.Below(3)), n_vocab);
  const auto own = Ids(1 + random.Below(30), static_cast<uint32_t>(random.Below(1000)), n_vocab);
  wanted.prompt.insert(wanted.prompt.end(), own.begin(), own.end());
  wanted.n_tokens = random.Below(12);
  wanted.seed = random.Below(3);
  return wanted;
}

TEST_CASE("1, 2, 4, 8 and 16 replies together are each as alone") {
  for (const Kind& kind : kKinds) {
    const auto model = OpenTiny(kind.model, kind.format, MakeRuntime(2));
    SchedulerOptions options;
    options.session.kv = kind.kv;
    options.session.context = 128;
    options.parallel = 16;
    for (const size_t n : {1, 2, 4, 8, 16}) {
      INFO(kind.model << " " << n);
      const auto scheduler = NewScheduler(model, options);
      Random random(static_cast<uint32_t>(n));
      std::vector<Wanted> wanted;
      std::vector<std::shared_ptr<Reply>> replies;
      for (size_t i = 0; i < n; ++i) {
        wanted.push_back(RandomWanted(random, model->config().n_vocab));
        replies.push_back(std::make_shared<Reply>(wanted.back()));
        REQUIRE(scheduler->Add(wanted.back().prompt, 0, replies.back()).ok());
      }
      Drain(*scheduler);
      for (size_t i = 0; i < n; ++i) {
        REQUIRE(replies[i]->code == absl::StatusCode::kOk);
        REQUIRE(replies[i]->ids == Solo(model, options.session, wanted[i]));
      }
    }
  }
}

TEST_CASE("random arrivals, cancels, priorities and evictions change no reply") {
  const bool full = std::getenv("KRAFLA_FULL") != nullptr;
  for (const Kind& kind : kKinds) {
    for (uint32_t seed = 0; seed < (full ? 40U : 3U); ++seed) {
      INFO(kind.model << " seed " << seed);
      Random random(seed * 77 + 5);
      const auto model = OpenTiny(kind.model, kind.format, MakeRuntime(1));
      SchedulerOptions options;
      options.session.kv = kind.kv;
      options.session.context = 100;
      options.session.snapshot_spacing = 16;
      options.session.batch = static_cast<int64_t>(6 + random.Below(40));
      options.parallel = static_cast<int64_t>(1 + random.Below(5));
      // From none to a few texts.
      options.cache_bytes = random.Below(4) * 150000;
      const auto scheduler = NewScheduler(model, options);
      std::vector<Wanted> wanted;
      std::vector<std::shared_ptr<Reply>> replies;
      std::vector<bool> cancelled;
      for (int round = 0; round < 60; ++round) {
        if (replies.size() < 24 && random.Below(2) == 0) {
          wanted.push_back(RandomWanted(random, model->config().n_vocab));
          replies.push_back(std::make_shared<Reply>(wanted.back()));
          cancelled.push_back(false);
          REQUIRE(scheduler
                      ->Add(wanted.back().prompt, static_cast<int32_t>(random.Below(7)) - 3,
                            replies.back())
                      .ok());
        }
        if (!replies.empty() && random.Below(8) == 0) {
          const size_t which = random.Below(replies.size());
          if (replies[which]->ended == 0) {
            replies[which]->Cancel();
            cancelled[which] = true;
          }
        }
        for (size_t i = random.Below(12); i > 0; --i) {
          REQUIRE(scheduler->Step(static_cast<int64_t>(i % 2)).ok());
        }
        REQUIRE(scheduler->info().cache_bytes <= options.cache_bytes);
      }
      Drain(*scheduler, 1);
      for (size_t i = 0; i < replies.size(); ++i) {
        REQUIRE(replies[i]->ended == 1);
        if (cancelled[i] && replies[i]->code == absl::StatusCode::kCancelled) continue;
        REQUIRE(replies[i]->code == absl::StatusCode::kOk);
        REQUIRE(replies[i]->ids == Solo(model, options.session, wanted[i]));
      }
    }
  }
}

TEST_CASE("a request that begins like one before it reads only the rest") {
  for (const char* name : {"smollm2", "qwen3_5"}) {
    const auto model = OpenTiny(name, Format::kQ8, MakeRuntime(1));
    SchedulerOptions options;
    options.cache_bytes = uint64_t{64} << 20;
    const auto scheduler = NewScheduler(model, options);
    Wanted first{Ids(60, 1, model->config().n_vocab), 8, 0};
    const auto reply = std::make_shared<Reply>(first);
    REQUIRE(scheduler->Add(first.prompt, 0, reply).ok());
    Drain(*scheduler);
    CHECK(reply->reused == 0);
    // A chat's next turn: what was said, what was answered, and more.
    Wanted second = first;
    second.prompt.insert(second.prompt.end(), reply->ids.begin(), reply->ids.end());
    for (const int32_t id : Ids(9, 2, model->config().n_vocab)) second.prompt.push_back(id);
    const auto next = std::make_shared<Reply>(second);
    REQUIRE(scheduler->Add(second.prompt, 0, next).ok());
    Drain(*scheduler);
    CHECK(next->reused == 68);
    CHECK(next->ids == Solo(model, options.session, second));
    // Another branch of the first text; a hybrid has its state at the end of the prompt.
    Wanted third = first;
    for (const int32_t id : Ids(9, 3, model->config().n_vocab)) third.prompt.push_back(id);
    const auto other = std::make_shared<Reply>(third);
    REQUIRE(scheduler->Add(third.prompt, 0, other).ok());
    Drain(*scheduler);
    CHECK(other->reused == 60);
    CHECK(other->ids == Solo(model, options.session, third));
  }
}

TEST_CASE("a hybrid's prompt has a state at its end, however it was cut into passes") {
  const auto model = OpenTiny("qwen3_5", Format::kQ8, MakeRuntime(1));
  for (const int64_t rows : {64, 59, 58, 27, 20, 9}) {  // last pieces of 60, 1, 2, 6, 20, 6
    CAPTURE(rows);
    SchedulerOptions options;
    options.cache_bytes = uint64_t{64} << 20;
    options.session.batch = rows;
    options.parallel = 2;
    const auto scheduler = NewScheduler(model, options);
    Wanted first{Ids(60, 1, model->config().n_vocab), 8, 0};
    const auto reply = std::make_shared<Reply>(first);
    REQUIRE(scheduler->Add(first.prompt, 0, reply).ok());
    Drain(*scheduler);
    Wanted second = first;
    for (const int32_t id : Ids(9, 3, model->config().n_vocab)) second.prompt.push_back(id);
    const auto next = std::make_shared<Reply>(second);
    REQUIRE(scheduler->Add(second.prompt, 0, next).ok());
    Drain(*scheduler);
    CHECK(next->reused == 60);
    CHECK(next->ids == Solo(model, options.session, second));
  }
}

// In passes, not in seconds: while a long prompt is read, a reply gets a token with every pass; and
// a request of the lowest priority is served though higher ones keep coming.
TEST_CASE("nobody starves") {
  const auto model = OpenTiny("smollm2", Format::kQ8, MakeRuntime(1));
  SchedulerOptions options;
  options.session.context = 400;
  options.session.batch = 16;
  options.parallel = 2;
  const auto scheduler = NewScheduler(model, options);
  const auto talker = std::make_shared<Reply>(Wanted{{}, 300, 0});
  const auto reader = std::make_shared<Reply>(Wanted{{}, 1, 0});
  REQUIRE(scheduler->Add(Ids(4, 1, 512), 0, talker).ok());
  REQUIRE(scheduler->Add(Ids(300, 2, 512), 100, reader).ok());
  while (reader->ended == 0) REQUIRE(scheduler->Step(0).ok());
  const auto passes = static_cast<size_t>(scheduler->info().passes);
  CHECK(passes <= 300 / 14 + 5);
  CHECK(talker->ids.size() + 4 >= passes);
  talker->Cancel();
  Drain(*scheduler);

  const auto lowest = std::make_shared<Reply>(Wanted{{}, 2, 0});
  REQUIRE(scheduler->Add(Ids(5, 3, 512), -5, lowest).ok());
  const int64_t begin = scheduler->info().passes;
  uint32_t seed = 10;
  while (lowest->ended == 0) {
    while (scheduler->info().waiting < 4) {
      REQUIRE(
          scheduler->Add(Ids(20, ++seed, 512), 5, std::make_shared<Reply>(Wanted{{}, 5, 0})).ok());
    }
    REQUIRE(scheduler->Step(0).ok());
  }
  CHECK(scheduler->info().passes - begin <= 11 * Scheduler::kAgePasses + 20);
}

TEST_CASE("priorities come first, then age") {
  const auto model = OpenTiny("smollm2", Format::kQ8, MakeRuntime(1));
  SchedulerOptions options;
  options.parallel = 1;
  const auto scheduler = NewScheduler(model, options);
  std::vector<std::shared_ptr<Reply>> replies;
  for (const int32_t priority : {0, 0, 3, -1, 3}) {
    replies.push_back(std::make_shared<Reply>(Wanted{{}, 3, 0}));
    REQUIRE(scheduler->Add(Ids(5, 1, 512), priority, replies.back()).ok());
  }
  for (const size_t next : {2, 4, 0, 1, 3}) {
    while (replies[next]->ended == 0) REQUIRE(scheduler->Step(0).ok());
    for (const size_t later : {2, 4, 0, 1, 3}) {
      if (later == next) break;
      CHECK(replies[later]->ended == 1);
    }
  }
}

TEST_CASE("what cannot be is refused, and a small budget fails one request, not all") {
  const auto runtime = MakeRuntime(1, uint64_t{40} << 20);
  const auto model = OpenTiny("smollm2", Format::kQ8, runtime);
  SchedulerOptions options;
  options.queue = 2;
  options.parallel = 70;
  options.session.batch = 64;
  CHECK_FALSE(Scheduler::Create(model, options).ok());
  options.parallel = -1;
  CHECK_FALSE(Scheduler::Create(model, options).ok());
  options.parallel = 3;
  options.cache_bytes = uint64_t{1} << 30;
  options.session.context = 500;
  const auto scheduler = NewScheduler(model, options);
  const auto add = [&](std::vector<int32_t> ids, int32_t priority = 0) {
    const auto reply = std::make_shared<Reply>(Wanted{{}, 4, 0});
    return std::pair(scheduler->Add(std::move(ids), priority, reply).code(), reply);
  };
  CHECK(add({}).first == absl::StatusCode::kInvalidArgument);
  CHECK(add({-1}).first == absl::StatusCode::kInvalidArgument);
  CHECK(add({1}, 101).first == absl::StatusCode::kInvalidArgument);
  CHECK_FALSE(add(Ids(501, 1, 512)).first == absl::StatusCode::kOk);
  // Three at work and two that wait, whether a pass came in between or not.
  for (const bool passes : {false, true}) {
    for (int i = 0; i < 5; ++i) {
      REQUIRE(add({1}).first == absl::StatusCode::kOk);
      if (passes) REQUIRE(scheduler->Step(0).ok());
    }
    CHECK(add({1}).first == absl::StatusCode::kFailedPrecondition);
    Drain(*scheduler);
  }

  // Room for a hundred positions or so.
  const auto rest = runtime->memory().Allocate(
      (uint64_t{40} << 20) - runtime->memory().used() - 50000, MemoryKind::kScratch, "the rest");
  REQUIRE(rest.ok());
  const auto large = add(Ids(490, 1, 512));
  const auto small = add(Ids(5, 2, 512));
  Drain(*scheduler);
  CHECK(large.second->ended == 1);
  CHECK(small.second->code == absl::StatusCode::kOk);
  CHECK(small.second->ids ==
        Solo(OpenTiny("smollm2", Format::kQ8, MakeRuntime(1)), {}, Wanted{Ids(5, 2, 512), 4, 0}));
}

TEST_CASE("requests come and go from other threads") {
  const auto model = OpenTiny("smollm2", Format::kQ8, MakeRuntime(2));
  SchedulerOptions options;
  options.cache_bytes = 1 << 20;
  options.parallel = 4;
  options.session.context = 100;
  const auto scheduler = NewScheduler(model, options);
  std::atomic<bool> stop{false};
  std::thread worker([&] {
    while (!stop || !scheduler->idle()) {
      if (!scheduler->Step(1000).ok()) return;
    }
  });
  std::vector<std::vector<std::shared_ptr<Reply>>> replies(3);
  std::vector<std::vector<Wanted>> wanted(3);
  std::vector<std::thread> hosts;
  for (uint32_t host = 0; host < 3; ++host) {
    Random random(host + 1);
    for (int i = 0; i < 12; ++i) {
      wanted[host].push_back(RandomWanted(random, 512));
      replies[host].push_back(std::make_shared<Reply>(wanted[host].back()));
    }
    hosts.emplace_back([&, host] {
      for (size_t i = 0; i < 12; ++i) {
        (void)scheduler->Add(wanted[host][i].prompt, static_cast<int32_t>(i % 3), replies[host][i]);
        if (i % 4 == 3) replies[host][i - 1]->Cancel();
        (void)scheduler->info();
      }
    });
  }
  for (std::thread& host : hosts) host.join();
  stop = true;
  worker.join();
  for (uint32_t host = 0; host < 3; ++host) {
    for (size_t i = 0; i < 12; ++i) {
      REQUIRE(replies[host][i]->ended == 1);
      if (i % 4 == 2) continue;  // perhaps cancelled
      REQUIRE(replies[host][i]->ids == Solo(model, options.session, wanted[host][i]));
    }
  }
}

TEST_CASE("a scheduler that goes away ends all that it has") {
  const auto model = OpenTiny("smollm2", Format::kQ8, MakeRuntime(1));
  SchedulerOptions options;
  options.parallel = 1;
  std::vector<std::shared_ptr<Reply>> replies;
  {
    const auto scheduler = NewScheduler(model, options);
    for (int i = 0; i < 3; ++i) {
      replies.push_back(std::make_shared<Reply>(Wanted{{}, 50, 0}));
      REQUIRE(scheduler->Add(Ids(40, 1, 512), 0, replies.back()).ok());
    }
    for (int i = 0; i < 9; ++i) REQUIRE(scheduler->Step(0).ok());
  }
  for (const auto& reply : replies) CHECK(reply->code == absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace krafla
