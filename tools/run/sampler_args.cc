// Stages are added in the library's default order: penalties, truncation, temperature last. Bounds
// are the library's own, so that they are written once.
#include "tools/run/sampler_args.h"

#include <krafla/krafla.h>

#include <string>

#include "tools/options.h"
#include "tools/output.h"

namespace krafla::tools {

void AddSampler(CLI::App& app, SamplerArgs* args) {
  AddReal(app, "-T,--temp", &args->temperature,
          "Temperature; without it, or 0: the likeliest token");
  AddReal(app, "--top-k", &args->top_k, "Choose among the K likeliest tokens (0 or -1: all)");
  AddReal(app, "--top-p", &args->top_p, "Choose among the likeliest tokens that sum to P");
  AddReal(app, "--min-p", &args->min_p, "Choose among tokens of at least P times the likeliest's");
  AddReal(app, "--repeat-penalty", &args->repeat_penalty,
          "Makes tokens of the last 64 less likely (1: no change)");
  AddSeed(app, &args->seed, "Seed of the random choices (default: drawn, and printed on stderr)");
}

ExitCode CreateSampler(const SamplerArgs& args, SamplerPtr* sampler) {
  krafla_sampler_options options = KRAFLA_SAMPLER_OPTIONS_INIT;
  options.has_seed = args.seed.has_value() ? 1 : 0;
  options.seed = args.seed.value_or(0);
  const int32_t code = Create(sampler, krafla_sampler_create, &options);
  if (code != KRAFLA_OK) return FailWith(code, "sampler");

  const struct {
    std::string_view stage;
    const char* parameter;
    const char* option;
    const std::optional<double>& value;
  } kStages[] = {
      {"penalties", "repeat", "--repeat-penalty", args.repeat_penalty},
      {"top_k", "k", "--top-k", args.top_k},
      {"top_p", "p", "--top-p", args.top_p},
      {"min_p", "p", "--min-p", args.min_p},
      {"temperature", "t", "--temp", args.temperature},
  };
  for (const auto& row : kStages) {
    if (!row.value.has_value()) continue;
    const krafla_param param{row.parameter, *row.value};
    const int32_t added =
        krafla_sampler_add(sampler->get(), row.stage.data(), row.stage.size(), &param, 1);
    if (added != KRAFLA_OK) return FailWith(added, row.option);
  }
  if (args.temperature.value_or(0) > 0 && !args.seed.has_value()) {
    uint64_t seed = 0;
    (void)krafla_sampler_get_seed(sampler->get(), &seed);
    WriteStderr(fmt::format("seed: {}\n", seed));
  }
  return kExitOk;
}

}  // namespace krafla::tools
