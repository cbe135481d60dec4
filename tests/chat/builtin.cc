// The built-in templates against the layouts their families document, and a fixed clock.
#include "lib/chat/builtin.h"

#include "lib/chat/template.h"
#include "tests/chat/join_runs.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

constexpr std::string_view kTalk =
    R"({"messages":[{"role":"system","content":"S"},{"role":"user","content":"A"},)"
    R"({"role":"assistant","content":"B"},{"role":"user","content":"C"}],"add_generation_prompt":true})";

std::string Render(std::string_view source, std::string_view input,
                   std::optional<TemplateClock> clock = std::nullopt) {
  const TrustedVariable variables[] = {{"bos_token", "<s>"}, {"eos_token", "</s>"}};
  auto parsed = ChatTemplate::Parse(source);
  if (!parsed.ok()) return std::string(Message(parsed.status()));
  auto runs = (*parsed)->Render(input, variables, clock);
  return runs.ok() ? JoinRuns(*runs) : std::string(Message(runs.status()));
}

TEST_CASE("built-in templates") {
  auto render = [](std::string_view name) { return Render(*BuiltinTemplate(name), kTalk); };
  const std::string chatml =
      "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nA<|im_end|>\n<|im_start|>assistant\nB<|"
      "im_end|>\n"
      "<|im_start|>user\nC<|im_end|>\n<|im_start|>assistant\n";
  CHECK(render("chatml") == chatml);
  CHECK(render("qwen") == chatml);
  CHECK(render("llama3") ==
        "<s><|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|><|start_header_id|>user<|end_"
        "header_id|>\n\n"
        "A<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nB<|eot_id|><|start_header_id|>"
        "user"
        "<|end_header_id|>\n\nC<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n");
  CHECK(render("llama2") ==
        "<s>[INST] <<SYS>>\nS\n<</SYS>>\n\nA [/INST] B </s><s>[INST] C [/INST]");
  CHECK(render("mistral") == "<s>[INST] S\n\nA [/INST] B</s>[INST] C [/INST]");
  CHECK(render("gemma") ==
        "<s><start_of_turn>user\nS\n\nA<end_of_turn>\n<start_of_turn>model\nB<end_of_turn>\n"
        "<start_of_turn>user\nC<end_of_turn>\n<start_of_turn>model\n");
  CHECK(BuiltinTemplate("nosuch").status().code() == absl::StatusCode::kNotFound);
}

TEST_CASE("qwen built in: tools, calls, thinking") {
  constexpr std::string_view input =
      R"({"messages":[{"role":"user","content":"Q"},{"role":"assistant","content":"","tool_calls":[)"
      R"({"function":{"name":"f","arguments":{"a":1}}}]},{"role":"tool","content":"r1"},)"
      R"({"role":"tool","content":"r2"},{"role":"assistant","content":"<think>\nx\n</think>\n\nA"}],)"
      R"("tools":[{"name":"f"}],"add_generation_prompt":true,"enable_thinking":false})";
  std::string out = Render(*BuiltinTemplate("qwen"), input);
  CHECK(out.find("<tools>\n{\"name\": \"f\"}\n</tools>") != std::string::npos);
  CHECK(out.ends_with(
      "<|im_start|>assistant\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n"
      "</tool_call><|im_end|>\n<|im_start|>user\n<tool_response>\nr1\n</tool_response>\n"
      "<tool_response>\nr2\n</tool_response><|im_end|>\n<|im_start|>assistant\nA<|im_end|>\n"
      "<|im_start|>assistant\n<think>\n\n</think>\n\n"));
}

TEST_CASE("strftime_now reads the given clock") {
  constexpr std::string_view source = "{{ strftime_now('%d %b %Y %-d %H:%M%z') }}";
  CHECK(Render(source, "{}", TemplateClock{0, 0}) == "01 Jan 1970 1 00:00+0000");
  CHECK(Render(source, "{}", TemplateClock{951782399, -5400}) == "28 Feb 2000 28 22:29-0130");
  CHECK(Render(source, "{}", TemplateClock{-1, 0}) == "31 Dec 1969 31 23:59+0000");
  CHECK(Render("{{ strftime_now('%Y')|length }}", "{}") == "4");
  CHECK(Render("{{ strftime_now('%Q') }}", "{}") ==
        "chat template, line 1: strftime_now: unsupported conversion '%Q'");
}

}  // namespace
}  // namespace krafla
