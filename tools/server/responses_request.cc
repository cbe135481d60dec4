// See responses_request.h.
#include "tools/server/responses_request.h"

#include "tools/server/errors.h"
#include "tools/server/fields.h"

namespace krafla::server {
namespace {

constexpr size_t kMostItems = 4096;

std::string Text(const Fields& fields, const char* name) {
  const auto text = fields.String(name);
  if (!text) throw BadField(fields.Name(name), "is missing, want a string");
  return *text;
}

// A string, or parts of text.
Json Content(const Json* content, const std::string& name) {
  if (content == nullptr) return "";
  if (content->is_string()) return *content;
  if (!content->is_array()) throw BadField(name, "got {}, want a string or parts", Show(*content));
  std::string text;
  for (const Json& part : *content) {
    const Fields fields(part, name + "[]");
    const std::string type = Text(fields, "type");
    if (type != "input_text" && type != "output_text" && type != "text") {
      throw Unsupported(name, "a part of type " + type + " is not known here, only text");
    }
    text += Text(fields, "text");
  }
  return text;
}

void AddItem(const Json& item, const std::string& name, Json* messages) {
  const Fields fields(item, name);
  const std::string type = fields.String("type").value_or("message");
  if (type == "message") {
    messages->push_back({{"role", Text(fields, "role")},
                         {"content", Content(fields.Find("content"), name + ".content")}});
  } else if (type == "function_call") {
    const Json call = {
        {"id", Text(fields, "call_id")},
        {"type", "function"},
        {"function", {{"name", Text(fields, "name")}, {"arguments", Text(fields, "arguments")}}}};
    // Calls of one reply are one message.
    if (!messages->empty() && messages->back()["role"] == "assistant") {
      messages->back()["tool_calls"].push_back(call);
    } else {
      messages->push_back(
          {{"role", "assistant"}, {"content", nullptr}, {"tool_calls", Json::array({call})}});
    }
  } else if (type == "function_call_output") {
    messages->push_back({{"role", "tool"},
                         {"tool_call_id", Text(fields, "call_id")},
                         {"content", Content(fields.Find("output"), name + ".output")}});
  } else if (type != "reasoning") {  // what was thought is not shown to the model again
    throw Unsupported(name, "an item of type " + type + " is not known here");
  }
}

Json Messages(const Fields& fields) {
  Json messages = Json::array();
  if (const auto instructions = fields.String("instructions")) {
    messages.push_back({{"role", "system"}, {"content", *instructions}});
  }
  const Json* input = fields.Find("input");
  if (input == nullptr) throw BadField("input", "is missing, want a string or items");
  if (input->is_string()) {
    messages.push_back({{"role", "user"}, {"content", *input}});
    return messages;
  }
  if (!input->is_array() || input->size() > kMostItems) {
    throw BadField("input", "got {}, want a string or at most {} items", Show(*input), kMostItems);
  }
  for (size_t i = 0; i < input->size(); ++i) {
    AddItem((*input)[i], fmt::format("input[{}]", i), &messages);
  }
  return messages;
}

Json Tools(const Json& given) {
  Json tools = Json::array();
  for (size_t i = 0; i < given.size(); ++i) {
    const Fields fields(given[i], fmt::format("tools[{}]", i));
    const std::string type = fields.String("type").value_or("");
    if (type != "function") {
      throw Unsupported(fields.Name("type"), "got " + type + ", only functions are known here");
    }
    Json function = given[i];
    function.erase("type");
    tools.push_back({{"type", "function"}, {"function", std::move(function)}});
  }
  return tools;
}

Json ToolChoice(const Json& given) {
  if (!given.is_object()) return given;
  const Fields fields(given, "tool_choice");
  return {{"type", "function"}, {"function", {{"name", Text(fields, "name")}}}};
}

Json ResponseFormat(const Json& format) {
  const Fields fields(format, "text.format");
  if (fields.String("type").value_or("text") != "json_schema") return format;
  Json schema = format;
  schema.erase("type");
  return {{"type", "json_schema"}, {"json_schema", std::move(schema)}};
}

}  // namespace

Json ChatBodyOf(const Json& body) {
  const Fields fields(body);
  fields.RefuseUnless("previous_response_id", nullptr, "responses are not kept; send their items");
  fields.RefuseUnless("conversation", nullptr, "conversations are not kept; send their items");
  fields.RefuseUnless("background", false, "responses are not kept, so none is made in between");
  fields.RefuseUnless("truncation", "disabled", "nothing is dropped from the input");
  fields.RefuseUnless("prompt", nullptr, "stored prompts are not known here");
  Json chat = Json::object();
  chat["messages"] = Messages(fields);
  if (const Json* tools = fields.Array("tools")) chat["tools"] = Tools(*tools);
  if (const Json* choice = fields.Find("tool_choice")) chat["tool_choice"] = ToolChoice(*choice);
  if (const Json* text = fields.Object("text")) {
    if (const Json* format = Fields(*text, "text").Object("format")) {
      chat["response_format"] = ResponseFormat(*format);
    }
  }
  if (const Json* reasoning = fields.Object("reasoning")) {
    if (const auto effort = Fields(*reasoning, "reasoning").String("effort")) {
      chat["reasoning_effort"] = *effort;
    }
  }
  if (const auto most = fields.Integer("max_output_tokens", 1, int64_t{1} << 31)) {
    chat["max_completion_tokens"] = *most;
  }
  // What has the same name and meaning in both.
  for (const char* name : {"temperature", "top_p", "top_k", "min_p", "seed", "stream",
                           "parallel_tool_calls", "chat_template_kwargs", "presence_penalty",
                           "frequency_penalty", "repeat_penalty", "logit_bias"}) {
    if (const Json* value = fields.Find(name)) chat[name] = *value;
  }
  return chat;
}

}  // namespace krafla::server
