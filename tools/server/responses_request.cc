// See responses_request.h.
#include "tools/server/responses_request.h"

#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

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

// Fields of the same name and meaning in both, and those that chat refuses by name.
constexpr const char* kSameInBoth[] = {
    "stream", "seed", "stop", "ignore_eos", "parallel_tool_calls", "chat_template_kwargs",
    // How tokens are chosen.
    "temperature", "top_p", "top_k", "min_p", "typical_p", "top_n_sigma", "xtc_probability",
    "xtc_threshold", "dynatemp_range", "dynatemp_exponent", "mirostat", "mirostat_tau",
    "mirostat_eta", "dry_multiplier", "dry_base", "dry_allowed_length", "dry_penalty_last_n",
    "dry_sequence_breakers", "presence_penalty", "frequency_penalty", "repeat_penalty",
    "repetition_penalty", "repeat_last_n", "logit_bias",
    // What the reply must be.
    "json_schema", "grammar", "response_format",
    // Not done.
    "functions", "best_of", "add_generation_prompt", "continue_final_message", "modalities",
    "audio"};

void RefuseWhatIsNotDone(const Fields& fields) {
  fields.RefuseUnless("previous_response_id", nullptr, "responses are not kept; send their items");
  fields.RefuseUnless("conversation", nullptr, "conversations are not kept; send their items");
  fields.RefuseUnless("background", false, "responses are not kept, so none is made in between");
  fields.RefuseUnless("truncation", "disabled", "nothing is dropped from the input");
  fields.RefuseUnless("prompt", nullptr, "stored prompts are not known here");
  fields.RefuseUnless("n", 1, "one response is made of a request");
  fields.RefuseUnless("logprobs", false, "responses tell none; use /v1/chat/completions");
  fields.RefuseUnless("top_logprobs", 0, "responses tell none; use /v1/chat/completions");
  for (const std::string& part : fields.Strings("include", kMostItems)) {
    if (part != "message.output_text.logprobs") continue;
    throw Unsupported("include", "responses tell no logprobs; use /v1/chat/completions");
  }
  // Chat's names of what is called otherwise here.
  fields.RefuseUnless("messages", nullptr, "is not known here, use input");
  fields.RefuseUnless("max_tokens", nullptr, "is not known here, use max_output_tokens");
  fields.RefuseUnless("max_completion_tokens", nullptr, "is not known here, use max_output_tokens");
  fields.RefuseUnless("reasoning_effort", nullptr, "is not known here, use reasoning.effort");
}

// The names' beginnings that differ from chat's where `text_format` says that it is its place.
constexpr std::pair<std::string_view, std::string_view> kFormatNames[] = {
    {"response_format.json_schema", "text.format"}, {"response_format", "text.format"}};
constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {
    {"max_completion_tokens", "max_output_tokens"},
    {"reasoning_effort", "reasoning.effort"},
    {"tool_choice.function", "tool_choice"}};

// The number in "[7]" at the beginning of *rest, which then begins behind it.
std::optional<size_t> TakeIndex(std::string_view* rest) {
  size_t index = 0;
  const char* const end = rest->data() + rest->size();
  if (!rest->starts_with('[')) return std::nullopt;
  const auto [at, code] = std::from_chars(rest->data() + 1, end, index);
  if (code != std::errc() || at == end || *at != ']') return std::nullopt;
  rest->remove_prefix(static_cast<size_t>(at - rest->data()) + 1);
  return index;
}

bool TakeStart(std::string_view start, std::string_view* rest) {
  if (!rest->starts_with(start)) return false;
  rest->remove_prefix(start.size());
  return true;
}

}  // namespace

ResponsesRequest::ResponsesRequest(const Json& body) {
  const Fields fields(body);
  RefuseWhatIsNotDone(fields);
  ReadInput(body);
  for (const char* name : kSameInBoth) {
    if (const Json* value = fields.Find(name)) chat_[name] = *value;
  }
  if (const Json* tools = fields.Array("tools")) chat_["tools"] = Tools(*tools);
  if (const Json* choice = fields.Find("tool_choice")) chat_["tool_choice"] = ToolChoice(*choice);
  if (const Json* text = fields.Object("text")) {
    if (const Json* format = Fields(*text, "text").Object("format")) {
      if (chat_.contains("response_format")) {
        throw BadField("response_format", "text.format says already what the reply must be");
      }
      chat_["response_format"] = ResponseFormat(*format);
      text_format_ = true;
    }
  }
  if (const Json* reasoning = fields.Object("reasoning")) {
    if (const auto effort = Fields(*reasoning, "reasoning").String("effort")) {
      chat_["reasoning_effort"] = *effort;
    }
  }
  if (const auto most = fields.Integer("max_output_tokens", 1, int64_t{1} << 31)) {
    chat_["max_completion_tokens"] = *most;
  }
}

void ResponsesRequest::AddMessage(Json message, std::string name) {
  chat_["messages"].push_back(std::move(message));
  origins_.push_back({std::move(name), {}});
}

void ResponsesRequest::AddItem(const Json& item, const std::string& name) {
  const Fields fields(item, name);
  const std::string type = fields.String("type").value_or("message");
  if (type == "message") {
    AddMessage({{"role", Text(fields, "role")},
                {"content", Content(fields.Find("content"), name + ".content")}},
               name);
  } else if (type == "function_call") {
    const Json call = {
        {"id", Text(fields, "call_id")},
        {"type", "function"},
        {"function", {{"name", Text(fields, "name")}, {"arguments", Text(fields, "arguments")}}}};
    // Calls of one reply are one message.
    Json& messages = chat_["messages"];
    if (messages.empty() || messages.back()["role"] != "assistant") {
      AddMessage({{"role", "assistant"}, {"content", nullptr}}, name);
    }
    messages.back()["tool_calls"].push_back(call);
    origins_.back().calls.push_back(name);
  } else if (type == "function_call_output") {
    AddMessage({{"role", "tool"},
                {"tool_call_id", Text(fields, "call_id")},
                {"content", Content(fields.Find("output"), name + ".output")}},
               name);
  } else if (type != "reasoning") {  // what was thought is not shown to the model again
    throw Unsupported(name, "an item of type " + type + " is not known here");
  }
}

void ResponsesRequest::ReadInput(const Json& body) {
  const Fields fields(body);
  chat_["messages"] = Json::array();
  if (const auto instructions = fields.String("instructions")) {
    AddMessage({{"role", "system"}, {"content", *instructions}}, "instructions");
  }
  const Json* input = fields.Find("input");
  if (input == nullptr) throw BadField("input", "is missing, want a string or items");
  if (input->is_string()) return AddMessage({{"role", "user"}, {"content", *input}}, "input");
  if (!input->is_array() || input->size() > kMostItems) {
    throw BadField("input", "got {}, want a string or at most {} items", Show(*input), kMostItems);
  }
  for (size_t i = 0; i < input->size(); ++i) {
    AddItem((*input)[i], fmt::format("input[{}]", i));
  }
  if (origins_.empty()) {
    throw BadField("input", "got {} items without a message, want at least one", input->size());
  }
}

// "messages[1].tool_calls[0].function.arguments" is "input[3].arguments".
std::string ResponsesRequest::GivenName(const std::string& name) const {
  std::string_view rest = name;
  if (TakeStart("messages", &rest)) {
    const std::optional<size_t> message = TakeIndex(&rest);
    if (!message || *message >= origins_.size()) return "input";
    const Origin& origin = origins_[*message];
    std::string_view behind = rest;
    if (TakeStart(".tool_calls", &behind)) {
      const std::optional<size_t> call = TakeIndex(&behind);
      if (call && *call < origin.calls.size()) {
        (void)TakeStart(".function", &behind);
        return origin.calls[*call] + std::string(behind);
      }
    }
    return origin.name + std::string(rest);
  }
  if (TakeStart("tools", &rest)) {
    const std::optional<size_t> tool = TakeIndex(&rest);
    if (tool && TakeStart(".function", &rest)) return fmt::format("tools[{}]{}", *tool, rest);
    return name;
  }
  const auto renamed = [&](const auto& names) -> std::optional<std::string> {
    for (const auto& [chat, here] : names) {
      if (TakeStart(chat, &rest)) return std::string(here) + std::string(rest);
    }
    return std::nullopt;
  };
  if (text_format_) {
    if (const auto given = renamed(kFormatNames)) return *given;
  }
  return renamed(kOtherNames).value_or(name);
}

ApiError ResponsesRequest::Told(const ApiError& error) const {
  const std::string& param = error.param();
  if (param.empty()) return error;
  const std::string given = GivenName(param);
  std::string message = error.what();
  if (message.starts_with(param)) message = given + message.substr(param.size());
  ApiError told(error.status(), error.code(), message, given);
  told.extra = error.extra;
  return told;
}

}  // namespace krafla::server
