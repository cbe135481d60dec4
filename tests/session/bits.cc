// The same bits whatever the threads, the batch, the slices, the company and the history.
#include <map>
#include <utility>

#include "tests/session/fixture.h"
#include "tests/support/sanitized.h"

namespace krafla {
namespace {

using namespace test;

struct Kind {
  const char* model;
  Format format;
  KvType kv;
};
// Every architecture, format and kind of layer; windows that end in this block of 256 positions, in
// the one before and beyond both.
constexpr Kind kKinds[] = {
    {"smollm2", Format::kF32, KvType::kF32},
    {"smollm2", Format::kQ8, KvType::kF16},
    {"llama_odd", Format::kQ4, KvType::kF16},
    {"llama3", Format::kBF16, KvType::kF32},
    {"llama_odd", Format::kF16, KvType::kF32},
    {"qwen2", Format::kQ8, KvType::kF16},
    {"qwen3", Format::kQ4, KvType::kF32},
    {"smollm3", Format::kQ8, KvType::kF32},
    {"gemma2", Format::kF32, KvType::kF16},
    {"gemma3", Format::kQ8, KvType::kF32},
    {"variants/gemma2_long", Format::kQ4, KvType::kF16},
    {"variants/gemma2_odd", Format::kF32, KvType::kF32},
    {"variants/mistral_window_1", Format::kF32, KvType::kF16},
    {"variants/mistral_window_41", Format::kQ8, KvType::kF32},
    {"variants/mistral_window_250", Format::kF32, KvType::kF32},
    {"variants/phi3_plain", Format::kQ8, KvType::kF16},
    {"variants/olmo2_plain", Format::kQ4, KvType::kF32},
    {"variants/granite_scales", Format::kQ8, KvType::kF32},
    {"llama_odd", Format::kF32, KvType::kQ8},
    {"smollm2", Format::kQ4, KvType::kK8V4},
    {"gemma2", Format::kQ8, KvType::kK6V6},
    {"qwen3", Format::kQ8, KvType::kK4V4},
    {"variants/mistral_window_41", Format::kF32, KvType::kK4V4},
    {"qwen3_moe", Format::kQ8, KvType::kF16},
    {"qwen3_moe_odd", Format::kQ4, KvType::kF32},
    {"variants/mixtral_window", Format::kF32, KvType::kF16},
    {"qwen3_5", Format::kQ8, KvType::kF32},
    {"qwen3_5_moe", Format::kQ4, KvType::kF16},
    {"qwen3_next", Format::kF32, KvType::kF32},
    {"variants/qwen3_5_equal_heads", Format::kF16, KvType::kF32},
};
constexpr size_t kLength = 300;  // more than one attention block

SessionOptions Options(const Kind& kind, int64_t batch) {
  SessionOptions options;
  options.kv = kind.kv;
  options.batch = batch;
  return options;
}

using Rows = std::vector<std::vector<float>>;

// One of two texts, and its logits by the plainest way: one thread, one row at a time. Made once.
struct Reference {
  std::vector<int32_t> ids;
  Rows rows;
};
const Reference& ReferenceOf(const Kind& kind, uint32_t seed) {
  static std::map<std::pair<const Kind*, uint32_t>, Reference> made;
  Reference& reference = made[{&kind, seed}];
  if (reference.ids.empty()) {
    reference.ids = Ids(kLength, seed, ReadConfig(kind.model).n_vocab);
    const auto model = OpenTiny(kind.model, kind.format, MakeRuntime(1));
    const auto session = NewSession(model, Options(kind, 1));
    reference.rows = AllLogits(*session, reference.ids);
  }
  return reference;
}

TEST_CASE("threads and batches", "[long]") {
  for (const Kind& kind : kKinds) {
    const auto& [ids, wanted] = ReferenceOf(kind, 1);
    for (const int32_t threads : {1, 2, 3}) {
      if (kSanitized && threads != 2) continue;
      const auto model = OpenTiny(kind.model, kind.format, MakeRuntime(threads));
      for (const int64_t batch : {1, 7, 32, 512}) {
        INFO(kind.model << " " << FormatName(kind.format) << " threads " << threads << " batch "
                        << batch);
        const auto session = NewSession(model, Options(kind, batch));
        const auto rows = AllLogits(*session, ids);
        REQUIRE(rows.size() == wanted.size());
        size_t differ = 0;
        for (size_t i = 0; i < rows.size(); ++i) differ += !SameBits(rows[i], wanted[i]);
        CHECK(differ == 0);
        const auto last_only = NewSession(model, Options(kind, batch));
        REQUIRE(last_only->Append(ids, {}).ok());
        CHECK(SameBits(last_only->logits(), wanted.back()));
      }
    }
  }
}

// Where a session of `length` tokens can be cut to go on with `position`.
int64_t AnchorOf(KvType kv, int64_t length, int64_t position) {
  const bool plain = kv == KvType::kF32 || kv == KvType::kF16;
  const int64_t page = position / 32;
  return plain || page == 0 || page == (length - 1) / 32 ? position : page * 32;
}

// Two texts under one kind of model, and their logits row by row.
struct Trial {
  explicit Trial(const Kind& k)
      : kind(k),
        ids(ReferenceOf(k, 1).ids),
        other(ReferenceOf(k, 2).ids),
        wanted(ReferenceOf(k, 1).rows),
        other_wanted(ReferenceOf(k, 2).rows),
        model(OpenTiny(k.model, k.format, MakeRuntime(2))) {}

  std::unique_ptr<Session> New(int64_t batch) const {
    return NewSession(model, Options(kind, batch));
  }
  std::span<const int32_t> all() const { return ids; }
  std::span<const int32_t> others() const { return other; }

  const Kind& kind;
  const std::vector<int32_t>& ids;
  const std::vector<int32_t>& other;
  const Rows& wanted;
  const Rows& other_wanted;
  std::shared_ptr<const Model> model;
};

// Not sections: those of one name run once, whatever loop they stand in.
template <typename Check>
void ForEachKind(Check check) {
  for (const Kind& kind : kKinds) {
    INFO(kind.model << " " << FormatName(kind.format));
    check(Trial(kind));
  }
}

TEST_CASE("forked") {
  ForEachKind([](const Trial& t) {
    for (const size_t at : {1, 31, 32, 40, 290}) {
      const auto parent = t.New(64);
      REQUIRE(parent->Append(t.all().first(at), {}).ok());
      auto fork = parent->Fork(0);
      REQUIRE(fork.ok());
      CHECK(SameBits((*fork)->logits(), t.wanted[at - 1]));
      // Both go on, to different texts; each as if alone.
      REQUIRE(parent->Append(t.others().first(50), {}).ok());
      REQUIRE((*fork)->Append(t.all().subspan(at), {}).ok());
      CHECK(SameBits((*fork)->logits(), t.wanted.back()));
      CutReport report;
      REQUIRE(parent->Truncate(static_cast<int64_t>(at), &report).ok());
      CHECK(SameBits(parent->logits(), t.wanted[at - 1]));
      REQUIRE(parent->Append(t.all().subspan(at), {}).ok());
      CHECK(SameBits(parent->logits(), t.wanted.back()));
    }
  });
}

TEST_CASE("truncated and continued") {
  ForEachKind([](const Trial& t) {
    const auto session = t.New(64);
    REQUIRE(session->Append(t.other, {}).ok());
    REQUIRE(session->Truncate(0, nullptr).ok());
    CHECK(session->logits().empty());
    REQUIRE(session->Append(t.ids, {}).ok());
    for (const int64_t at : {299, 257, 256, 170, 33, 32, 31, 1}) {
      const int64_t anchor = AnchorOf(t.kind.kv, session->length(), at - 1);
      CutReport report;
      REQUIRE(session->Truncate(at, &report).ok());
      CHECK(report.length == at);
      CHECK(report.reused + report.recomputed == at);
      if (t.model->config().n_delta_layers() == 0) CHECK(report.reused == anchor);
      CHECK(session->length() == at);
      CHECK(SameBits(session->logits(), t.wanted[static_cast<size_t>(at) - 1]));
      REQUIRE(session->Append(t.others().subspan(0, 20), {}).ok());
      REQUIRE(session->Truncate(at, nullptr).ok());
      REQUIRE(session->Append(t.all().subspan(static_cast<size_t>(at)), {}).ok());
      CHECK(SameBits(session->logits(), t.wanted.back()));
    }
    CutReport report;
    REQUIRE(session->Truncate(static_cast<int64_t>(kLength), &report).ok());
    CHECK(report.reused == static_cast<int64_t>(kLength));
    CHECK(report.recomputed == 0);
  });
}

TEST_CASE("paused after every work item") {
  ForEachKind([](const Trial& t) {
    const auto session = t.New(64);
    REQUIRE(session->Begin(t.ids, {}).ok());
    int steps = 0;
    while (true) {
      CHECK(session->length() == 0);
      auto done = session->Step(0);
      REQUIRE(done.ok());
      ++steps;
      if (*done) break;
    }
    CHECK(steps > 50);
    CHECK(SameBits(session->logits(), t.wanted.back()));
  });
}

TEST_CASE("slices of 200 us") {
  ForEachKind([](const Trial& t) {
    const auto session = t.New(64);
    REQUIRE(session->Begin(t.ids, {}).ok());
    while (true) {
      auto done = session->Step(200);
      REQUIRE(done.ok());
      if (*done) break;
    }
    CHECK(SameBits(session->logits(), t.wanted.back()));
  });
}

TEST_CASE("in company") {
  ForEachKind([](const Trial& t) {
    for (const int64_t batch : {5, 64, 512}) {
      const auto a = t.New(batch);
      const auto b = t.New(batch);
      REQUIRE(b->Append(t.others().first(100), {}).ok());
      Session* sessions[] = {a.get(), b.get()};
      const std::span<const int32_t> both[] = {t.all().first(270), t.others().subspan(100, 150)};
      REQUIRE(Session::AppendBatch(sessions, both).ok());
      CHECK(SameBits(a->logits(), t.wanted[269]));
      CHECK(SameBits(b->logits(), t.other_wanted[249]));
      for (size_t i = 0; i < 30; ++i) {
        const std::span<const int32_t> next[] = {t.all().subspan(270 + i, 1),
                                                 t.others().subspan(250 + i, 1)};
        REQUIRE(Session::AppendBatch(sessions, next).ok());
        CHECK(SameBits(a->logits(), t.wanted[270 + i]));
        CHECK(SameBits(b->logits(), t.other_wanted[250 + i]));
      }
    }
  });
}

}  // namespace
}  // namespace krafla
