// Of builds without liburing.
#include "lib/weights/residency/block_reader.h"

namespace krafla {

StatusOr<std::unique_ptr<BlockReader>> OpenUringReader(const NativeFile&, uint64_t,
                                                       BlockListener&) {
  return UnsupportedError("io_uring: this library was built without it");
}

}  // namespace krafla
