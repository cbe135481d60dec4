// A conversion's model in f32, for what looks at what the model computes.
#ifndef KRAFLA_LIB_CONVERT_WORK_COPY_H_
#define KRAFLA_LIB_CONVERT_WORK_COPY_H_

#include <string>

#include "lib/base/status.h"
#include "lib/calibrate/self_text.h"
#include "lib/convert/convert.h"

namespace krafla {

// Writes it to `path`; the progress of this is none of the conversion's, but `stop` ends it.
Status CopyAsF32(const ConvertOptions& options, const std::string& path, const StopCheck& stop);

}  // namespace krafla

#endif  // KRAFLA_LIB_CONVERT_WORK_COPY_H_
