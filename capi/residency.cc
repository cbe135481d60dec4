// krafla_model_get_residency, krafla_model_trim, and the options that they belong to.
#include "capi/residency.h"

#include "capi/guard.h"
#include "capi/handles.h"
#include "capi/structs.h"

using namespace krafla;  // NOLINT: the definitions below are the global C functions
using capi::Guard;

namespace {

StatusOr<Residency*> ResidencyOf(const krafla_model* model) {
  Residency* residency = model->shared->model->residency();
  if (residency == nullptr) {
    return StateError("model: opened without krafla_model_options.residency");
  }
  return residency;
}

int32_t FromReader(ReaderKind kind) {
  switch (kind) {
    case ReaderKind::kUring:
      return KRAFLA_READ_URING;
    case ReaderKind::kPool:
      return KRAFLA_READ_POOL;
    case ReaderKind::kPageCache:
      return KRAFLA_READ_PAGE_CACHE;
    default:
      return KRAFLA_READ_AUTO;
  }
}

StatusOr<ReaderKind> ToReader(int32_t reader) {
  switch (reader) {
    case KRAFLA_READ_AUTO:
      return ReaderKind::kAuto;
    case KRAFLA_READ_URING:
      return ReaderKind::kUring;
    case KRAFLA_READ_POOL:
      return ReaderKind::kPool;
    case KRAFLA_READ_PAGE_CACHE:
      return ReaderKind::kPageCache;
    default:
      return ArgumentError(
          "krafla_residency_options: reader: got {}, want KRAFLA_READ_AUTO (0) to "
          "KRAFLA_READ_PAGE_CACHE (3)",
          reader);
  }
}

}  // namespace

namespace krafla::capi {

StatusOr<std::optional<ResidencyOptions>> ToResidencyOptions(const krafla_model_options& given) {
  if (given.residency == nullptr) return std::optional<ResidencyOptions>();
  krafla_residency_options read;
  KRAFLA_RETURN_IF_ERROR(ReadOptions(given.residency, "krafla_residency_options", &read));
  ResidencyOptions options;
  options.budget = read.budget;
  KRAFLA_ASSIGN_OR_RETURN(options.reader, ToReader(read.reader));
  KRAFLA_ASSIGN_OR_RETURN(const std::string_view path,
                          ReadString(read.heat_map, read.heat_map_length, "heat_map"));
  options.heat_map = path;
  options.watch = read.ignore_pressure == 0;
  if (read.on_resize != nullptr) {
    options.on_resize = [resize = read.on_resize, user = read.user](uint64_t before, uint64_t after,
                                                                    bool pressure) {
      resize(user, before, after, pressure ? 1 : 0);
    };
  }
  return std::optional(std::move(options));
}

}  // namespace krafla::capi

extern "C" {

int32_t krafla_model_get_residency(const krafla_model* model, krafla_residency_info* info) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(model);
    KRAFLA_RETURN_IF_ERROR(capi::CheckInfo(info, "krafla_residency_info"));
    KRAFLA_ASSIGN_OR_RETURN(const Residency* residency, ResidencyOf(model));
    const ResidencyInfo now = residency->info();
    krafla_residency_info filled{};
    filled.reader = FromReader(now.reader);
    filled.whole_layers = now.whole_layers ? 1 : 0;
    filled.budget = now.budget;
    filled.dense_bytes = now.dense_bytes;
    filled.slab_bytes = now.slab_bytes;
    filled.slot_bytes = now.slot_bytes;
    filled.slots = now.slots;
    filled.resident = now.resident;
    filled.experts = now.experts;
    filled.hits = now.hits;
    filled.misses = now.misses;
    filled.prefetched = now.prefetched;
    filled.evictions = now.evictions;
    filled.bytes_read = now.bytes_read;
    filled.read_ns = now.read_ns;
    filled.stall_ns = now.stall_ns;
    filled.shrinks = now.shrinks;
    filled.grows = now.grows;
    filled.errors = now.errors;
    filled.expected = now.expected;
    filled.expected_right = now.right;
    capi::WriteInfo(filled, info);
    return OkStatus();
  });
}

int32_t krafla_model_trim(const krafla_model* model, uint64_t bytes, uint64_t* left) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(model);
    KRAFLA_ASSIGN_OR_RETURN(Residency * residency, ResidencyOf(model));
    const uint64_t have = residency->Trim(bytes);
    if (left != nullptr) *left = have;
    return OkStatus();
  });
}

}  // extern "C"
