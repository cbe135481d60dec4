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

Status CopyAsF32(const ConvertOptions& options, const std::string& path, const StopCheck& stop) {
  CopyProgress progress{stop, OkStatus()};
  ConvertOptions copy;
  copy.kind = options.kind;
  copy.in = options.in;
  copy.out = path;
  copy.wtype = Format::kF32;
  copy.threads = options.threads;
  copy.progress = StopCopy;
  copy.user = &progress;
  const Status status = Convert(copy);
  return progress.status.ok() ? status : progress.status;
}

}  // namespace krafla
