// The options of ml_run that choose how tokens are sampled, and the sampler they make.
#ifndef KRAFLA_TOOLS_RUN_SAMPLER_ARGS_H_
#define KRAFLA_TOOLS_RUN_SAMPLER_ARGS_H_

#include <cstdint>
#include <optional>

#include "tools/exit_code.h"
#include "tools/handles.h"

namespace CLI {
class App;
}

namespace krafla::tools {

struct SamplerArgs {
  std::optional<double> temperature;
  std::optional<double> top_k;
  std::optional<double> top_p;
  std::optional<double> min_p;
  std::optional<double> repeat_penalty;
  std::optional<uint64_t> seed;
};

void AddSampler(CLI::App& app, SamplerArgs* args);

// Prints the seed on stderr where one was drawn for a random choice.
ExitCode CreateSampler(const SamplerArgs& args, SamplerPtr* sampler);

}  // namespace krafla::tools

#endif  // KRAFLA_TOOLS_RUN_SAMPLER_ARGS_H_
