// Snapshots of recurrent state: which are kept, what they take, and that a session which goes on
// from one equals a cold run. The model is trained: its state says something.
#include "lib/session/snapshots.h"

#include "tests/session/fixture.h"
#include "tests/session/saved.h"
#include "tests/support/sanitized.h"

namespace krafla {
namespace {

using namespace test;

constexpr const char* kModel = "../trained/kjv-moe";

std::vector<std::byte> State(uint8_t value) {
  return std::vector<std::byte>(100, std::byte{value});
}

TEST_CASE("snapshots are found by length and go by budget, the oldest use first") {
  const auto runtime = MakeRuntime(1);
  Snapshots snapshots(&runtime->memory(), 100, 350, 10);
  const std::vector<float> logits(5, 1.5F);
  snapshots.Keep(20, State(1).data(), {}, false);
  snapshots.Keep(25, State(2).data(), {}, true);  // within the spacing
  snapshots.Keep(31, State(3).data(), logits, true);
  snapshots.Keep(40, State(4).data(), {}, false);
  CHECK(snapshots.size() == 3);
  CHECK(snapshots.bytes() == 320);
  CHECK(runtime->memory().used(MemoryKind::kSnapshot) == 320);
  CHECK(snapshots.Before(19).length == 0);
  CHECK(snapshots.Before(30).length == 20);
  CHECK(snapshots.Before(30).state[7] == std::byte{1});
  CHECK(snapshots.Before(31).length == 31);
  CHECK(snapshots.At(31).logits.size() == 5);
  CHECK(snapshots.At(31).logits[4] == 1.5F);
  CHECK(snapshots.At(40).length == 0);                 // it has no logits
  snapshots.Keep(40, State(4).data(), logits, false);  // now it has
  CHECK(snapshots.Before(30).length == 20);
  CHECK(snapshots.At(40).length == 40);
  CHECK(snapshots.At(31).length == 31);
  snapshots.Keep(45, State(5).data(), {}, false);
  CHECK(snapshots.Before(30).length == 0);
  CHECK(snapshots.At(31).length == 31);
  CHECK(snapshots.bytes() == 340);
  Snapshots shared = snapshots;
  shared.Cut(35);
  CHECK(shared.Before(100).length == 31);
  CHECK(snapshots.Before(100).length == 45);
  snapshots.Keep(50, State(5).data(), std::vector<float>(100), false);  // larger than the budget
  CHECK(snapshots.Before(100).length == 45);
}

TEST_CASE("a model without recurrent state keeps none") {
  const auto session = NewSession(OpenTiny("llama3", Format::kQ8, MakeRuntime(1)), {});
  REQUIRE(session->Append(Ids(100, 1, 512), {}).ok());
  CHECK(session->snapshots().size() == 0);
}

struct Chat {
  explicit Chat(int64_t budget = 0, int32_t threads = 2)
      : model(OpenTiny(kModel, Format::kQ8, MakeRuntime(threads))) {
    SessionOptions options;
    options.snapshot_bytes = budget;
    session = NewSession(model, options);
  }
  std::vector<float> Cold(std::span<const int32_t> ids) const {
    const auto cold = NewSession(model, {});
    REQUIRE(cold->Append(ids, {}).ok());
    return Copy(cold->logits());
  }
  void Reply(size_t n) {
    for (size_t i = 0; i < n; ++i) {
      const int32_t next = Best(session->logits());
      REQUIRE(session->Append({&next, 1}, {}).ok());
    }
  }
  std::shared_ptr<const Model> model;
  std::unique_ptr<Session> session;
};

TEST_CASE("an edited turn of 3,000 tokens reads again from the last snapshot before the edit") {
  Chat chat;
  const auto ids = Ids(3000, 1, 2048);
  REQUIRE(chat.session->Append(ids, {}).ok());
  chat.Reply(20);
  auto edited = ids;
  edited[2700] = edited[2700] == 5 ? 6 : 5;
  CutReport report;
  REQUIRE(chat.session->Edit(edited, {}, &report).ok());
  CHECK(report.length == 3000);
  CHECK(report.reused >= 2700 - 512 - 256);  // spacing, and the batch after which one is taken
  CHECK(report.reused <= 2700);
  CHECK(report.recomputed == 3000 - report.reused);
  CHECK(SameBits(chat.session->logits(), chat.Cold(edited)));
}

TEST_CASE("the borders of messages are anchors") {
  Chat chat;
  const auto first = Ids(700, 1, 2048);
  const auto second = Ids(90, 2, 2048);
  const auto other = Ids(60, 3, 2048);
  REQUIRE(chat.session->Append(first, {}).ok());
  const auto after_prompt = Copy(chat.session->logits());
  chat.Reply(30);
  const std::vector<int32_t> turn(chat.session->ids().begin(), chat.session->ids().end());
  const auto after_reply = Copy(chat.session->logits());
  REQUIRE(chat.session->Append(second, {}).ok());
  chat.Reply(5);

  // Another last message: from where it begins.
  std::vector<int32_t> text = turn;
  text.insert(text.end(), other.begin(), other.end());
  CutReport report;
  REQUIRE(chat.session->Edit(text, {}, &report).ok());
  CHECK(report.reused == 730);
  CHECK(SameBits(chat.session->logits(), chat.Cold(text)));
  // The same once more: all of it is there.
  REQUIRE(chat.session->Edit(text, {}, &report).ok());
  CHECK(report.reused == static_cast<int64_t>(text.size()));
  CHECK(report.recomputed == 0);
  // Without it: nothing is computed, and the logits are there.
  REQUIRE(chat.session->Truncate(730, &report).ok());
  CHECK(report.reused == 730);
  CHECK(report.recomputed == 0);
  CHECK(SameBits(chat.session->logits(), after_reply));
  // The reply once more.
  REQUIRE(chat.session->Truncate(700, &report).ok());
  CHECK(report.recomputed == 0);
  CHECK(SameBits(chat.session->logits(), after_prompt));
  chat.Reply(30);
  CHECK(SameBits(chat.session->logits(), after_reply));
  // A fork has the anchors too.
  auto fork = chat.session->Fork(0);
  REQUIRE(fork.ok());
  REQUIRE((*fork)->Truncate(700, &report).ok());
  CHECK(report.recomputed == 0);
  CHECK(SameBits((*fork)->logits(), after_prompt));
}

TEST_CASE("with quantised keys the anchors are those that both kinds of memory have") {
  const auto model = OpenTiny(kModel, Format::kQ8, MakeRuntime(2));
  SessionOptions options;
  options.kv = KvType::kK8V4;
  options.batch = 100;
  const auto session = NewSession(model, options);
  auto ids = Ids(1500, 1, 2048);
  REQUIRE(session->Append(ids, {}).ok());
  ids[1300] = ids[1300] == 5 ? 6 : 5;
  CutReport report;
  REQUIRE(session->Edit(ids, {}, &report).ok());
  CHECK(report.reused % 32 == 0);
  CHECK(report.reused >= 1300 - 512 - 100);
  const auto cold = NewSession(model, options);
  REQUIRE(cold->Append(ids, {}).ok());
  CHECK(SameBits(session->logits(), cold->logits()));
  REQUIRE(session->Truncate(1000, &report).ok());
  CHECK(report.reused % 32 == 0);
  const auto other = NewSession(model, options);
  REQUIRE(other->Append(std::span(ids).first(1000), {}).ok());
  CHECK(SameBits(session->logits(), other->logits()));
}

TEST_CASE("a failed append leaves no snapshot of its own") {
  Chat chat;
  REQUIRE(chat.session->Append(Ids(100, 1, 2048), {}).ok());
  AppendOptions options;
  options.on_progress = [](void*, int64_t done, int64_t) { return done > 1200 ? 1 : 0; };
  CHECK(!chat.session->Append(Ids(2000, 2, 2048), options).ok());
  CHECK(chat.session->length() == 100);
  auto text = Ids(100, 1, 2048);
  const auto more = Ids(1500, 3, 2048);
  text.insert(text.end(), more.begin(), more.end());
  REQUIRE(chat.session->Append(more, {}).ok());
  REQUIRE(chat.session->Truncate(1400, nullptr).ok());
  text.resize(1400);
  CHECK(SameBits(chat.session->logits(), chat.Cold(text)));
}

TEST_CASE("snapshots stay under their budget over many turns", "[long]") {
  constexpr int64_t kBudget = 400'000;
  Chat chat(kBudget, 1);
  const Memory& memory = chat.model->runtime()->memory();
  uint64_t most = 0;
  for (uint32_t turn = 0; turn < (kSanitized ? 200 : 1000); ++turn) {
    if (chat.session->length() > 900) {
      CutReport report;
      REQUIRE(chat.session->Truncate(800, &report).ok());
      CHECK(report.recomputed <= 800);
    }
    REQUIRE(chat.session->Append(Ids(9, turn, 2048), {}).ok());
    chat.Reply(1);
    CHECK(chat.session->snapshots().bytes() <= kBudget);
    most = std::max(most, memory.used(MemoryKind::kSnapshot));
  }
  CHECK(most <= kBudget);
  CHECK(chat.session->snapshots().size() >= 4);
  const std::vector<int32_t> text(chat.session->ids().begin(), chat.session->ids().end());
  CHECK(SameBits(chat.session->logits(), chat.Cold(text)));
}

TEST_CASE("a cut to a copy at a page's end can be saved") {
  const auto model = OpenTiny("qwen3_5", Format::kF32, MakeRuntime(1));
  SessionOptions options;
  options.kv = KvType::kQ8;
  options.context = 200;
  const auto ids = Ids(120, 3, model->config().n_vocab);
  const std::span<const int32_t> all(ids);
  const auto session = NewSession(model, options);
  REQUIRE(session->Append(all.first(64), {}).ok());
  REQUIRE(session->Append(all.subspan(64, 56), {}).ok());
  CutReport report;
  REQUIRE(session->Truncate(64, &report).ok());
  CHECK(report.recomputed == 0);
  const std::string bytes = SavedBytes(*session, true);
  const auto restored = NewSession(model, options);
  REQUIRE(restored->Restore(*OpenMemory(bytes.data(), bytes.size()), false, {}, nullptr).ok());
  const auto cold = NewSession(model, options);
  REQUIRE(cold->Append(all, {}).ok());
  REQUIRE(restored->Append(all.subspan(64), {}).ok());
  CHECK(SameBits(restored->logits(), cold->logits()));
  REQUIRE(restored->Truncate(60, nullptr).ok());
  REQUIRE(restored->Append(all.subspan(60), {}).ok());
  CHECK(SameBits(restored->logits(), cold->logits()));
}

}  // namespace
}  // namespace krafla
