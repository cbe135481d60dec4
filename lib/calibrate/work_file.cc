// See work_file.h.
#include "lib/calibrate/work_file.h"

namespace krafla {

StatusOr<std::unique_ptr<WorkFile>> WorkFile::Take(const std::string& path) {
  KRAFLA_ASSIGN_OR_RETURN(NativeFile file, NativeFile::Open(path, NativeFile::Use::kTemporary));
  KRAFLA_ASSIGN_OR_RETURN(const uint64_t size, file.Size());
  KRAFLA_ASSIGN_OR_RETURN(Mapping mapping,
                          file.Map(0, static_cast<size_t>(size), /*writable=*/true));
  return std::unique_ptr<WorkFile>(
      new WorkFile(std::move(file), std::move(mapping), static_cast<size_t>(size)));
}

}  // namespace krafla
