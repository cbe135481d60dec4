// The measurements of ml_bench: prompt and decode speed of a model at one thread count, with what
// the machine could do at most beside them.
#ifndef KRAFLA_TOOLS_BENCH_MEASURE_H_
#define KRAFLA_TOOLS_BENCH_MEASURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/model_args.h"

namespace krafla::tools {

struct BenchArgs {
  ModelArgs model;  // threads and context are set for each measurement
  std::vector<int64_t> threads;
  std::vector<int64_t> prompt = {128, 512};
  std::vector<int64_t> decode = {32};
  std::vector<int64_t> sessions = {1};  // that decode together
  int64_t depth = 0;                    // positions already read when a measurement begins
  int64_t repetitions = 5;
};

struct Measurement {
  int64_t threads = 0;
  bool is_decode = false;
  int64_t n = 0;
  int64_t depth = 0;
  int64_t sessions = 1;
  double tokens_per_s = 0;            // mean of the repetitions
  double sd = 0;                      // their standard deviation
  double bytes_per_token = 0;         // of weights; a prompt's tokens share a pass over them
  double read_bytes_per_s = 0;        // what the threads can read of the model, as it is loaded
  double large_page_bytes_per_s = 0;  // and of memory in large pages
  double macs_per_token = 0;
  double int8_macs_per_s = 0;  // what the threads can multiply
};

// Appends the measurements for one number of threads (0: the default).
ExitCode Measure(const BenchArgs& args, int64_t threads, std::vector<Measurement>* results);

}  // namespace krafla::tools

#endif  // KRAFLA_TOOLS_BENCH_MEASURE_H_
