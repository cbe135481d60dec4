// measure MODEL.mlb: for each JSON schema, a line of stdin each, what it costs: a line {"error":
// TEXT} or
// {"compile_us", "tokens", "mask_us" (all masks of a reply at temperature 1), "first_us" (its first
// mask), "read_us" (the model's passes, one token each), "forced_us", "plain_us" (the reply with
// forced text in one pass and without)}. For measure_schemas.py.
#include <chrono>
#include <iostream>
#include <string>

#include "krafla/krafla.hpp"

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::string_view kPrompt =
    "<|im_start|>user\nAnswer with some JSON.<|im_end|>\n<|im_start|>assistant\n";
constexpr std::int64_t kMostTokens = 60;

double Us(Clock::time_point since) {
  return std::chrono::duration<double, std::micro>(Clock::now() - since).count();
}

krafla::Sampler MakeSampler() {
  krafla::Sampler sampler(7);
  sampler.Add("temperature", {{"t", 1}});
  return sampler;
}

// The whole reply by the library; one by one with log-probabilities.
double Whole(const krafla::Session& base, const krafla::Constraint& constraint, bool one_by_one) {
  krafla::Session session = base.Fork();
  krafla::Sampler sampler = MakeSampler();
  krafla_generate_options options = KRAFLA_GENERATE_OPTIONS_INIT;
  options.constraint = constraint.get();
  options.max_tokens = kMostTokens;
  options.logprobs = one_by_one ? 1 : 0;
  const auto start = Clock::now();
  session.Generate(sampler, options, [](const krafla_token&) { return true; });
  return Us(start);
}

void Measure(const krafla::Tokenizer& tokenizer, const krafla::Session& base,
             const std::string& schema) {
  auto start = Clock::now();
  const auto constraint = krafla::Constraint::JsonSchema(tokenizer, schema);
  const double compile_us = Us(start);
  krafla::ConstraintState state(constraint);
  krafla::Session session = base.Fork();
  krafla::Sampler sampler = MakeSampler();
  double mask_us = 0, first_us = 0, read_us = 0;
  std::int64_t tokens = 0;
  for (; tokens < kMostTokens && state.open(); ++tokens) {
    start = Clock::now();
    const std::vector<std::uint32_t> mask = state.Mask();
    const double us = Us(start);
    mask_us += us;
    if (tokens == 0) first_us = us;
    const krafla::Logits row = session.logits();
    std::int32_t id = 0;
    krafla::Check(krafla_sampler_sample_masked(sampler.get(), row.data, row.size, mask.data(),
                                               mask.size(), &id));
    state.Accept(id);
    sampler.Accept(id);
    start = Clock::now();
    session.Append({id});
    read_us += Us(start);
  }
  std::cout << "{\"compile_us\":" << compile_us << ",\"tokens\":" << tokens
            << ",\"mask_us\":" << mask_us << ",\"first_us\":" << first_us
            << ",\"read_us\":" << read_us << ",\"forced_us\":" << Whole(base, constraint, false)
            << ",\"plain_us\":" << Whole(base, constraint, true) << "}" << std::endl;
}

int Run(const char* path) {
  const krafla::Model model = krafla::Model::Open(path);
  const krafla::Tokenizer tokenizer(model);
  krafla::Session base(model);
  base.Append(tokenizer.Encode(kPrompt, KRAFLA_ENCODE_PARSE));
  const std::string_view any[] = {"x"};
  (void)krafla::Constraint::Choices(tokenizer, {any[0]});  // makes the vocabulary's tries
  for (std::string line; std::getline(std::cin, line);) {
    try {
      Measure(tokenizer, base, line);
    } catch (const krafla::Error& error) {
      std::string message = error.what();
      for (char& c : message) c = c == '"' || c == '\\' || c < ' ' ? '\'' : c;
      std::cout << "{\"error\":\"" << message << "\"}" << std::endl;
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return argc == 2 ? Run(argv[1]) : 2; }
