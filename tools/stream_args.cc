// See stream_args.h.
#include "tools/stream_args.h"

#include <fmt/format.h>

#include "tools/options.h"

namespace krafla::tools {

CLI::Option* AddReader(CLI::App& app, StreamArgs* args) {
  return AddChoice(
      app, "--reader", &args->reader, {"auto", "uring", "pool", "cache"}, {},
      "With --ram-budget: how experts are read: by io_uring or a pool of threads past the "
      "system's cache, or through it (auto: through it where the file fits beside the slots)");
}

void AddStream(CLI::App& app, StreamArgs* args) {
  CLI::Option* budget = AddBytes(
      app, "--ram-budget", &args->budget,
      "Memory for weights: experts that it has no room for are read from the file as they are "
      "wanted. Never changes the result. 0: what the system can spare");
  AddReader(app, args)->needs(budget);
  app.add_option("--heat-map", args->heat_map,
                 "With --ram-budget: a file that keeps which experts are used most")
      ->type_name("FILE")
      ->needs(budget);
}

krafla_residency_options ResidencyOptions(const StreamArgs& args) {
  krafla_residency_options options = KRAFLA_RESIDENCY_OPTIONS_INIT;
  options.budget = args.budget.value_or(0);
  options.reader = args.reader == "uring"   ? KRAFLA_READ_URING
                   : args.reader == "pool"  ? KRAFLA_READ_POOL
                   : args.reader == "cache" ? KRAFLA_READ_PAGE_CACHE
                                            : KRAFLA_READ_AUTO;
  options.heat_map = args.heat_map.data();
  options.heat_map_length = args.heat_map.size();
  return options;
}

bool GetResidency(const krafla_model* model, krafla_residency_info* info) {
  *info = {};
  info->struct_size = sizeof(*info);
  return krafla_model_get_residency(model, info) == KRAFLA_OK;
}

const char* ReaderName(int32_t reader) {
  switch (reader) {
    case KRAFLA_READ_URING:
      return "uring";
    case KRAFLA_READ_POOL:
      return "pool";
    case KRAFLA_READ_PAGE_CACHE:
      return "cache";
    default:
      return "auto";
  }
}

double HitRate(const krafla_residency_info& info) {
  const auto all = static_cast<double>(info.hits + info.misses);
  return all > 0 ? static_cast<double>(info.hits) / all : 1;
}

double ReadBytesPerSecond(const krafla_residency_info& info) {
  if (info.read_ns == 0) return 0;
  return static_cast<double>(info.bytes_read) / (static_cast<double>(info.read_ns) * 1e-9);
}

krafla_residency_info Since(const krafla_residency_info& now, const krafla_residency_info& before) {
  krafla_residency_info part = now;
  part.hits -= before.hits;
  part.misses -= before.misses;
  part.prefetched -= before.prefetched;
  part.evictions -= before.evictions;
  part.bytes_read -= before.bytes_read;
  part.read_ns -= before.read_ns;
  part.stall_ns -= before.stall_ns;
  part.expected -= before.expected;
  part.expected_right -= before.expected_right;
  return part;
}

std::string StreamStatistics(const krafla_residency_info& info) {
  return fmt::format(
      "{}: {} of {} in memory, hit rate {:.1f} %, read {:.2f} GB at {:.2f} GB/s ({}), waited "
      "{:.3f} s",
      info.whole_layers != 0 ? "layers" : "experts", info.resident, info.experts,
      100 * HitRate(info), static_cast<double>(info.bytes_read) / 1e9,
      ReadBytesPerSecond(info) / 1e9, ReaderName(info.reader),
      static_cast<double>(info.stall_ns) * 1e-9);
}

}  // namespace krafla::tools
