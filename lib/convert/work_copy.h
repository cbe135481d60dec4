// A conversion's model in f32, for what looks at what the model computes.
#ifndef KRAFLA_LIB_CONVERT_WORK_COPY_H_
#define KRAFLA_LIB_CONVERT_WORK_COPY_H_

#include <string>
#include <string_view>

#include "lib/base/status.h"
#include "lib/calibrate/self_text.h"
#include "lib/convert/convert.h"

namespace krafla {

std::string WorkCopyName(std::string_view out);  // "<out>.work"

// Writes it to this name, in place of what a killed conversion left, and returns the name; the
// progress of this is none of the conversion's, but `stop` ends it.
StatusOr<std::string> CopyAsF32(const ConvertOptions& options, const StopCheck& stop);

}  // namespace krafla

#endif  // KRAFLA_LIB_CONVERT_WORK_COPY_H_
