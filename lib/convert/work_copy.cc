// See work_copy.h.
#include "lib/convert/work_copy.h"

namespace krafla {
namespace {

struct CopyProgress {
  const StopCheck& stop;
  Status status;
};

int StopCopy(void* user, uint64_t, uint64_t) {
  auto* copy = static_cast<CopyProgress*>(user);
  copy->status = copy->stop();
  return copy->status.ok() ? 0 : 1;
}

}  // namespace

std::string WorkCopyName(std::string_view out) { return FormatText("{}.work", out); }

StatusOr<std::string> CopyAsF32(const ConvertOptions& options, const StopCheck& stop) {
  CopyProgress progress{stop, OkStatus()};
  ConvertOptions copy;
  copy.kind = options.kind;
  copy.in = options.in;
  copy.out = WorkCopyName(options.out);
  copy.wtype = Format::kF32;
  copy.threads = options.threads;
  copy.progress = StopCopy;
  copy.user = &progress;
  const Status status = Convert(copy);
  KRAFLA_RETURN_IF_ERROR(progress.status);
  KRAFLA_RETURN_IF_ERROR(status);
  return copy.out;
}

}  // namespace krafla
