// The library's default chain with the parameters that options name. Bounds are the library's own,
// so that they are written once.
#include "tools/run/sampler_args.h"

#include <krafla/krafla.h>

#include <cmath>
#include <cstdlib>

#include "tools/options.h"
#include "tools/output.h"

namespace krafla::tools {
namespace {

struct Number {
  const char* option;
  const char* stage;
  const char* parameter;
  const char* help;
};

constexpr Number kNumbers[] = {
    {"-T,--temp", "temperature", "t", "Temperature; without it, or 0: the likeliest token"},
    {"--dynatemp-range", "temperature", "range", "The temperature moves by this with the entropy"},
    {"--dynatemp-exp", "temperature", "exponent", "How it follows the entropy (default 1)"},
    {"--top-k", "top_k", "k", "Choose among the K likeliest tokens (0 or -1: all)"},
    {"--top-p", "top_p", "p", "Choose among the likeliest tokens that sum to P"},
    {"--min-p", "min_p", "p", "Choose among tokens of at least P times the likeliest's"},
    {"--typical", "typical", "p", "Choose among the most typical tokens that sum to P"},
    {"--top-n-sigma", "top_n_sigma", "n", "Choose among logits within N deviations of the best"},
    {"--xtc-probability", "xtc", "probability", "How often to drop all top choices but the last"},
    {"--xtc-threshold", "xtc", "threshold", "What is a top choice (default 0.1)"},
    {"--repeat-penalty", "penalties", "repeat",
     "Makes tokens of the last ones less likely (1: no)"},
    {"--frequency-penalty", "penalties", "frequency", "The same by how often a token was there"},
    {"--presence-penalty", "penalties", "presence", "The same where a token was there at all"},
    {"--repeat-last-n", "penalties", "last_n", "Tokens that penalties look at (64; -1: all)"},
    {"--dry-multiplier", "dry", "multiplier", "Makes what goes on with a repetition less likely"},
    {"--dry-base", "dry", "base", "More so by this for each token of it (default 1.75)"},
    {"--dry-allowed-length", "dry", "allowed_length", "Repetitions that do not count (default 2)"},
    {"--dry-penalty-last-n", "dry", "last_n", "Tokens that dry looks at (-1: all)"},
    {"--mirostat-ent", "mirostat", "tau", "Mirostat's surprise, in bits (default 5)"},
    {"--mirostat-lr", "mirostat", "eta", "How fast it gets there (default 0.1)"},
};
static_assert(std::size(kNumbers) == kSamplerNumbers);

std::optional<double> ValueOf(const SamplerArgs& args, std::string_view stage,
                              std::string_view parameter) {
  for (size_t i = 0; i < kSamplerNumbers; ++i) {
    if (kNumbers[i].stage == stage && kNumbers[i].parameter == parameter) return args.numbers[i];
  }
  return std::nullopt;
}

ExitCode SetBiases(const SamplerArgs& args, krafla_sampler* sampler) {
  std::vector<krafla_bias> biases;
  for (const std::string& text : args.biases) {
    const size_t sign = text.find_first_of("+-", 1);
    krafla_bias bias{0, 0, 0};
    int64_t id = -1;
    char* end = nullptr;
    if (sign != std::string::npos &&
        ParseInteger(text.substr(0, sign), 0, INT32_MAX, &id).empty()) {
      bias.id = static_cast<int32_t>(id);
      bias.bias = std::strtod(text.c_str() + sign, &end);
    }
    if (end == nullptr || *end != '\0' || end == text.c_str() + sign) {
      return Fail(kExitArguments, "--logit-bias: got {}, want ID+BIAS or ID-BIAS (15043-inf)",
                  text);
    }
    biases.push_back(bias);
  }
  if (biases.empty()) return kExitOk;
  const int32_t code = krafla_sampler_set_bias(sampler, biases.data(), biases.size());
  return code == KRAFLA_OK ? kExitOk : FailWith(code, "--logit-bias");
}

}  // namespace

void AddSampler(CLI::App& app, SamplerArgs* args) {
  for (size_t i = 0; i < kSamplerNumbers; ++i) {
    AddReal(app, kNumbers[i].option, &args->numbers[i], kNumbers[i].help);
  }
  AddChoice(app, "--mirostat", &args->mirostat, {"0", "2"}, {"1"},
            "2: keep the surprise of tokens near a target, in place of truncation (0: no)");
  app.add_option("--dry-sequence-breaker", args->breakers,
                 "A text that no repetition reaches over, as often as needed (default: line end, "
                 "':', '\"', '*'; none: no breakers)")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  app.add_option("--logit-bias", args->biases,
                 "Makes token ID likelier or less likely: 15043+1, 15043-1, 15043-inf (never)")
      ->type_name("ID+BIAS")
      ->allow_extra_args(false);
  AddSeed(app, &args->seed, "Seed of the random choices (default: drawn, and printed on stderr)");
}

ExitCode CreateSampler(const SamplerArgs& args, SamplerPtr* sampler) {
  krafla_sampler_options options = KRAFLA_SAMPLER_OPTIONS_INIT;
  options.has_seed = args.seed.has_value() ? 1 : 0;
  options.seed = args.seed.value_or(0);
  int32_t code = Create(sampler, krafla_sampler_create, &options);
  if (code == KRAFLA_OK) code = krafla_sampler_add_default(sampler->get());
  const bool mirostat = args.mirostat == "2";
  if (code == KRAFLA_OK && mirostat) {
    code = krafla_sampler_add(sampler->get(), "mirostat", 8, nullptr, 0);
    if (code == KRAFLA_OK) code = krafla_sampler_set(sampler->get(), "temperature", "t", 1);
  }
  if (code != KRAFLA_OK) return FailWith(code, "sampler");

  for (size_t i = 0; i < kSamplerNumbers; ++i) {
    const Number& row = kNumbers[i];
    if (!args.numbers[i].has_value()) continue;
    if (!mirostat && std::string_view(row.stage) == "mirostat") {
      return Fail(kExitArguments, "{}: this needs --mirostat 2", row.option);
    }
    code = krafla_sampler_set(sampler->get(), row.stage, row.parameter, *args.numbers[i]);
    if (code != KRAFLA_OK) return FailWith(code, row.option);
  }
  if (ExitCode e = SetBiases(args, sampler->get())) return e;
  const double t = ValueOf(args, "temperature", "t").value_or(mirostat ? 1 : 0);
  const bool random = t > 0 || ValueOf(args, "temperature", "range").value_or(0) > 0;
  if (random && !args.seed.has_value()) {
    uint64_t seed = 0;
    (void)krafla_sampler_get_seed(sampler->get(), &seed);
    WriteStderr(fmt::format("seed: {}\n", seed));
  }
  return kExitOk;
}

ExitCode SetBreakers(const SamplerArgs& args, const krafla_tokenizer* tokenizer,
                     krafla_sampler* sampler) {
  if (ValueOf(args, "dry", "multiplier").value_or(0) == 0) return kExitOk;
  std::vector<std::string> texts = args.breakers;
  if (texts.empty()) texts = {"\n", ":", "\"", "*"};
  if (texts.size() == 1 && texts[0] == "none") return kExitOk;
  std::vector<krafla_string> breakers;
  for (const std::string& text : texts) breakers.push_back({text.data(), text.size()});
  const int32_t code =
      krafla_sampler_set_breakers(sampler, tokenizer, breakers.data(), breakers.size());
  return code == KRAFLA_OK ? kExitOk : FailWith(code, "--dry-sequence-breaker");
}

}  // namespace krafla::tools
