// The bits of a model whose experts are streamed are those of the model in memory: every budget,
// reader and number of threads, while experts leave in the middle of a token and slots become
// fewer.
#include "tests/session/streaming.h"

#include <thread>

namespace krafla {
namespace {

using namespace test;

constexpr size_t kLength = 70;

ResidencyOptions WithBudget(uint64_t budget, ReaderKind reader = ReaderKind::kAuto) {
  ResidencyOptions options;
  options.budget = budget;
  options.reader = reader;
  options.watch = false;
  return options;
}

std::vector<std::vector<float>> Rows(const std::shared_ptr<const Model>& model,
                                     std::span<const int32_t> ids, int64_t batch) {
  SessionOptions options;
  options.batch = batch;
  const auto session = NewSession(model, options);
  return AllLogits(*session, ids);
}

struct Kind {
  const char* model;
  Format format;
  size_t used;
};
constexpr Kind kKinds[] = {
    {"qwen3_moe", Format::kQ8, 2},
    {"qwen3_moe_odd", Format::kQ4, 2},
    {"qwen3_5_moe", Format::kQ4, 2},
    {"variants/mixtral_window", Format::kF32, 2},
    {"variants/qwen3_moe_all_experts", Format::kQ8, 8},
    {"variants/qwen3_moe_dense_layers", Format::kF16, 2},
    {"variants/gpt_oss_window_40", Format::kQ8, 2},
};

TEST_CASE("every budget, batch and number of threads gives the same bits") {
  for (const Kind& kind : kKinds) {
    const StreamedFile file(kind.model, kind.format);
    const auto resident = file.Open(nullptr, 1);
    const auto used = static_cast<size_t>(resident->config().n_experts_used);
    const ResidencyPlan plan = file.Plan(used);
    const auto ids = Ids(kLength, 7, resident->config().n_vocab);
    const auto want = Rows(resident, ids, 0);
    const uint64_t most = plan.dense_bytes + plan.slab_bytes;
    for (const uint64_t budget : {most, (most + plan.least) / 2, plan.least}) {
      const ResidencyOptions options = WithBudget(budget);
      for (const auto& [threads, batch] : {std::pair(1, 1), {2, 0}, {3, 7}, {4, 32}}) {
        INFO(kind.model << ", budget " << budget << " of " << most << ", threads " << threads
                        << ", batch " << batch);
        const auto model = file.Open(&options, threads);
        const auto rows = Rows(model, ids, batch);
        REQUIRE(rows.size() == want.size());
        for (size_t i = 0; i < rows.size(); ++i) REQUIRE(SameBits(rows[i], want[i]));
        const ResidencyInfo info = model->residency()->info();
        CHECK(info.slab_bytes + info.dense_bytes <= budget);
        CHECK(info.resident <= info.slots);
        CHECK(info.hits + info.misses > 0);
        CHECK(info.errors == 0);
        if (budget == most) CHECK(info.evictions == 0);
      }
    }
  }
}

TEST_CASE("so does every reader") {
  const StreamedFile file("../trained/kjv-moe", Format::kQ8);
  const auto resident = file.Open(nullptr, 1);
  const auto ids = Ids(kLength, 9, resident->config().n_vocab);
  const auto want = Rows(resident, ids, 0);
  const uint64_t least = file.Plan(2).least;
  size_t opened = 0;
  for (const ReaderKind kind : kReaders) {
    const ResidencyOptions options = WithBudget(least, kind);
    const auto model = file.TryOpen(&options, 2);
    if (!model.ok()) {  // the system has no such reads
      REQUIRE(model.status().code() == absl::StatusCode::kUnimplemented);
      continue;
    }
    ++opened;
    CHECK((*model)->residency()->info().reader == kind);
    for (const int64_t batch : {1, 0}) {
      const auto rows = Rows(*model, ids, batch);
      for (size_t i = 0; i < rows.size(); ++i) REQUIRE(SameBits(rows[i], want[i]));
    }
    CHECK((*model)->residency()->info().evictions > 0);
  }
  CHECK(opened > 0);
}

TEST_CASE("and a run in slices, in which nothing is held between them") {
  const StreamedFile file("qwen3_5_moe", Format::kQ4);
  const auto ids = Ids(40, 3, 512);
  const auto whole = file.Resident(ids);
  const ResidencyOptions options = WithBudget(file.Plan(2).least);
  const auto model = file.Open(&options, 2);
  const auto a = NewSession(model, {});
  const auto b = NewSession(model, {});
  REQUIRE(a->Begin(ids, {}).ok());
  REQUIRE(b->Begin(ids, {}).ok());
  bool a_done = false, b_done = false;
  // In turns, one item each: each finds the other's experts in its slots.
  for (int i = 0; i < 1000000 && !(a_done && b_done); ++i) {
    if (!a_done) a_done = *a->Step(0);
    if (!b_done) b_done = *b->Step(0);
  }
  REQUIRE(a_done);
  REQUIRE(b_done);
  CHECK(SameBits(a->logits(), whole->logits()));
  CHECK(SameBits(b->logits(), whole->logits()));
}

TEST_CASE("and slots that go and come back between any two items of a token") {
  const StreamedFile file("../trained/kjv-moe", Format::kQ8);
  const auto resident = file.Open(nullptr, 1);
  const auto ids = Ids(12, 11, resident->config().n_vocab);
  const auto whole = NewSession(resident, {});
  REQUIRE(whole->Append(ids, {}).ok());
  const ResidencyPlan plan = file.Plan(2);
  for (const ReaderKind kind : kReaders) {
    for (const int32_t threads : {1, 3}) {
      const ResidencyOptions options = WithBudget(plan.dense_bytes + plan.slab_bytes, kind);
      const auto model = file.TryOpen(&options, threads);
      if (!model.ok()) continue;
      Residency& residency = *(*model)->residency();
      const auto session = NewSession(*model, {});
      uint32_t random = 1;
      for (const int32_t id : ids) {
        REQUIRE(session->Begin({&id, 1}, {}).ok());
        for (bool done = false; !done;) {
          random = random * 1664525 + 1013904223;
          switch (random >> 28) {
            case 0:
            case 1:
              residency.Trim(0);
              break;
            case 2:
              residency.Trim(UINT64_MAX);
              break;
            case 3:
              residency.OnPressure(0);
              break;
            case 4:
              residency.OnCalm();
              break;
          }
          const StatusOr<bool> step = session->Step(0);
          REQUIRE(step.ok());
          done = *step;
        }
      }
      INFO(ReaderName(kind) << ", threads " << threads);
      CHECK(SameBits(session->logits(), whole->logits()));
      CHECK(residency.info().evictions > ids.size());
    }
  }
}

TEST_CASE("and sessions on several threads at once, while the slots become fewer and more") {
  const StreamedFile file("../trained/kjv-moe", Format::kQ8);
  const auto resident = file.Open(nullptr, 1);
  const auto ids = Ids(40, 3, resident->config().n_vocab);
  const auto whole = NewSession(resident, {});
  REQUIRE(whole->Append(ids, {}).ok());
  const ResidencyPlan plan = file.Plan(2);
  ResidencyOptions options = WithBudget(plan.dense_bytes + plan.slab_bytes);
  std::atomic<int> resized{0};
  options.on_resize = [&](uint64_t before, uint64_t after, bool) {
    if (before != after) resized.fetch_add(1);
  };
  const auto model = file.Open(&options, 2);
  Residency& residency = *model->residency();
  std::atomic<int> running{3};
  std::atomic<int> equal{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      SessionOptions session_options;
      session_options.batch = 8;
      auto session = Session::Create(model, session_options);
      bool same = session.ok();
      for (int round = 0; same && round < 4; ++round) {
        same = (*session)->Append(ids, {}).ok() &&
               SameBits((*session)->logits(), whole->logits()) &&
               (*session)->Truncate(0, nullptr).ok();
      }
      equal.fetch_add(same);
      running.fetch_sub(1);
    });
  }
  for (uint64_t i = 0; i < 8 || running.load() > 0; ++i) {
    const uint64_t share[] = {0, plan.slab_bytes / 2, plan.slab_bytes / 4, UINT64_MAX};
    if (i % 7 == 6) {
      residency.OnPressure(0);
      residency.OnCalm();
    } else {
      residency.Trim(share[i % 4]);
    }
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(equal.load() == 3);
  CHECK(resized.load() > 0);
  const uint64_t floor = residency.Trim(0);
  CHECK(floor + plan.dense_bytes <= plan.least);
  CHECK(residency.info().slab_bytes == floor);
  const uint64_t full = residency.Trim(UINT64_MAX);
  CHECK(full >= floor);
}

TEST_CASE("scratch of a session beyond what is free comes out of the budget") {
  const StreamedFile file("qwen3_moe", Format::kQ8);
  const ResidencyPlan plan = file.Plan(2);
  const ResidencyOptions options = WithBudget(plan.dense_bytes + plan.slab_bytes);
  const auto model = file.Open(&options, 1);
  Residency& residency = *model->residency();
  const uint64_t before = residency.info().slab_bytes;
  residency.Reserve(static_cast<int64_t>(before));
  CHECK(residency.info().slab_bytes < before);
  residency.Reserve(-static_cast<int64_t>(before));
  CHECK(residency.info().slab_bytes == before);
}

TEST_CASE("a budget below the least is refused, and says what it would take") {
  const StreamedFile file("qwen3_moe", Format::kQ8);
  const ResidencyPlan plan = file.Plan(2);
  const ResidencyOptions options = WithBudget(plan.least - 1);
  const auto model = file.TryOpen(&options, 1);
  CHECK(model.status().code() == absl::StatusCode::kPermissionDenied);
  CHECK(Message(model.status()).find(std::to_string(plan.least)) != std::string_view::npos);
}

TEST_CASE("what was used most is kept and comes first the next time") {
  const StreamedFile file("../trained/kjv-moe", Format::kQ8);
  ResidencyOptions options = WithBudget(file.Plan(2).least);
  options.heat_map = file.Beside("heat");
  const auto ids = Ids(kLength, 5, 2048);
  std::vector<float> want;
  {
    const auto model = file.Open(&options, 1);
    CHECK(model->residency()->info().prefetched == 0);
    const auto session = NewSession(model, {});
    for (const int32_t id : ids) REQUIRE(session->Append({&id, 1}, {}).ok());
    want = Copy(session->logits());
  }
  {
    const auto model = file.Open(&options, 1);
    CHECK(model->residency()->info().prefetched > 0);
    const auto session = NewSession(model, {});
    REQUIRE(session->Append(ids, {}).ok());
    CHECK(SameBits(session->logits(), want));
  }
  // One that is damaged is as good as none.
  const std::string whole = ReadWholeFile(options.heat_map);
  WriteWholeFile(options.heat_map, std::string_view(whole).substr(0, whole.size() - 3));
  const auto model = file.Open(&options, 1);
  CHECK(model->residency()->info().prefetched == 0);
}

}  // namespace
}  // namespace krafla
