// ml_bench --compare: two files of ml_bench --json side by side.
#ifndef KRAFLA_TOOLS_BENCH_COMPARE_H_
#define KRAFLA_TOOLS_BENCH_COMPARE_H_

#include <string>

#include "tools/exit_code.h"

namespace krafla::tools {

// Prints a row for each test that both files have: the two speeds, their ratio B / A and its
// standard deviation.
ExitCode Compare(const std::string& a, const std::string& b);

}  // namespace krafla::tools

#endif  // KRAFLA_TOOLS_BENCH_COMPARE_H_
