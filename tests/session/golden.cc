// Logits and greedy continuations against Hugging Face transformers, f32 weights and f32 KV.
#include <cmath>

#include "tests/session/fixture.h"

namespace krafla {
namespace {

using namespace test;

TEST_CASE("logits equal the reference's within its rounding") {
  for (const char* name : {"llama2", "llama3", "llama3_sharded_old_keys", "llama_odd", "mistral",
                           "qwen2", "qwen3", "smollm2", "smollm3", "gemma2", "gemma3"}) {
    INFO(name);
    const auto model = OpenTiny(name, Format::kF32, MakeRuntime(2));
    const auto expected = ReadSafetensors(DataPath(name) + "/expected.safetensors");
    const Tensor& logits = expected.at("logits");
    const std::vector<int32_t> prompt(expected.at("prompt").values.begin(),
                                      expected.at("prompt").values.end());
    SessionOptions options;
    options.kv = KvType::kF32;
    const auto session = NewSession(model, options);
    const auto rows = AllLogits(*session, prompt);
    REQUIRE(rows.size() == prompt.size());

    double sum = 0;
    double squares = 0;
    for (const double value : logits.values) {
      sum += value;
      squares += value * value;
    }
    const auto n = static_cast<double>(logits.values.size());
    const double deviation = std::sqrt(squares / n - sum / n * sum / n);
    double worst = 0;
    for (size_t i = 0; i < logits.values.size(); ++i) {
      const size_t n_vocab = rows[0].size();
      worst = std::max(worst, std::abs(rows[i / n_vocab][i % n_vocab] - logits.values[i]));
    }
    INFO("worst difference / deviation " << worst / deviation);
    CHECK(worst <= 1e-4 * deviation);
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
}

}  // namespace
}  // namespace krafla
