// Errors of a configuration, told in the terms of the file that it came from: its path, and its own
// name for the field.
#ifndef KRAFLA_LIB_CONVERT_CONFIG_ERROR_H_
#define KRAFLA_LIB_CONVERT_CONFIG_ERROR_H_

#include <string_view>

#include "lib/base/status.h"

namespace krafla {

// "model.n_heads: got 0, want ..." and "config: key: ..." become
// "PATH: num_attention_heads: got 0, want ...". gguf_arch prefixes a GGUF's keys ("llama"). What
// names the path already, and OK, stay as they are.
Status InConfigFile(const Status& status, std::string_view path, bool gguf,
                    std::string_view gguf_arch);

}  // namespace krafla

#endif  // KRAFLA_LIB_CONVERT_CONFIG_ERROR_H_
