// Saved sessions: what is refused, what stays as it was, how small the form without a cache is;
// hidden states and edits, which share the machinery.
#include "tests/session/fixture.h"
#include "tests/session/saved.h"

namespace krafla {
namespace {

using namespace test;

Status Restore(Session& session, const std::string& bytes, bool replay = false) {
  return session.Restore(*OpenMemory(bytes.data(), bytes.size()), replay, {}, nullptr);
}

TEST_CASE("a saved session goes on with equal bits, from its cache or from its ids") {
  const auto model = OpenTiny("llama_odd", Format::kQ4, MakeRuntime(2));
  SessionOptions options;
  options.context = 200;
  const auto session = NewSession(model, options);
  const auto ids = Ids(77, 3, model->config().n_vocab);
  REQUIRE(session->Append(ids, {}).ok());
  for (const bool cache : {false, true}) {
    const std::string bytes = SavedBytes(*session, cache);
    const auto restored = NewSession(model, options);
    REQUIRE(restored->Append(Ids(90, 9, model->config().n_vocab), {}).ok());
    CutReport report;
    REQUIRE(restored->Restore(*OpenMemory(bytes.data(), bytes.size()), false, {}, &report).ok());
    REQUIRE(report.reused == (cache ? 77 : 0));
    REQUIRE(SameBits(restored->logits(), session->logits()));
    const auto more = Ids(40, 4, model->config().n_vocab);
    const auto going_on = session->Fork(0);
    REQUIRE(going_on.ok());
    REQUIRE((*going_on)->Append(more, {}).ok());
    REQUIRE(restored->Append(more, {}).ok());
    REQUIRE(SameBits(restored->logits(), (*going_on)->logits()));
  }
}

TEST_CASE("a thousand tokens without their cache take less than 8 KB") {
  const auto model = OpenTiny("smollm2", Format::kQ8, MakeRuntime(1));
  SessionOptions options;
  options.context = std::min<int64_t>(1000, model->config().max_positions);
  const auto session = NewSession(model, options);
  AppendOptions none;
  none.logits = WantLogits::kNone;
  const auto n = static_cast<size_t>(options.context);
  REQUIRE(session->Append(Ids(n, 3, model->config().n_vocab), none).ok());
  REQUIRE(session->saved_bytes(false) == 64 + 4 * n + 8);
  REQUIRE(64 + 4 * 1000 + 8 < 8192);
}

TEST_CASE("damaged and foreign bytes are refused, and the session is as before") {
  const auto model = OpenTiny("smollm2", Format::kQ8, MakeRuntime(1));
  const auto other_model = OpenTiny("smollm2", Format::kQ4, MakeRuntime(1));
  SessionOptions options;
  options.context = 64;
  const auto session = NewSession(model, options);
  REQUIRE(session->Append(Ids(40, 3, model->config().n_vocab), {}).ok());
  const auto target = NewSession(model, options);
  REQUIRE(target->Append(Ids(20, 5, model->config().n_vocab), {}).ok());
  const std::string before = SavedBytes(*target, true);
  const std::string tokens = SavedBytes(*session, false);
  const std::string cached = SavedBytes(*session, true);
  for (const std::string& bytes : {tokens, cached}) {
    const size_t stride = bytes.size() > 1000 ? bytes.size() / 400 : 1;
    for (size_t i = 0; i < bytes.size(); i += i < 400 ? 1 : stride) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ 0x41);
      REQUIRE(!Restore(*target, damaged).ok());
      REQUIRE(!Restore(*target, bytes.substr(0, i)).ok());
    }
    REQUIRE(!Restore(*target, bytes + "x").ok());
    REQUIRE(!Restore(*NewSession(other_model, options), bytes).ok());
  }
  REQUIRE(SavedBytes(*target, true) == before);

  SessionOptions f32 = options;
  f32.kv = KvType::kF32;
  const auto wide = NewSession(model, f32);
  REQUIRE(Restore(*wide, cached).code() == absl::StatusCode::kUnimplemented);
  REQUIRE(Restore(*wide, cached, /*replay=*/true).ok());
  REQUIRE(wide->length() == 40);
  SessionOptions narrow = options;
  narrow.context = 39;
  REQUIRE(Restore(*NewSession(model, narrow), cached).code() == absl::StatusCode::kOutOfRange);
}

TEST_CASE("an edit reports what it kept") {
  const auto model = OpenTiny("qwen3", Format::kF32, MakeRuntime(1));
  const auto session = NewSession(model, {});
  auto ids = Ids(100, 3, model->config().n_vocab);
  REQUIRE(session->Append(ids, {}).ok());
  ids[70] = (ids[70] + 1) % static_cast<int32_t>(model->config().n_vocab);
  CutReport report;
  REQUIRE(session->Edit(ids, {}, &report).ok());
  REQUIRE(report.reused == 70);
  REQUIRE(report.recomputed == 30);
  ids.push_back(1);
  REQUIRE(session->Edit(ids, {}, &report).ok());
  REQUIRE(report.reused == 100);
  REQUIRE(report.recomputed == 1);
}

TEST_CASE("a text is edited to nothing, whatever rows are wanted") {
  const auto session = NewSession(OpenTiny("qwen3", Format::kF32, MakeRuntime(1)), {});
  AppendOptions rows;
  rows.logits = WantLogits::kAll;
  rows.on_logits = [](void*, int64_t, const float*, size_t) { return 1; };
  REQUIRE(session->Append(Ids(40, 3, 512), {}).ok());
  REQUIRE(session->Edit({}, rows, nullptr).ok());
  REQUIRE(session->length() == 0);
}

TEST_CASE("hidden states do not depend on the batch, and the head of them gives the logits") {
  const auto ids = Ids(50, 3, ReadConfig("llama3").n_vocab);
  std::vector<std::vector<float>> wanted;
  for (const int64_t batch : {1, 16, 256}) {
    const auto model = OpenTiny("llama3", Format::kF32, MakeRuntime(2));
    SessionOptions options;
    options.batch = batch;
    const auto session = NewSession(model, options);
    std::vector<std::vector<float>> rows;
    AppendOptions append;
    append.logits = batch == 16 ? WantLogits::kLast : WantLogits::kNone;
    append.user = &rows;
    append.on_hidden = [](void* user, int64_t position, const float* row, size_t n) {
      auto& all = *static_cast<std::vector<std::vector<float>>*>(user);
      if (static_cast<size_t>(position) != all.size()) return 1;
      all.emplace_back(row, row + n);
      return 0;
    };
    REQUIRE(session->Append(ids, append).ok());
    REQUIRE(rows.size() == ids.size());
    REQUIRE(rows[0].size() == static_cast<size_t>(model->config().n_embd));
    if (wanted.empty()) wanted = rows;
    for (size_t i = 0; i < rows.size(); ++i) REQUIRE(SameBits(rows[i], wanted[i]));
    if (batch == 16) {
      const auto plain = NewSession(model, {});
      REQUIRE(plain->Append(ids, {}).ok());
      REQUIRE(SameBits(session->logits(), plain->logits()));
    } else {
      REQUIRE(session->logits().empty());
    }
  }
}

}  // namespace
}  // namespace krafla
