// Chat templates for models that bring none, by name.
#ifndef KRAFLA_LIB_CHAT_BUILTIN_H_
#define KRAFLA_LIB_CHAT_BUILTIN_H_

#include <string_view>

#include "lib/base/status.h"

namespace krafla {

// chatml, gemma, llama2, llama3, mistral, qwen. NotFoundError lists the names.
StatusOr<std::string_view> BuiltinTemplate(std::string_view name);

}  // namespace krafla

#endif  // KRAFLA_LIB_CHAT_BUILTIN_H_
