// Owners of the library's objects: a unique_ptr each, freed by the object's own function.
#ifndef KRAFLA_TOOLS_HANDLES_H_
#define KRAFLA_TOOLS_HANDLES_H_

#include <krafla/krafla.h>
#include <krafla/krafla_chat.h>
#include <krafla/krafla_constraint.h>

#include <memory>

namespace krafla::tools {

template <auto kFree>
struct FreeWith {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};

using RuntimePtr = std::unique_ptr<krafla_runtime, FreeWith<krafla_runtime_free>>;
using ModelPtr = std::unique_ptr<krafla_model, FreeWith<krafla_model_free>>;
using TokenizerPtr = std::unique_ptr<krafla_tokenizer, FreeWith<krafla_tokenizer_free>>;
using TemplatePtr = std::unique_ptr<krafla_template, FreeWith<krafla_template_free>>;
using ChatPtr = std::unique_ptr<krafla_chat, FreeWith<krafla_chat_free>>;
using RenderedPtr = std::unique_ptr<krafla_rendered, FreeWith<krafla_rendered_free>>;
using SessionPtr = std::unique_ptr<krafla_session, FreeWith<krafla_session_free>>;
using ConstraintPtr = std::unique_ptr<krafla_constraint, FreeWith<krafla_constraint_free>>;
using SamplerPtr = std::unique_ptr<krafla_sampler, FreeWith<krafla_sampler_free>>;

// Create(&pointer, krafla_x_create, arguments...): the ABI's code; pointer is set only on success.
template <typename T, typename Free, typename Function, typename... Args>
int32_t Create(std::unique_ptr<T, Free>* out, Function function, Args... args) {
  T* raw = nullptr;
  const int32_t code = function(&raw, args...);
  if (code == KRAFLA_OK) out->reset(raw);
  return code;
}

}  // namespace krafla::tools

#endif  // KRAFLA_TOOLS_HANDLES_H_
