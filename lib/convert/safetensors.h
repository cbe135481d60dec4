// Reading the header of a safetensors file: 8 bytes of length, a JSON object of tensors, then their
// bytes. As strict as the reference implementation: the tensors must cover the rest of the file
// without a hole, an overlap or a trailing byte.
#ifndef KRAFLA_LIB_CONVERT_SAFETENSORS_H_
#define KRAFLA_LIB_CONVERT_SAFETENSORS_H_

#include <memory>

#include "lib/base/status.h"
#include "lib/convert/checkpoint.h"

namespace krafla {

// Adds the file's tensors; the names it added are those of checkpoint->tensors() from the old end
// on.
Status AddSafetensors(std::unique_ptr<FileSource> file, Checkpoint* checkpoint);

}  // namespace krafla

#endif  // KRAFLA_LIB_CONVERT_SAFETENSORS_H_
