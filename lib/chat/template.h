// Chat templates: Jinja as Hugging Face's apply_chat_template runs it (immutable sandbox,
// trim_blocks, lstrip_blocks, loop controls, the `generation` tag, tojson, raise_exception,
// strftime_now). Rendering gives runs of trusted and untrusted text, and stops at limits of steps,
// depth, memory and output. A parsed template is immutable: any number of threads may render it at
// once.
#ifndef KRAFLA_LIB_CHAT_TEMPLATE_H_
#define KRAFLA_LIB_CHAT_TEMPLATE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"

namespace krafla {

struct TemplateLimits {
  uint64_t steps = 1'000'000;  // nodes evaluated, items visited, kilobytes copied
  uint32_t depth = 200;        // nesting of the source, of evaluation and of values
  size_t output_bytes = size_t{8} << 20;
  size_t value_bytes = size_t{256} << 20;  // all values made during one render, input included
  size_t source_bytes = size_t{1} << 20;
};

struct TextRun {
  std::string text;
  bool trusted;  // from the template or the host, never from the input JSON
};

// A variable of the host, such as bos_token; it hides an input variable of the same name.
struct TrustedVariable {
  std::string_view name;
  std::string_view value;
};

// What strftime_now sees: seconds since 1970 in UTC, and what to add for local time.
struct TemplateClock {
  int64_t unix_seconds = 0;
  int32_t utc_offset_seconds = 0;
};

namespace chat {
struct Program;
}

class ChatTemplate {
 public:
  // TemplateError names the line and the construct; an unknown or unsupported tag, filter or test
  // is found here, not while rendering.
  static StatusOr<std::unique_ptr<ChatTemplate>> Parse(std::string_view source,
                                                       const TemplateLimits& limits = {});
  ~ChatTemplate();

  // input_json is an object: {"messages": [...], "tools": [...], "add_generation_prompt": true,
  // ...}; each member becomes a variable. All its strings are untrusted, except that the value of
  // messages[i].role is trusted when it is one of the roles templates know ("user", "assistant",
  // "system", "tool", ...): some templates build a control token from it (`<|{{ role }}|>`).
  // Without a clock strftime_now is the local time of the call. Adjacent runs differ in trust.
  StatusOr<std::vector<TextRun>> Render(std::string_view input_json,
                                        std::span<const TrustedVariable> trusted = {},
                                        std::optional<TemplateClock> clock = std::nullopt) const;

 private:
  ChatTemplate(std::unique_ptr<chat::Program> program, const TemplateLimits& limits);

  std::unique_ptr<chat::Program> program_;
  TemplateLimits limits_;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_CHAT_TEMPLATE_H_
