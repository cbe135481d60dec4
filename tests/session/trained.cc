// A trained hybrid mixture of experts against Hugging Face transformers: routing that means
// something, and a text's perplexity.
#include <simdjson.h>

#include <cmath>

#include "lib/eval/perplexity.h"
#include "lib/quant/half.h"
#include "lib/tokenizer/tokenizer.h"
#include "tests/session/fixture.h"
#include "tests/support/temp_folder.h"

namespace krafla {
namespace {

using namespace test;

const std::string kFolder = "../trained/kjv-moe";

TEST_CASE("a trained mixture equals the reference within its rounding") {
  const auto model = OpenTiny(kFolder, Format::kF32, MakeRuntime(2));
  const auto expected = ReadSafetensors(DataPath(kFolder) + "/expected.safetensors");
  const std::vector<double>& logits = expected.at("logits").values;
  const std::vector<int32_t> prompt(expected.at("prompt").values.begin(),
                                    expected.at("prompt").values.end());
  SessionOptions options;
  options.kv = KvType::kF32;
  const auto session = NewSession(model, options);
  const auto rows = AllLogits(*session, prompt);
  const size_t n_vocab = rows[0].size();
  REQUIRE(logits.size() == prompt.size() * n_vocab);
  double sum = 0, squares = 0, worst = 0;
  size_t equal = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const float got = rows[i / n_vocab][i % n_vocab];
    sum += logits[i];
    squares += logits[i] * logits[i];
    worst = std::max(worst, std::abs(got - logits[i]));
    equal += F16ToF32(F32ToF16(got)) == static_cast<float>(logits[i]);
  }
  const auto n = static_cast<double>(logits.size());
  const double deviation = std::sqrt(squares / n - sum / n * sum / n);
  INFO("worst " << worst / deviation << " of the deviation, equal as f16 "
                << static_cast<double>(equal) / n);
  CHECK(worst <= 3e-3 * deviation);
  CHECK(static_cast<double>(equal) >= 0.99 * n);

  const auto greedy = NewSession(model, options);
  REQUIRE(greedy->Append(std::span(prompt).first(64), {}).ok());
  for (const double want : expected.at("greedy_after_64").values) {
    const int32_t best = Best(greedy->logits());
    CHECK(best == static_cast<int32_t>(want));
    REQUIRE(greedy->Append({&best, 1}, {}).ok());
  }
}

TEST_CASE("so does the perplexity of its text", "[long]") {
  simdjson::dom::parser parser;
  const std::string json = ReadWholeFile(DataPath(kFolder) + "/expected.json");
  const double want = double(parser.parse(json)["ppl"]);
  const std::string text = ReadWholeFile(DataPath(kFolder) + "/text.txt");
  SessionOptions options;
  options.context = 512;
  options.kv = KvType::kF32;
  for (const auto& [format, tolerance] : {std::pair(Format::kF32, 0.0005), {Format::kQ8, 0.005}}) {
    const auto model = OpenTiny(kFolder, format, MakeRuntime(2));
    const auto tokenizer = Tokenizer::Open(model->tokenizer_table());
    REQUIRE(tokenizer.ok());
    const auto result = MeasurePerplexity(model, **tokenizer, text, options, nullptr, nullptr);
    REQUIRE(result.ok());
    INFO(FormatName(format) << " " << result->perplexity << " want " << want);
    CHECK(result->targets == 64 * 255);
    CHECK(std::abs(result->perplexity / want - 1) <= tolerance);
  }
}

}  // namespace
}  // namespace krafla
