// See conversation.h. simdjson checks JSON without recursion; its depth is limited.
#include "lib/chat/conversation.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "lib/base/utf8.h"
#include "lib/chat/json_text.h"

namespace krafla {
namespace {

constexpr size_t kMaxDepth = 100;  // below what a template's input may have
constexpr size_t kMaxMessages = 100'000;
constexpr size_t kMaxTools = 1024;

Status JsonError(const char* what, simdjson::error_code error) {
  if (error == simdjson::MEMALLOC) return MemoryError("{}: no memory to read it", what);
  return ArgumentError("{}: {}", what, simdjson::error_message(error));
}

// Whoever holds this holds the parsed text.
class Parsed {
 public:
  StatusOr<simdjson::dom::element> Parse(const char* what, std::string_view json) {
    simdjson::error_code error = parser_.allocate(json.size(), kMaxDepth);
    if (error != simdjson::SUCCESS) return JsonError(what, error);
    padded_ = simdjson::padded_string(json);
    if (padded_.size() != json.size()) return JsonError(what, simdjson::MEMALLOC);
    simdjson::dom::element element;
    error = parser_.parse(padded_).get(element);
    if (error != simdjson::SUCCESS) return JsonError(what, error);
    return element;
  }

 private:
  simdjson::dom::parser parser_;
  simdjson::padded_string padded_;
};

// For messages: what is there where something else is wanted.
const char* KindOf(simdjson::dom::element element) {
  switch (element.type()) {
    case simdjson::dom::element_type::ARRAY:
      return "an array";
    case simdjson::dom::element_type::OBJECT:
      return "an object";
    case simdjson::dom::element_type::STRING:
      return "a string";
    case simdjson::dom::element_type::BOOL:
      return "true or false";
    case simdjson::dom::element_type::NULL_VALUE:
      return "null";
    default:
      return "a number";
  }
}

const char* KindOf(simdjson::dom::object object, std::string_view key) {
  simdjson::dom::element element;
  if (object[key].get(element) != simdjson::SUCCESS) return "nothing";
  std::string_view text;
  return element.get(text) == simdjson::SUCCESS && text.empty() ? "an empty one" : KindOf(element);
}

std::string_view StringOf(simdjson::dom::object object, std::string_view key) {
  std::string_view text;
  return object[key].get(text) == simdjson::SUCCESS ? text : std::string_view();
}

// Content is a text, null, or a list of text parts.
Status CheckContent(size_t i, simdjson::dom::object message) {
  simdjson::dom::element content;
  if (message["content"].get(content) != simdjson::SUCCESS) return OkStatus();
  if (content.is_string() || content.is_null()) return OkStatus();
  simdjson::dom::array parts;
  if (content.get(parts) != simdjson::SUCCESS) {
    return ArgumentError("messages[{}].content: got {}, want a string, null or an array of parts",
                         i, KindOf(content));
  }
  size_t j = 0;
  for (const simdjson::dom::element part : parts) {
    simdjson::dom::object object;
    if (part.get(object) != simdjson::SUCCESS) {
      return ArgumentError("messages[{}].content[{}]: got {}, want an object", i, j, KindOf(part));
    }
    const std::string_view type = StringOf(object, "type");
    if (type != "text") {
      return UnsupportedError("messages[{}].content[{}]: a part of kind {}: only text is read", i,
                              j, type.empty() ? "(none)" : type);
    }
    simdjson::dom::element text;
    if (object["text"].get(text) != simdjson::SUCCESS || !text.is_string()) {
      return ArgumentError("messages[{}].content[{}].text: got {}, want a string", i, j,
                           KindOf(object, "text"));
    }
    ++j;
  }
  return OkStatus();
}

// N of the ids that replies' calls get, callN; -1: it is none of these.
int64_t CallNumber(std::string_view id) {
  int64_t number = -1;
  if (!id.starts_with("call") || id.size() > 13) return -1;
  const auto [end, code] = std::from_chars(id.data() + 4, id.data() + id.size(), number);
  return code == std::errc() && end == id.data() + id.size() ? number : -1;
}

// A call of the history. OpenAI writes the arguments as a string that holds JSON; templates want
// the object.
Status AppendCall(size_t i, size_t j, simdjson::dom::element element, std::string* json,
                  int64_t* n_calls) {
  simdjson::dom::object call, inner;
  if (element.get(call) != simdjson::SUCCESS) {
    return ArgumentError("messages[{}].tool_calls[{}]: got {}, want an object", i, j,
                         KindOf(element));
  }
  if (call["function"].get(inner) != simdjson::SUCCESS) inner = call;
  const std::string_view name = StringOf(inner, "name");
  if (name.empty()) {
    return ArgumentError("messages[{}].tool_calls[{}].function.name: got {}, want a string", i, j,
                         KindOf(inner, "name"));
  }
  std::string arguments = "{}";
  simdjson::dom::element given;
  std::string_view text;
  bool is_object = true;
  if (inner["arguments"].get(given) == simdjson::SUCCESS && !given.is_null()) {
    if (given.get(text) == simdjson::SUCCESS) {
      is_object = text.empty() || (chat::IsJson(text, &is_object) && is_object);
      if (!text.empty()) arguments = text;
    } else {
      is_object = given.is_object();
      arguments = simdjson::minify(given);
    }
  }
  if (!is_object) {
    return ArgumentError("messages[{}].tool_calls[{}].function.arguments: want a JSON object", i,
                         j);
  }
  *json += j > 0 ? ",{" : "{";
  const std::string_view id = StringOf(call, "id");
  *n_calls = std::max(*n_calls, CallNumber(id)) + 1;
  if (!id.empty()) {
    *json += "\"id\":";
    chat::AppendJsonString(id, json);
    *json += ",";
  }
  *json += "\"type\":\"function\",\"function\":{\"name\":";
  chat::AppendJsonString(name, json);
  *json += ",\"arguments\":" + arguments + "}}";
  return OkStatus();
}

bool HasContent(simdjson::dom::object message) {
  simdjson::dom::element content;
  return message["content"].get(content) == simdjson::SUCCESS && !content.is_null();
}

// The message as it is kept: its calls in one shape, the last of members with the same key.
StatusOr<std::string> Normalised(size_t i, simdjson::dom::object message, int64_t* n_calls) {
  std::string json = "{";
  for (const auto& [key, value] : message) {
    if (json.size() > 1) json += ",";
    chat::AppendJsonString(key, &json);
    json += ":";
    simdjson::dom::array calls;
    if (key != "tool_calls" || value.is_null()) {
      json += simdjson::minify(value);
      continue;
    }
    if (value.get(calls) != simdjson::SUCCESS) {
      return ArgumentError("messages[{}].tool_calls: got {}, want an array", i, KindOf(value));
    }
    json += "[";
    size_t j = 0;
    for (const simdjson::dom::element call : calls) {
      KRAFLA_RETURN_IF_ERROR(AppendCall(i, j++, call, &json, n_calls));
    }
    json += "]";
  }
  return json + "}";
}

}  // namespace

Conversation::Conversation(std::shared_ptr<const ChatTemplate> chat_template,
                           std::string_view source)
    : template_(std::move(chat_template)), format_(chat::RecogniseFormat(source)) {}

Status Conversation::Add(std::string_view json) {
  Parsed parsed;
  KRAFLA_ASSIGN_OR_RETURN(const simdjson::dom::element root, parsed.Parse("message", json));
  std::vector<simdjson::dom::element> given;
  if (simdjson::dom::array list; root.get(list) == simdjson::SUCCESS) {
    for (const simdjson::dom::element element : list) given.push_back(element);
  } else {
    given.push_back(root);
  }
  if (messages_.size() + given.size() > kMaxMessages) {
    return ArgumentError("messages: got {}, want at most {}", messages_.size() + given.size(),
                         kMaxMessages);
  }
  std::vector<Message> added;
  int64_t n_calls = n_calls_;
  for (const simdjson::dom::element element : given) {
    const size_t i = messages_.size() + added.size();
    simdjson::dom::object message;
    if (element.get(message) != simdjson::SUCCESS) {
      return ArgumentError("messages[{}]: got {}, want an object", i, KindOf(element));
    }
    const std::string_view role = StringOf(message, "role");
    if (role.empty()) {
      return ArgumentError("messages[{}].role: got {}, want a string", i, KindOf(message, "role"));
    }
    KRAFLA_RETURN_IF_ERROR(CheckContent(i, message));
    KRAFLA_ASSIGN_OR_RETURN(std::string text, Normalised(i, message, &n_calls));
    std::string filled;
    if (!HasContent(message)) filled = text.substr(0, text.size() - 1) + ",\"content\":\"\"}";
    added.push_back({std::string(role), std::move(text), std::move(filled)});
  }
  messages_.reserve(messages_.size() + added.size());
  for (Message& message : added) messages_.push_back(std::move(message));
  n_calls_ = n_calls;
  return OkStatus();
}

Status Conversation::Add(std::string_view role, std::string_view content) {
  for (const std::string_view text : {role, content}) {
    if (const size_t at = ValidUtf8Prefix(text); at != text.size()) {
      return ArgumentError("messages[{}]: byte {} is no UTF-8", messages_.size(), at);
    }
  }
  std::string json = "{\"role\":";
  chat::AppendJsonString(role, &json);
  json += ",\"content\":";
  chat::AppendJsonString(content, &json);
  json += "}";
  return Add(json);
}

void Conversation::Truncate(size_t n_messages) {
  if (n_messages < messages_.size()) {
    messages_.erase(messages_.begin() + static_cast<ptrdiff_t>(n_messages), messages_.end());
  }
}

std::string Conversation::Json() const {
  std::string json = "[";
  for (const Message& message : messages_) {
    if (json.size() > 1) json += ',';
    json += message.json;
  }
  return json + "]";
}

Status Conversation::SetTools(std::string_view json) {
  std::vector<Tool> tools;
  chat::ToolNames names;
  std::string all;
  if (!json.empty()) {
    Parsed parsed;
    KRAFLA_ASSIGN_OR_RETURN(const simdjson::dom::element root, parsed.Parse("tools", json));
    simdjson::dom::array list;
    if (root.get(list) != simdjson::SUCCESS) return ArgumentError("tools: want an array");
    for (const simdjson::dom::element element : list) {
      const size_t i = tools.size();
      if (i == kMaxTools) return ArgumentError("tools: got more than {}", kMaxTools);
      simdjson::dom::object tool, inner;
      if (element.get(tool) != simdjson::SUCCESS) {
        return ArgumentError("tools[{}]: got {}, want an object", i, KindOf(element));
      }
      const bool wrapped = tool["function"].get(inner) == simdjson::SUCCESS;
      if (!wrapped) inner = tool;
      const std::string_view name = StringOf(inner, "name");
      if (name.empty()) {
        return ArgumentError("tools[{}].function.name: got {}, want a string", i,
                             KindOf(inner, "name"));
      }
      if (!names.names.emplace(name).second) {
        return ArgumentError("tools[{}].function.name: got {} twice", i, name);
      }
      simdjson::dom::element parameters;
      std::string schema = "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}";
      if (inner["parameters"].get(parameters) == simdjson::SUCCESS && !parameters.is_null()) {
        simdjson::dom::object members, properties;
        if (parameters.get(members) != simdjson::SUCCESS) {
          return ArgumentError("tools[{}].function.parameters: got {}, want an object", i,
                               KindOf(parameters));
        }
        schema = simdjson::minify(parameters);
        if (members["properties"].get(properties) == simdjson::SUCCESS) {
          for (const auto& [key, value] : properties) {
            simdjson::dom::object property;
            if (value.get(property) == simdjson::SUCCESS &&
                StringOf(property, "type") == "string") {
              names.strings.insert(std::string(name) + "/" + std::string(key));
            }
          }
        }
      }
      tools.push_back({std::string(name), std::move(schema)});
      // Templates of most families read the inner object through "function".
      all += all.empty() ? "[" : ",";
      all += wrapped ? simdjson::minify(tool)
                     : "{\"type\":\"function\",\"function\":" + simdjson::minify(tool) + "}";
    }
    if (!all.empty()) all += "]";
  }
  tools_ = std::move(all);
  tool_list_ = std::move(tools);
  tool_names_ = std::move(names);
  return OkStatus();
}

Status Conversation::SetVariables(std::string_view json) {
  std::string members;
  if (!json.empty()) {
    Parsed parsed;
    KRAFLA_ASSIGN_OR_RETURN(const simdjson::dom::element root, parsed.Parse("variables", json));
    simdjson::dom::object object;
    if (root.get(object) != simdjson::SUCCESS) return ArgumentError("variables: want an object");
    for (const auto& [key, value] : object) {
      if (key == "messages" || key == "tools") {
        return ArgumentError("variables: {} has a place of its own", key);
      }
      members += ",";
      chat::AppendJsonString(key, &members);
      members += ":" + simdjson::minify(value);
    }
  }
  variables_ = std::move(members);
  return OkStatus();
}

std::string Conversation::Input(bool filled) const {
  std::string input = "{\"messages\":[";
  for (size_t i = 0; i < messages_.size(); ++i) {
    if (i > 0) input += ',';
    input += filled && !messages_[i].filled.empty() ? messages_[i].filled : messages_[i].json;
  }
  input += "]";
  if (!tools_.empty()) input += ",\"tools\":" + tools_;
  return input + ",\"add_generation_prompt\":true" + variables_ + "}";
}

// A call's message has no content, or null: by that some templates know calls, and others, which
// look for something in it, fail.
StatusOr<std::vector<TextRun>> Conversation::Render(
    std::span<const TrustedVariable> trusted) const {
  StatusOr<std::vector<TextRun>> runs = template_->Render(Input(false), trusted);
  const bool blank = std::any_of(messages_.begin(), messages_.end(),
                                 [](const Message& message) { return !message.filled.empty(); });
  if (runs.ok() || !blank) return runs;
  StatusOr<std::vector<TextRun>> again = template_->Render(Input(true), trusted);
  return again.ok() ? std::move(again) : std::move(runs);
}

std::pair<size_t, size_t> Conversation::OldestTurn() const {
  const auto is_system = [](const Message& m) {
    return m.role == "system" || m.role == "developer";
  };
  size_t begin = 0;
  while (begin < messages_.size() && is_system(messages_[begin])) ++begin;
  size_t end = begin + 1;
  while (end < messages_.size() && messages_[end].role != "user") ++end;
  if (end >= messages_.size()) end = begin;  // the last turn stays
  return {begin, end};
}

void Conversation::Drop(size_t begin, size_t end) {
  messages_.erase(messages_.begin() + static_cast<ptrdiff_t>(begin),
                  messages_.begin() + static_cast<ptrdiff_t>(end));
}

chat::ReplyParser Conversation::Parser(std::string_view prompt_end) const {
  return {format_, has_tools() ? &tool_names_ : nullptr, prompt_end, n_calls_};
}

// References of a tool's schema (#/$defs/...) are to that schema, wherever it stands.
static std::string AsResource(std::string_view tool, const std::string& schema) {
  const size_t brace = schema.find('{');
  if (schema.find("\"$ref\"") == std::string::npos || brace == std::string::npos ||
      schema.find("\"$id\"") != std::string::npos) {
    return schema;
  }
  std::string id;
  chat::AppendJsonString("urn:krafla:tool:" + std::string(tool), &id);
  return schema.substr(0, brace + 1) + "\"$id\":" + id + "," + schema.substr(brace + 1);
}

StatusOr<std::vector<Conversation::Tool>> Conversation::Tools(std::string_view wanted) const {
  std::vector<Tool> tools;
  for (const Tool& tool : tool_list_) {
    if (wanted.empty() || tool.name == wanted) tools.push_back(tool);
  }
  if (!tools.empty()) return tools;
  if (!wanted.empty()) return NotFoundError("tools: there is none named {}", wanted);
  return StateError("tools: there are none");
}

StatusOr<std::string> Conversation::CallSchema(std::string_view wanted) const {
  const char* arguments = format_.form == chat::CallForm::kLlama ? "parameters" : "arguments";
  KRAFLA_ASSIGN_OR_RETURN(const std::vector<Tool> tools, Tools(wanted));
  std::string any;
  for (const Tool& tool : tools) {
    any += any.empty() ? "" : ",";
    any += "{\"type\":\"object\",\"properties\":{\"name\":{\"const\":";
    chat::AppendJsonString(tool.name, &any);
    any += "},\"" + std::string(arguments) + "\":" + AsResource(tool.name, tool.parameters) +
           "},\"required\":[\"name\",\"" + arguments + "\"],\"additionalProperties\":false}";
  }
  return "{\"anyOf\":[" + any + "]}";
}

void Conversation::AddReply(std::string_view content, std::string_view reasoning,
                            std::string_view calls_json, size_t n_calls) {
  std::string json = "{\"role\":\"assistant\",\"content\":";
  chat::AppendJsonString(content, &json);
  if (!reasoning.empty()) {
    json += ",\"reasoning_content\":";
    chat::AppendJsonString(reasoning, &json);
  }
  if (n_calls > 0) json += ",\"tool_calls\":[" + std::string(calls_json) + "]";
  messages_.push_back({"assistant", json + "}"});
  n_calls_ += static_cast<int64_t>(n_calls);
}

}  // namespace krafla
