// krafla_runtime_*: checks the host's callbacks and numbers, then makes the library's Runtime of
// them.
#include "capi/guard.h"
#include "capi/handles.h"
#include "capi/structs.h"

using namespace krafla;  // NOLINT: the definitions below are the global C functions
using capi::Guard;

extern "C" {

int32_t krafla_runtime_create(krafla_runtime** out, const krafla_runtime_options* options) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(out);
    KRAFLA_RETURN_IF_ERROR(capi::CheckCpu());
    krafla_runtime_options given;
    KRAFLA_RETURN_IF_ERROR(capi::ReadOptions(options, "krafla_runtime_options", &given));
    if ((given.allocate == nullptr) != (given.release == nullptr)) {
      return ArgumentError(
          "krafla_runtime_options: allocate and release: got one, want both or neither");
    }
    if (given.log_level < 0 || given.log_level > KRAFLA_LOG_DEBUG) {
      return ArgumentError("krafla_runtime_options: log_level: got {}, want 0 to {}",
                           given.log_level, +KRAFLA_LOG_DEBUG);
    }
    RuntimeOptions inner;
    inner.threads = {given.threads, given.parallel_for, given.parallel_for_user};
    inner.allocator = {given.allocate, given.release, given.allocator_user};
    if (given.has_budget != 0) inner.budget = given.budget;
    inner.log = given.log;
    inner.log_user = given.log_user;
    if (given.log_level != 0) inner.log_level = static_cast<LogLevel>(given.log_level);
    KRAFLA_ASSIGN_OR_RETURN(std::shared_ptr<Runtime> runtime, Runtime::Create(inner));
    *out = new krafla_runtime{std::move(runtime)};
    return OkStatus();
  });
}

void krafla_runtime_free(krafla_runtime* runtime) { delete runtime; }

int32_t krafla_runtime_get_info(const krafla_runtime* runtime, krafla_runtime_info* info) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(runtime);
    KRAFLA_RETURN_IF_ERROR(capi::CheckInfo(info, "krafla_runtime_info"));
    Memory& memory = runtime->runtime->memory();
    krafla_runtime_info filled{};
    filled.threads = static_cast<int32_t>(runtime->runtime->threads().size());
    filled.budget = memory.budget();
    filled.used_bytes = memory.used();
    filled.peak_bytes = memory.peak();
    filled.weight_bytes = memory.used(MemoryKind::kWeights);
    filled.kv_bytes = memory.used(MemoryKind::kKv);
    filled.state_bytes = memory.used(MemoryKind::kState);
    filled.scratch_bytes = memory.used(MemoryKind::kScratch);
    filled.snapshot_bytes = memory.used(MemoryKind::kSnapshot);
    capi::WriteInfo(filled, info);
    return OkStatus();
  });
}

}  // extern "C"
