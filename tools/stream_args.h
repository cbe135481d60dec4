// What the programs have in common about models larger than memory: the arguments, and what is said
// of how it went.
#ifndef KRAFLA_TOOLS_STREAM_ARGS_H_
#define KRAFLA_TOOLS_STREAM_ARGS_H_

#include <krafla/krafla_residency.h>

#include <cstdint>
#include <optional>
#include <string>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace krafla::tools {

struct StreamArgs {
  std::optional<uint64_t> budget;  // nothing: all weights are in memory
  std::string reader;              // "auto", "uring", "pool", "cache"; "": auto
  std::string heat_map;            // path; "": none
};

CLI::Option* AddReader(CLI::App& app, StreamArgs* args);
// --ram-budget, --reader and --heat-map.
void AddStream(CLI::App& app, StreamArgs* args);
// What krafla_model_options wants; it points into args.
krafla_residency_options ResidencyOptions(const StreamArgs& args);

// Of a model that was opened so; false: it was not.
bool GetResidency(const krafla_model* model, krafla_residency_info* info);
const char* ReaderName(int32_t reader);
double HitRate(const krafla_residency_info& info);
double ReadBytesPerSecond(const krafla_residency_info& info);  // while something was read
// `now` without what it had counted at `before`.
krafla_residency_info Since(const krafla_residency_info& now, const krafla_residency_info& before);
// "experts: 384 of 1536 in memory, hit rate 91.2 %, read 3.20 GB at 1.10 GB/s (uring), waited 2.100
// s"
std::string StreamStatistics(const krafla_residency_info& info);

}  // namespace krafla::tools

#endif  // KRAFLA_TOOLS_STREAM_ARGS_H_
