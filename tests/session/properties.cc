// One property of all architectures, forms and formats: whatever a session has been through, its
// logits are those of a cold run over its tokens, one row at a time on one thread.
#include <algorithm>
#include <filesystem>
#include <string>

#include "tests/session/fixture.h"
#include "tests/support/sanitized.h"

namespace krafla {
namespace {

using namespace test;

std::vector<std::string> AllModels() {
  std::vector<std::string> names;
  for (const char* folder : {"", "variants"}) {
    const std::string prefix = *folder == 0 ? "" : std::string(folder) + "/";
    for (const auto& entry : std::filesystem::directory_iterator(DataPath(folder))) {
      if (!std::filesystem::exists(entry.path() / "expected.safetensors")) continue;
      const bool gguf = std::filesystem::exists(entry.path() / "model.gguf");
      names.push_back(prefix + entry.path().filename().string() + (gguf ? "/model.gguf" : ""));
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Random {
 public:
  explicit Random(uint32_t seed) : state_(seed * 2654435761U + 1) {}
  uint32_t Below(size_t n) {
    state_ = state_ * 1664525 + 1013904223;
    return static_cast<uint32_t>((uint64_t{state_ >> 8} * n) >> 24);
  }

 private:
  uint32_t state_;
};

class History {
 public:
  History(const std::string& name, Format format, uint32_t seed)
      : random_(seed),
        plain_(OpenTiny(name, format, MakeRuntime(1))),
        model_(OpenTiny(name, format, MakeRuntime(3))) {
    constexpr KvType kKinds[] = {KvType::kF16, KvType::kF32, KvType::kK8V4, KvType::kQ8};
    options_.kv = kKinds[seed % 4];
    options_.snapshot_spacing = 8;
    options_.batch = 1 + random_.Below(40);
    session_ = NewSession(model_, options_);
  }

  void Step() {
    const auto length = static_cast<size_t>(session_->length());
    switch (length == 0 ? 0 : random_.Below(6)) {
      case 0:
      case 1:
        REQUIRE(session_->Append(Text(1 + random_.Below(30)), {}).ok());
        break;
      case 2:
        Cut(1 + random_.Below(length));
        break;
      case 3:
        Edit(random_.Below(length));
        break;
      case 4: {
        auto fork = session_->Fork(0);
        REQUIRE(fork.ok());
        REQUIRE(session_->Append(Text(3), {}).ok());  // which the fork does not see
        session_ = *std::move(fork);
        break;
      }
      default:
        InCompany();
    }
    CHECK(SameBits(session_->logits(), Cold()));
  }

 private:
  std::vector<int32_t> Text(size_t n) { return Ids(n, random_.Below(1 << 20), NVocab()); }
  int64_t NVocab() const { return model_->config().n_vocab; }

  void Cut(size_t length) {
    CutReport report;
    REQUIRE(session_->Truncate(static_cast<int64_t>(length), &report).ok());
    CHECK(report.reused + report.recomputed == static_cast<int64_t>(length));
  }
  void Edit(size_t common) {
    std::vector<int32_t> text(session_->ids().begin(),
                              session_->ids().begin() + static_cast<ptrdiff_t>(common));
    for (const int32_t id : Text(1 + random_.Below(20))) text.push_back(id);
    REQUIRE(session_->Edit(text, {}, nullptr).ok());
  }
  void InCompany() {
    const auto other = NewSession(model_, options_);
    Session* const sessions[] = {other.get(), session_.get()};
    const auto a = Text(1 + random_.Below(30));
    const auto b = Text(1 + random_.Below(10));
    const std::span<const int32_t> ids[] = {a, b};
    REQUIRE(Session::AppendBatch(sessions, ids).ok());
  }
  std::vector<float> Cold() const {
    SessionOptions options = options_;
    options.batch = 1;
    const auto cold = NewSession(plain_, options);
    REQUIRE(cold->Append(session_->ids(), {}).ok());
    return Copy(cold->logits());
  }

  Random random_;
  SessionOptions options_;
  std::shared_ptr<const Model> plain_;
  std::shared_ptr<const Model> model_;
  std::unique_ptr<Session> session_;
};

TEST_CASE("every model as f32, q8 and q4: any history gives the bits of a cold run", "[long]") {
  uint32_t seed = 0;
  for (const std::string& name : AllModels()) {
    for (const Format format : {Format::kF32, Format::kQ8, Format::kQ4}) {
      INFO(name << " " << FormatName(format));
      History history(name, format, ++seed);
      for (int i = 0; i < (kSanitized ? 3 : 7); ++i) history.Step();
    }
  }
  CHECK(seed >= 3 * 70);
}

}  // namespace
}  // namespace krafla
