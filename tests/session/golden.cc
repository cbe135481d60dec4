// Logits and greedy continuations against Hugging Face transformers, f32 weights and f32 KV.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>

#include "tests/session/fixture.h"

namespace krafla {
namespace {

using namespace test;

double Deviation(const std::vector<double>& values) {
  double sum = 0;
  double squares = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  const auto n = static_cast<double>(values.size());
  return std::sqrt(squares / n - sum / n * sum / n);
}

// Converts the checkpoint as f32 and compares with the expected.safetensors of `folder`.
void Compare(const std::string& folder, const std::string& checkpoint) {
  INFO(checkpoint);
  const auto model = OpenTiny(checkpoint, Format::kF32, MakeRuntime(2));
  const auto expected = ReadSafetensors(DataPath(folder) + "/expected.safetensors");
  const Tensor& logits = expected.at("logits");
  const std::vector<int32_t> prompt(expected.at("prompt").values.begin(),
                                    expected.at("prompt").values.end());
  SessionOptions options;
  options.kv = KvType::kF32;
  if (const auto context = expected.find("context"); context != expected.end()) {
    options.context = static_cast<int64_t>(context->second.values[0]);
  }
  const auto session = NewSession(model, options);
  const auto rows = AllLogits(*session, prompt);
  REQUIRE(rows.size() == prompt.size());

  const double deviation = Deviation(logits.values);
  double worst = 0;
  bool finite = true;
  const size_t n_vocab = rows[0].size();
  REQUIRE(logits.values.size() == prompt.size() * n_vocab);
  for (size_t i = 0; i < logits.values.size(); ++i) {
    const double difference = std::abs(rows[i / n_vocab][i % n_vocab] - logits.values[i]);
    finite &= std::isfinite(difference);
    worst = std::max(worst, difference);
  }
  INFO("worst difference / deviation " << worst / deviation);
  CHECK(finite);
  // Hugging Face sums the delta rule in another order.
  CHECK(worst <= (model->config().n_delta_layers() > 0 ? 5e-4 : 1e-4) * deviation);
  CHECK(SameBits(session->logits(), rows.back()));

  const std::vector<double>& greedy = expected.at("greedy").values;
  const std::vector<double>& margin = expected.at("margin").values;
  for (size_t i = 0; i < greedy.size(); ++i) {
    const int32_t best = Best(session->logits());
    if (margin[i] > 0.001) CHECK(best == static_cast<int32_t>(greedy[i]));
    const int32_t next = static_cast<int32_t>(greedy[i]);
    REQUIRE(session->Append({&next, 1}, {}).ok());
  }
}

TEST_CASE("logits of every family equal the reference's within its rounding") {
  for (const char* name :
       {"llama2", "llama3", "llama3_sharded_old_keys", "llama_odd", "mistral", "qwen2", "qwen3",
        "smollm2", "smollm3", "gemma2", "gemma3", "qwen3_moe", "qwen3_moe_odd", "qwen3_5",
        "qwen3_5_moe", "qwen3_5_published", "qwen3_next"}) {
    Compare(name, name);
  }
}

// The root of the mean square of what a cache of this kind changes of the reference's logits beyond
// the window, in deviations of the logits.
double ErrorBeyond(const std::string& name, KvType kv, size_t window) {
  const auto model = OpenTiny(name, Format::kF32, MakeRuntime(1));
  const auto expected = ReadSafetensors(DataPath(name) + "/expected.safetensors");
  const Tensor& logits = expected.at("logits");
  const std::vector<int32_t> prompt(expected.at("prompt").values.begin(),
                                    expected.at("prompt").values.end());
  REQUIRE(prompt.size() > 2 * window);
  SessionOptions options;
  options.kv = kv;
  const auto rows = AllLogits(*NewSession(model, options), prompt);
  const size_t n_vocab = rows[0].size();
  double squares = 0;
  for (size_t i = window * n_vocab; i < logits.values.size(); ++i) {
    const double difference = rows[i / n_vocab][i % n_vocab] - logits.values[i];
    squares += difference * difference;
  }
  const auto n = static_cast<double>(logits.values.size() - window * n_vocab);
  return std::sqrt(squares / n) / Deviation(logits.values);
}

TEST_CASE("quantised caches beyond windows stay near the reference") {
  struct Limit {
    KvType kv;
    double error;
  };
  for (const Limit& limit : {Limit{KvType::kF16, 0.001}, Limit{KvType::kQ8, 0.01},
                             Limit{KvType::kK6V6, 0.035}, Limit{KvType::kK4V4, 0.15}}) {
    for (const auto& [name, window] : {std::pair{"gemma3", 16}, {"variants/gemma2_long", 100}}) {
      const double error = ErrorBeyond(name, limit.kv, static_cast<size_t>(window));
      INFO(name << " with kind " << static_cast<int>(limit.kv) << ": " << error);
      CHECK(error < limit.error);
    }
  }
}

TEST_CASE("so do those of every form in which checkpoints are published", "[long]") {
  size_t compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(DataPath("variants"))) {
    const std::string name = "variants/" + entry.path().filename().string();
    const bool gguf = std::filesystem::exists(entry.path() / "model.gguf");
    Compare(name, gguf ? name + "/model.gguf" : name);
    ++compared;
  }
  CHECK(compared >= 50);
}

}  // namespace
}  // namespace krafla
