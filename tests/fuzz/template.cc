// A chat template, with what follows a zero byte as its input JSON; without one, a conversation.
#include "lib/chat/template.h"

#include <string_view>

#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace krafla;  // NOLINT: one function
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t zero = text.find('\0');
  const std::string_view input =
      zero != text.npos
          ? text.substr(zero + 1)
          : R"({"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"},
             {"role":"assistant","content":null,"tool_calls":[{"function":{"name":"f",
             "arguments":{"x":[1,2.5,true,null,"y"]}}}]}],"tools":[],"add_generation_prompt":true})";
  TemplateLimits limits;
  limits.steps = 20'000;
  limits.output_bytes = size_t{1} << 18;
  limits.value_bytes = size_t{1} << 22;
  const auto parsed = ChatTemplate::Parse(text.substr(0, zero), limits);
  if (!parsed.ok()) return 0;
  const TemplateClock clock{1720019049, 0};
  const auto runs = (*parsed)->Render(input, {}, clock);
  if (!runs.ok()) return 0;
  size_t total = 0;
  for (const TextRun& run : *runs) total += run.text.size();
  KRAFLA_MUST(total <= limits.output_bytes);
  return 0;
}
