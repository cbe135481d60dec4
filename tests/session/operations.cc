// Random sequences of what one can do with sessions, against a cold run of the same ids: equal
// bits, whatever the history. KRAFLA_SEED replays one sequence, KRAFLA_SEQUENCES makes it longer.
#include <cstdlib>
#include <string>

#include "tests/session/fixture.h"
#include "tests/session/saved.h"

namespace krafla {
namespace {

using namespace test;

constexpr int64_t kContext = 160;

struct Kind {
  const char* model;
  Format format;
  KvType kv;
};
constexpr Kind kKinds[] = {
    {"smollm2", Format::kF32, KvType::kF32},
    {"llama_odd", Format::kQ4, KvType::kF16},
    {"qwen2", Format::kQ8, KvType::kF16},
    {"qwen3", Format::kQ4, KvType::kF32},
    {"gemma3", Format::kQ8, KvType::kF16},
    {"variants/mistral_window_41", Format::kQ8, KvType::kF32},
    {"smollm2", Format::kQ8, KvType::kQ8},
    {"llama_odd", Format::kQ4, KvType::kK6V6},
    {"qwen2", Format::kF32, KvType::kK4V4},
    {"variants/mistral_window_41", Format::kQ8, KvType::kK8V4},
};

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 2 + 1) {}
  int64_t Below(int64_t n) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int64_t>((state_ >> 33) % static_cast<uint64_t>(n));
  }

 private:
  uint64_t state_;
};

class Sequence {
 public:
  Sequence(const Kind& kind, uint64_t seed)
      : random_(seed), model_(OpenTiny(kind.model, kind.format, MakeRuntime(2))) {
    options_.kv = kind.kv;
    options_.context = kContext;
    options_.reserve = 32;
    for (int i = 0; i < 3; ++i) sessions_.push_back(NewSession(model_, options_));
  }

  std::string log;

  void Operate() {
    const auto which = static_cast<size_t>(random_.Below(3));
    std::unique_ptr<Session>& session = sessions_[which];
    const int64_t length = session->length();
    const int64_t room = kContext - length;
    switch (random_.Below(8)) {
      case 0:
      case 1:
        Log("append", which);
        Must(session->Append(Text(random_.Below(std::min<int64_t>(room, 70) + 1)), {}));
        break;
      case 2:
        Log("step", which);
        Step(*session, room);
        break;
      case 3:
        Log("truncate", which);
        Must(session->Truncate(random_.Below(length + 1), nullptr));
        break;
      case 4: {
        Log("fork", which);
        auto fork = session->Fork(0);
        Must(fork.status());
        sessions_[static_cast<size_t>(random_.Below(3))] = *std::move(fork);
        break;
      }
      case 5: {
        Log("edit", which);
        std::vector<int32_t> ids(session->ids().begin(), session->ids().end());
        ids.resize(static_cast<size_t>(random_.Below(length + 1)));
        const auto more = Text(random_.Below(kContext - static_cast<int64_t>(ids.size())));
        ids.insert(ids.end(), more.begin(), more.end());
        CutReport report;
        Must(session->Edit(ids, {}, &report));
        REQUIRE(report.length == session->length());
        REQUIRE(report.reused + report.recomputed == report.length);
        break;
      }
      case 6: {
        const bool cache = random_.Below(2) == 0;
        Log(cache ? "save with cache" : "save", which);
        const std::string bytes = SavedBytes(*session, cache);
        const auto other = static_cast<size_t>(random_.Below(3));
        Must(
            sessions_[other]->Restore(*OpenMemory(bytes.data(), bytes.size()), false, {}, nullptr));
        REQUIRE(SavedBytes(*sessions_[other], true) == SavedBytes(*session, true));
        break;
      }
      default: {
        Log("cancelled edit", which);
        const auto ids = Text(random_.Below(kContext) + 1);
        const std::string before = SavedBytes(*session, true);
        session->Cancel();
        const Status status = session->Edit(ids, {}, nullptr);
        REQUIRE(status.code() == absl::StatusCode::kCancelled);
        REQUIRE(SavedBytes(*session, true) == before);
        break;
      }
    }
  }

  void Check() {
    for (const std::unique_ptr<Session>& session : sessions_) {
      if (session->length() == 0) continue;
      const auto cold = NewSession(model_, options_);
      Must(cold->Append(session->ids(), {}));
      if (!session->logits().empty()) REQUIRE(SameBits(session->logits(), cold->logits()));
      // What is kept is right too, not only the last row.
      const auto more = Text(std::min<int64_t>(3, kContext - session->length()));
      if (more.empty()) continue;
      Must(session->Append(more, {}));
      Must(cold->Append(more, {}));
      REQUIRE(SameBits(session->logits(), cold->logits()));
    }
  }

 private:
  void Log(const std::string& what, size_t which) {
    log += what + " " + std::to_string(which) + "; ";
  }
  void Must(const Status& status) {
    INFO(Message(status));
    REQUIRE(status.ok());
  }
  std::vector<int32_t> Text(int64_t n) {
    return Ids(static_cast<size_t>(n), static_cast<uint32_t>(random_.Below(1000)),
               model_->config().n_vocab);
  }
  void Step(Session& session, int64_t room) {
    const auto ids = Text(random_.Below(std::min<int64_t>(room, 40) + 1));
    Must(session.Begin(ids, {}));
    const int64_t give_up = random_.Below(60);
    for (int64_t i = 0;; ++i) {
      const auto done = session.Step(0);
      Must(done.status());
      if (*done) return;
      if (i == give_up) return session.Abandon();
    }
  }

  Random random_;
  std::shared_ptr<const Model> model_;
  SessionOptions options_;
  std::vector<std::unique_ptr<Session>> sessions_;
};

TEST_CASE("random operations equal a cold run") {
  const char* seed_text = std::getenv("KRAFLA_SEED");
  const char* count_text = std::getenv("KRAFLA_SEQUENCES");
  const uint64_t first = seed_text != nullptr ? std::strtoull(seed_text, nullptr, 10) : 0;
  const uint64_t count = count_text != nullptr  ? std::strtoull(count_text, nullptr, 10)
                         : seed_text != nullptr ? 1
                                                : 3;
  for (const Kind& kind : kKinds) {
    for (uint64_t seed = first; seed < first + count; ++seed) {
      Sequence sequence(kind, seed);
      for (int i = 0; i < 12; ++i) {
        INFO(kind.model << " " << FormatName(kind.format) << " KRAFLA_SEED=" << seed << ": "
                        << sequence.log);
        sequence.Operate();
        if (i % 4 == 3) sequence.Check();
      }
    }
  }
}

}  // namespace
}  // namespace krafla
