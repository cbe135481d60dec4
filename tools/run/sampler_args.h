// The options of ml_run that choose how tokens are sampled, and the sampler they make. Names are
// those that people know from llama.cpp.
#ifndef KRAFLA_TOOLS_RUN_SAMPLER_ARGS_H_
#define KRAFLA_TOOLS_RUN_SAMPLER_ARGS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/exit_code.h"
#include "tools/handles.h"

namespace CLI {
class App;
}

namespace krafla::tools {

inline constexpr size_t kSamplerNumbers = 20;

struct SamplerArgs {
  std::array<std::optional<double>, kSamplerNumbers> numbers;  // a row of sampler_args.cc each
  std::optional<uint64_t> seed;
  std::string mirostat = "0";
  std::vector<std::string> biases;    // "ID+BIAS"
  std::vector<std::string> breakers;  // of dry
};

void AddSampler(CLI::App& app, SamplerArgs* args);

// Prints the seed on stderr where one was drawn for a random choice.
ExitCode CreateSampler(const SamplerArgs& args, SamplerPtr* sampler);
// Once there is a tokenizer.
ExitCode SetBreakers(const SamplerArgs& args, const krafla_tokenizer* tokenizer,
                     krafla_sampler* sampler);

}  // namespace krafla::tools

#endif  // KRAFLA_TOOLS_RUN_SAMPLER_ARGS_H_
