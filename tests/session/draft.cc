// Drafts: of a batch of rows only the first ones stay. Whatever was drafted and thrown away, the
// session has the bits of one that read its ids one by one: dense and hybrid, plain and quantised
// caches, over the borders of pages.
#include "tests/session/fixture.h"
#include "tests/session/saved.h"

namespace krafla {
namespace {

using namespace test;

struct Kind {
  const char* model;
  Format format;
  KvType kv;
};
constexpr Kind kKinds[] = {
    {"smollm2", Format::kQ8, KvType::kF16},     {"llama_odd", Format::kQ4, KvType::kK4V4},
    {"gemma3", Format::kQ8, KvType::kK8V4},     {"qwen3_moe", Format::kQ4, KvType::kQ8},
    {"qwen3_5", Format::kQ8, KvType::kF16},     {"qwen3_next", Format::kF32, KvType::kK6V6},
    {"qwen3_5_moe", Format::kQ4, KvType::kF32},
};

void RunDraft(Session& session, std::span<const int32_t> ids) {
  const Status begun = session.BeginDraft(ids);
  INFO(Message(begun));
  REQUIRE(begun.ok());
  for (bool done = false; !done;) {
    const auto step = session.Step(0);
    REQUIRE(step.ok());
    done = *step;
  }
}

TEST_CASE("a draft of which the first rows stay equals reading them one by one") {
  for (const Kind& kind : kKinds) {
    const auto model = OpenTiny(kind.model, kind.format, MakeRuntime(2));
    const int64_t n_vocab = model->config().n_vocab;
    SessionOptions options;
    options.kv = kind.kv;
    options.snapshot_spacing = 16;
    const auto session = NewSession(model, options);
    const auto plain = NewSession(model, options);
    const auto prompt = Ids(20, 7, n_vocab);
    REQUIRE(session->Append(prompt, {}).ok());
    REQUIRE(plain->Append(prompt, {}).ok());
    for (uint32_t round = 0; round < 24; ++round) {
      const size_t n = 1 + round * 7 % session->max_draft();
      const size_t kept = round % 5 == 4 ? 0 : round * 5 % (n + 1);
      INFO(kind.model << " round " << round << ": " << kept << " of " << n);
      const auto ids = Ids(n, round, n_vocab);
      RunDraft(*session, ids);
      for (size_t i = 0; i < kept; ++i) {
        REQUIRE(plain->Append({&ids[i], 1}, {}).ok());
        REQUIRE(SameBits(session->draft_logits(i), plain->logits()));
      }
      session->Keep(kept);
      REQUIRE(SameBits(session->logits(), plain->logits()));
      REQUIRE(session->ids().size() == plain->ids().size());
      // Recurrent state and keys too.
      if (round % 3 == 0) REQUIRE(SavedBytes(*session, true) == SavedBytes(*plain, true));
    }
  }
}

TEST_CASE("an abandoned or cancelled draft leaves nothing") {
  for (const char* name : {"smollm2", "qwen3_5"}) {
    const auto model = OpenTiny(name, Format::kQ8, MakeRuntime(2));
    const auto session = NewSession(model, {});
    REQUIRE(session->Append(Ids(30, 1, model->config().n_vocab), {}).ok());
    const std::string before = SavedBytes(*session, true);
    const auto ids = Ids(6, 2, model->config().n_vocab);
    for (int items : {0, 3, 1000}) {
      REQUIRE(session->BeginDraft(ids).ok());
      CHECK(session->Truncate(3, nullptr).code() == absl::StatusCode::kFailedPrecondition);
      for (int i = 0; i < items; ++i) REQUIRE(session->Step(0).ok());
      session->Abandon();
      CHECK(SavedBytes(*session, true) == before);
    }
    REQUIRE(session->BeginDraft(ids).ok());
    session->Cancel();
    CHECK(session->Step(-1).status().code() == absl::StatusCode::kCancelled);
    session->Abandon();
    CHECK(SavedBytes(*session, true) == before);
  }
}

TEST_CASE("drafts are bounded, and a budget refuses a trace by name") {
  const auto runtime = MakeRuntime(1, uint64_t{64} << 20);
  const auto model = OpenTiny("qwen3_5", Format::kQ8, runtime);
  SessionOptions options;
  options.batch = 6;
  const auto session = NewSession(model, options);
  CHECK(session->max_draft() == 6);
  const auto prompt = Ids(9, 1, model->config().n_vocab);
  REQUIRE(session->Append(prompt, {}).ok());
  CHECK(session->BeginDraft(prompt).code() == absl::StatusCode::kInvalidArgument);
  CHECK(session->BeginDraft({}).code() == absl::StatusCode::kInvalidArgument);
  auto rest = runtime->memory().Allocate((uint64_t{64} << 20) - runtime->memory().used() - 64,
                                         MemoryKind::kScratch, "the rest");
  REQUIRE(rest.ok());
  const Status refused = session->BeginDraft({prompt.data(), 3});
  CHECK(Message(refused).find("draft") != std::string_view::npos);
  CHECK(session->Append({prompt.data(), 1}, {}).ok());
}

}  // namespace
}  // namespace krafla
