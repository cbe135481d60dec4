// Models without experts whose layers are not all in memory: the bits of the model in memory, for
// every budget, reader and number of threads, while layers leave and come back.
#include <thread>

#include "tests/session/streaming.h"

namespace krafla::test {
namespace {

ResidencyOptions WithBudget(uint64_t budget, ReaderKind reader = ReaderKind::kAuto) {
  ResidencyOptions options;
  options.budget = budget;
  options.reader = reader;
  options.watch = false;
  return options;
}

std::vector<float> Behind(const std::shared_ptr<const Model>& model, std::span<const int32_t> ids,
                          int64_t batch) {
  SessionOptions options;
  options.batch = batch;
  const auto session = NewSession(model, options);
  REQUIRE(session->Append(ids.first(ids.size() - 3), {}).ok());
  for (const int32_t id : ids.last(3)) REQUIRE(session->Append({&id, 1}, {}).ok());
  return Copy(session->logits());
}

TEST_CASE("layers of every kind give the same bits with every budget") {
  const std::pair<const char*, Format> kinds[] = {
      {"smollm2", Format::kQ8},    {"gemma3", Format::kQ4},  {"qwen3_5", Format::kQ4},
      {"llama_odd", Format::kF16}, {"gemma2", Format::kF32}, {"qwen2", Format::kQ6A},
  };
  for (const auto& [name, format] : kinds) {
    const StreamedFile file(name, format);
    const auto resident = file.Open(nullptr, 1);
    const ResidencyPlan plan = file.Plan(0);
    const auto ids = Ids(45, 7, resident->config().n_vocab);
    const auto want = Behind(resident, ids, 0);
    const uint64_t most = plan.dense_bytes + plan.slab_bytes;
    REQUIRE(plan.experts == static_cast<size_t>(resident->config().n_layers));
    REQUIRE(plan.least <= most);
    for (const uint64_t budget : {most, (most + plan.least) / 2, plan.least}) {
      const ResidencyOptions options = WithBudget(budget);
      for (const auto& [threads, batch] : {std::pair(1, 1), {2, 0}, {4, 7}}) {
        INFO(name << ", budget " << budget << " of " << most << ", threads " << threads
                  << ", batch " << batch);
        const auto model = file.Open(&options, threads);
        REQUIRE(SameBits(Behind(model, ids, batch), want));
        const ResidencyInfo info = model->residency()->info();
        CHECK(info.whole_layers);
        CHECK(info.slab_bytes + info.dense_bytes <= budget);
        CHECK(info.hits + info.misses > 0);
        if (budget == most) {
          CHECK(info.evictions == 0);
          CHECK(info.misses <= info.experts);
        } else if (info.slots < info.experts) {
          CHECK(info.evictions > 0);
        }
      }
    }
    const ResidencyOptions less = WithBudget(plan.least - 1);
    CHECK(file.TryOpen(&less, 1).status().code() == absl::StatusCode::kPermissionDenied);
  }
}

TEST_CASE("the layers that stay are the same for every token, and the next one is read ahead") {
  const StreamedFile file("gemma3", Format::kQ8);
  const ResidencyPlan plan = file.Plan(0);
  const auto layers = static_cast<uint64_t>(plan.experts);
  ResidencyOptions options = WithBudget(plan.dense_bytes + plan.slab_bytes * 2 / 3);
  options.make_reader =
      Faulty([](uint64_t, uint64_t) { return Fault::kNone; }, /*only_urgent=*/true);
  const auto model = file.Open(&options, 1);
  const auto session = NewSession(model, {});
  const auto ids = Ids(20, 5, 512);
  for (const int32_t id : ids) REQUIRE(session->Append({&id, 1}, {}).ok());
  const ResidencyInfo info = model->residency()->info();
  CHECK(info.hits + info.misses == layers * ids.size());
  // Whoever let the least recently used one leave would read every layer for every token.
  REQUIRE(info.slots >= 3);
  REQUIRE(info.slots < layers);
  CHECK(info.evictions < layers * ids.size() - info.slots);
  CHECK(info.prefetched > 0);
}

TEST_CASE("every reader brings layers, and slots may go and come back at any time") {
  const StreamedFile file("qwen3_5", Format::kQ4);
  const auto ids = Ids(12, 3, 512);
  const auto whole = file.Resident(ids);
  const ResidencyPlan plan = file.Plan(0);
  for (const ReaderKind kind : kReaders) {
    const ResidencyOptions options = WithBudget(plan.dense_bytes + plan.slab_bytes, kind);
    const auto model = file.TryOpen(&options, 2);
    if (!model.ok()) continue;
    const auto session = NewSession(*model, {});
    uint32_t random = 1;
    for (const int32_t id : ids) {
      REQUIRE(session->Begin({&id, 1}, {}).ok());
      for (bool done = false; !done;) {
        random = random * 1664525 + 1013904223;
        if (random >> 30 == 0) (*model)->residency()->Trim(random >> 29 & 1 ? 0 : UINT64_MAX);
        const StatusOr<bool> step = session->Step(0);
        REQUIRE(step.ok());
        done = *step;
      }
    }
    INFO(ReaderName(kind));
    CHECK(SameBits(session->logits(), whole->logits()));
    CHECK((*model)->residency()->info().evictions > 0);
  }
}

TEST_CASE("sessions at different layers share two slots") {
  const StreamedFile file("gemma3", Format::kQ8);
  const auto ids = Ids(20, 3, 512);
  const auto whole = file.Resident(ids);
  const ResidencyOptions options = WithBudget(file.Plan(0).least);
  const auto model = file.Open(&options, 2);
  std::atomic<int> equal{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      SessionOptions session_options;
      session_options.batch = i + 1;
      auto session = Session::Create(model, session_options);
      equal.fetch_add(session.ok() && (*session)->Append(ids, {}).ok() &&
                      SameBits((*session)->logits(), whole->logits()));
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(equal.load() == 4);
}

TEST_CASE("a layer that cannot be read is named, and the session goes on") {
  const StreamedFile file("gemma3", Format::kQ8);
  const auto ids = Ids(20, 3, 512);
  const auto whole = file.Resident(ids);
  ResidencyOptions options = WithBudget(file.Plan(0).least);
  options.make_reader =
      // In a row: a read ahead that fails is made again without a word when the layer is wanted.
      Faulty([](uint64_t n, uint64_t) { return n % 29 >= 23 ? Fault::kShort : Fault::kNone; });
  const auto session = NewSession(file.Open(&options, 2), {});
  size_t failures = 0;
  for (const int32_t id : ids) {
    for (;;) {
      const Status status = session->Append({&id, 1}, {});
      if (status.ok()) break;
      REQUIRE(++failures < 1000);
      INFO(Message(status));
      CHECK(Message(status).find("layers.") != std::string_view::npos);
      CHECK(Message(status).find("bytes at ") != std::string_view::npos);
      CHECK(Message(status).find("expert") == std::string_view::npos);
    }
  }
  CHECK(failures > 0);
  CHECK(SameBits(session->logits(), whole->logits()));
}

TEST_CASE("a layer whose read never ends can be cancelled") {
  const StreamedFile file("gemma3", Format::kQ8);
  ResidencyOptions options = WithBudget(file.Plan(0).least);
  std::atomic<bool> asked{false};
  options.make_reader = Faulty([&](uint64_t n, uint64_t) {
    if (n < 1) return Fault::kNone;
    asked.store(true);
    return Fault::kNever;
  });
  const auto session = NewSession(file.Open(&options, 2), {});
  CheckCancelOfRead(session.get(), Ids(10, 1, 512), asked);
}

}  // namespace
}  // namespace krafla::test
