// See chat_request.h.
#include "tools/server/chat_request.h"

#include "tools/server/constraint_fields.h"
#include "tools/server/errors.h"
#include "tools/server/fields.h"

namespace krafla::server {
namespace {

constexpr int64_t kMostChoices = 16;
constexpr int64_t kMostTop = 20;
constexpr size_t kMostMessages = 4096;
constexpr size_t kMostTools = 512;

// Contents of nothing but text as one string, which every template takes; others are the library's
// to refuse by name.
void JoinTextParts(Json* message) {
  if (!message->is_object() || !message->contains("content")) return;
  Json& content = (*message)["content"];
  if (content.is_null() && !message->contains("tool_calls")) content = "";
  if (!content.is_array()) return;
  std::string text;
  for (const Json& part : content) {
    const bool is_text = part.is_object() && part.value("type", Json()) == "text" &&
                         part.contains("text") && part["text"].is_string();
    if (!is_text) return;
    text += part["text"].get_ref<const std::string&>();
  }
  content = std::move(text);
}

std::string Messages(const Fields& fields) {
  const Json* messages = fields.Array("messages");
  if (messages == nullptr) throw BadField("messages", "is missing, want an array of messages");
  if (messages->empty() || messages->size() > kMostMessages) {
    throw BadField("messages", "got {}, want 1 to {}", messages->size(), kMostMessages);
  }
  Json joined = *messages;
  for (Json& message : joined) JoinTextParts(&message);
  return Dump(joined);
}

// What is null counts as absent, in what the template sees, too.
Json WithoutNulls(const Json& object) {
  if (!object.is_object()) return object;
  Json kept = Json::object();
  for (const auto& [key, value] : object.items()) {
    if (!value.is_null()) kept[key] = value;
  }
  return kept;
}

std::string Tools(const Fields& fields) {
  fields.RefuseUnless("functions", Json::array(), "is not known here, use tools");
  const Json* tools = fields.Array("tools");
  if (tools == nullptr || tools->empty()) return {};
  if (tools->size() > kMostTools) {
    throw BadField("tools", "got {}, want at most {}", tools->size(), kMostTools);
  }
  Json kept = Json::array();
  for (const Json& tool : *tools) {
    kept.push_back(WithoutNulls(tool));
    if (!tool.is_object() || !tool.contains("function")) continue;
    if (!tool["function"].is_null()) kept.back()["function"] = WithoutNulls(tool["function"]);
  }
  return Dump(kept);
}

// What the template sees besides the messages.
std::string Variables(const Fields& fields) {
  Json variables = Json::object();
  if (const auto effort = fields.String("reasoning_effort")) {
    variables["reasoning_effort"] = *effort;
    if (*effort == "none") variables["enable_thinking"] = false;
  }
  if (const Json* given = fields.Object("chat_template_kwargs")) {
    for (const char* name : {"messages", "tools"}) {
      if (given->contains(name)) {
        throw BadField("chat_template_kwargs", "{} is a field of the request", name);
      }
    }
    // null would be false to the template.
    if (given->value("add_generation_prompt", Json(true)) != true) {
      throw Unsupported("chat_template_kwargs.add_generation_prompt",
                        "a reply always begins a new message");
    }
    Fields(*given, "chat_template_kwargs")
        .RefuseUnless("continue_final_message", false, "a reply always begins a new message");
    variables.update(*given);
  }
  return variables.empty() ? std::string() : Dump(variables);
}

void ReadLimit(const Fields& fields, Sampling* sampling) {
  const std::optional<int64_t> most = MostTokens(fields, 1);
  if (most) sampling->SetMaxTokens(*most);
}

// The library's messages begin with the field that is wrong.
ApiError ConversationError(const Error& error) {
  ApiError plain = FromLibrary(error);
  std::string message = error.what();
  const size_t end = message.find(": ");
  if (end == std::string::npos) return plain;
  std::string name = message.substr(0, end);
  if (name == "variables") {
    name = "chat_template_kwargs";
    message.replace(0, end, name);
  } else if (!name.starts_with("messages") && !name.starts_with("tools")) {
    return plain;
  }
  return {plain.status(), plain.code(), message, name};
}

}  // namespace

ChatRequest::ChatRequest(const Json& body, ServedModel* served, bool any_length)
    : model(served), sampling(Fields(body), *served) {
  const Fields fields(body);
  messages = Messages(fields);
  tools = Tools(fields);
  variables = Variables(fields);
  ReadLimit(fields, &sampling);
  stream = fields.Bool("stream").value_or(false);
  if (const Json* options = fields.Object("stream_options")) {
    include_usage = Fields(*options, "stream_options").Bool("include_usage").value_or(false);
  }
  return_progress = fields.Bool("return_progress").value_or(false);
  parallel_calls = fields.Bool("parallel_tool_calls").value_or(true);
  n = fields.Integer("n", 1, kMostChoices).value_or(1);
  fields.RefuseUnless("best_of", n, "only as many as n are made");
  const bool wanted = fields.Bool("logprobs").value_or(false);
  const std::optional<int64_t> n_top = fields.Integer("top_logprobs", 0, kMostTop);
  if (n_top && *n_top > 0 && !wanted) throw BadField("top_logprobs", "want logprobs: true with it");
  if (wanted) sampling.SetLogprobs(n_top.value_or(0));
  fields.RefuseUnless("add_generation_prompt", true, "a reply always begins a new message");
  fields.RefuseUnless("continue_final_message", false, "a reply always begins a new message");
  fields.RefuseUnless("modalities", Json::array({"text"}), "only text is made here");
  fields.RefuseUnless("audio", false, "only text is made here");
  const ToolChoice choice = ReadToolChoice(fields);
  calls_allowed = choice.allowed;
  constraint = TextConstraint(fields, *model);
  if (constraint && choice.required) {
    throw BadField("tool_choice", "another field says already what the reply must be");
  }
  first_.emplace(NewChat());
  if (!any_length) CheckLength();
  ids = first_->Encode();
  if (!constraint) constraint = CallConstraint(fields, choice, parallel_calls, *first_);
  if (constraint) sampling.SetConstraint(constraint->get());
}

void ChatRequest::CheckLength() const {
  std::string json = "{\"messages\":" + messages + ",\"add_generation_prompt\":true";
  if (!tools.empty() && calls_allowed) json += ",\"tools\":" + tools;
  if (!variables.empty()) json += "," + variables.substr(1, variables.size() - 2);
  model->CheckRenderedLength(json + "}");
}

Chat ChatRequest::NewChat() const {
  Chat chat = model->NewChat();
  try {
    if (!tools.empty() && calls_allowed) chat.SetTools(tools);
    if (!variables.empty()) chat.SetVariables(variables);
    chat.AddJson(messages);
  } catch (const Error& error) {
    throw ConversationError(error);
  }
  return chat;
}

// The first is there already; a further one is rendered and encoded, so that a reply to it can
// begin.
Chat ChatRequest::NextChat() {
  if (first_) {
    Chat chat = std::move(*first_);
    first_.reset();
    return chat;
  }
  Chat chat = NewChat();
  (void)chat.Encode();
  return chat;
}

}  // namespace krafla::server
