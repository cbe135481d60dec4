// ml_bench --ram-budget: decoding and prompts with less and less of a model's experts in memory,
// beside what the bandwidths and the hit rate that were measured let expect.
#ifndef KRAFLA_TOOLS_BENCH_SWEEP_H_
#define KRAFLA_TOOLS_BENCH_SWEEP_H_

#include <string>
#include <vector>

#include "tools/bench/measure.h"

namespace krafla::tools {

// "1,0.5,4G": fractions of the experts, or bytes of all weights. "" or what is wrong with it.
std::string ParseBudgets(const std::string& text, std::vector<std::string>* budgets);

ExitCode Sweep(const BenchArgs& args, const std::vector<std::string>& budgets, bool json);

}  // namespace krafla::tools

#endif  // KRAFLA_TOOLS_BENCH_SWEEP_H_
