// The built-in templates. Control tokens stand in the template text; what a message brings stays
// untrusted. Each takes bos_token and eos_token from the host where its family uses them.
#include "lib/chat/builtin.h"

#include <array>
#include <string>

namespace krafla {
namespace {

constexpr std::string_view kChatml = R"j(
{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\n' }}
    {%- if message.content is string %}
        {{- message.content }}
    {%- else %}
        {%- for part in message.content if part.type == 'text' %}{{ part.text }}{% endfor %}
    {%- endif %}
    {{- '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
{%- endif %})j";

// ChatML with Qwen's tools and thinking.
constexpr std::string_view kQwen = R"j(
{%- set has_system = messages and messages[0].role == 'system' %}
{%- if tools %}
    {{- '<|im_start|>system\n' }}
    {%- if has_system %}
        {{- messages[0].content + '\n\n' }}
    {%- endif %}
    {{- '# Tools\n\nYou may call one or more functions to assist with the user query.\n\n' }}
    {{- 'You are provided with function signatures within <tools></tools> XML tags:\n<tools>' }}
    {%- for tool in tools %}
        {{- '\n' ~ tool | tojson }}
    {%- endfor %}
    {{- '\n</tools>\n\nFor each function call, return a json object with function name and ' }}
    {{- 'arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n' }}
    {{- '{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call><|im_end|>\n' }}
{%- elif has_system %}
    {{- '<|im_start|>system\n' + messages[0].content + '<|im_end|>\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'tool' %}
        {%- if loop.first or loop.previtem.role != 'tool' %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\n<tool_response>\n' ~ message.content ~ '\n</tool_response>' }}
        {%- if loop.last or loop.nextitem.role != 'tool' %}
            {{- '<|im_end|>\n' }}
        {%- endif %}
    {%- elif message.role == 'assistant' %}
        {%- set content = message.content or '' %}
        {{- '<|im_start|>assistant\n' + content.split('</think>')[-1].lstrip('\n') }}
        {%- for call in message.tool_calls or [] %}
            {%- set call = call.function or call %}
            {%- if content or not loop.first %}
                {{- '\n' }}
            {%- endif %}
            {{- '<tool_call>\n{"name": "' + call.name + '", "arguments": ' }}
            {{- call.arguments if call.arguments is string else call.arguments | tojson }}
            {{- '}\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\n' }}
    {%- elif not (loop.first and has_system) %}
        {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\n\n</think>\n\n' }}
    {%- endif %}
{%- endif %})j";

constexpr std::string_view kLlama3 = R"j(
{{- bos_token }}
{%- for message in messages %}
    {{- '<|start_header_id|>' + message.role + '<|end_header_id|>\n\n' }}
    {{- message.content | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %})j";

// Llama 2, Mistral and Gemma have no system turn: its text goes before the first user message.
constexpr std::string_view kLlama2 = R"j(
{%- set ns = namespace(system='') %}
{%- for message in messages %}
    {%- if message.role == 'system' %}
        {%- set ns.system = '<<SYS>>\n' + message.content + '\n<</SYS>>\n\n' %}
    {%- elif message.role == 'user' %}
        {{- bos_token + '[INST] ' + ns.system + message.content | trim + ' [/INST]' }}
        {%- set ns.system = '' %}
    {%- elif message.role == 'assistant' %}
        {{- ' ' + message.content | trim + ' ' + eos_token }}
    {%- else %}
        {{- raise_exception('role ' ~ message.role ~ ' is not supported: want system, user, assistant') }}
    {%- endif %}
{%- endfor %})j";

constexpr std::string_view kMistral = R"j(
{{- bos_token }}
{%- set ns = namespace(system='') %}
{%- for message in messages %}
    {%- if message.role == 'system' %}
        {%- set ns.system = message.content + '\n\n' %}
    {%- elif message.role == 'user' %}
        {{- '[INST] ' + ns.system + message.content + ' [/INST]' }}
        {%- set ns.system = '' %}
    {%- elif message.role == 'assistant' %}
        {{- ' ' + message.content | trim + eos_token }}
    {%- else %}
        {{- raise_exception('role ' ~ message.role ~ ' is not supported: want system, user, assistant') }}
    {%- endif %}
{%- endfor %})j";

constexpr std::string_view kGemma = R"j(
{{- bos_token }}
{%- set ns = namespace(system='') %}
{%- for message in messages %}
    {%- if message.role == 'system' %}
        {%- set ns.system = message.content + '\n\n' %}
    {%- else %}
        {{- '<start_of_turn>' + ('model' if message.role == 'assistant' else message.role) + '\n' }}
        {{- ns.system + message.content | trim + '<end_of_turn>\n' }}
        {%- set ns.system = '' %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<start_of_turn>model\n' }}
{%- endif %})j";

constexpr std::array<std::string_view, 6> kNames = {"chatml", "gemma",   "llama2",
                                                    "llama3", "mistral", "qwen"};
constexpr std::array<std::string_view, 6> kTemplates = {kChatml, kGemma,   kLlama2,
                                                        kLlama3, kMistral, kQwen};

}  // namespace

StatusOr<std::string_view> BuiltinTemplate(std::string_view name) {
  std::string names;
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return kTemplates[i];
    names.append(i > 0 ? ", " : "").append(kNames[i]);
  }
  return NotFoundError("chat template {}: not built in, want one of {}", name, names);
}

}  // namespace krafla
