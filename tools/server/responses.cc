// POST /v1/responses: a chat reply as items, told by events where it is streamed. Nothing is kept
// of it afterwards.
#include "tools/server/chat_reply.h"
#include "tools/server/chat_request.h"
#include "tools/server/endpoints.h"
#include "tools/server/errors.h"
#include "tools/server/event_stream.h"
#include "tools/server/fields.h"
#include "tools/server/generation.h"
#include "tools/server/responses_request.h"

namespace krafla::server {
namespace {

class Response {
 public:
  Response(const Call& call, const Json& body, ChatRequest& request);

  // stream: null where the whole is sent at the end.
  void Run(EventStream* stream);

 private:
  enum class Open : uint8_t { kNothing, kReasoning, kMessage };

  void Take(const ChatDelta& delta);
  void Say(Open kind, const std::string& text);
  void SayCall(const ToolCall& call);
  void OpenItem(Open kind);
  void CloseItem(const char* status);
  void AddItem(const Json& item);
  void Event(const char* type, Json data);
  Json Part(const std::string& text) const;
  Json Whole(const char* status) const;

  const Call& call_;
  const Json& body_;
  const ChatRequest& request_;
  Generation generation_;
  ChatReply reply_;
  EventStream* stream_ = nullptr;
  std::string id_ = NewId("resp_");
  int64_t created_ = UnixTime();
  int64_t sequence_ = 0;
  Json output_ = Json::array();
  Open open_ = Open::kNothing;
  std::string item_id_;
  std::string text_;   // of the open item
  std::string blank_;  // space that came before a message, which may be none
};

Response::Response(const Call& call, const Json& body, ChatRequest& request)
    : call_(call),
      body_(body),
      request_(request),
      generation_(call, request.model, {request.ids}, 1, request.sampling),
      reply_(request.NextChat(), request.model, request.sampling.has_stops()) {}

void Response::Event(const char* type, Json data) {
  if (stream_ == nullptr) return;
  Json event = {{"type", type}, {"sequence_number", sequence_++}};
  event.update(data);
  stream_->Send(type, event);
}

Json Response::Part(const std::string& text) const {
  if (open_ == Open::kReasoning) return {{"type", "reasoning_text"}, {"text", text}};
  return {{"type", "output_text"},
          {"text", text},
          {"annotations", Json::array()},
          {"logprobs", Json::array()}};
}

void Response::OpenItem(Open kind) {
  open_ = kind;
  text_.clear();
  const bool message = kind == Open::kMessage;
  item_id_ = NewId(message ? "msg_" : "rs_");
  Json item = {{"id", item_id_}, {"type", message ? "message" : "reasoning"}};
  if (message) item["role"] = "assistant";
  if (!message) item["summary"] = Json::array();
  item["status"] = "in_progress";
  item["content"] = Json::array();
  Event("response.output_item.added", {{"output_index", output_.size()}, {"item", item}});
  Event("response.content_part.added", {{"item_id", item_id_},
                                        {"output_index", output_.size()},
                                        {"content_index", 0},
                                        {"part", Part("")}});
}

void Response::CloseItem(const char* status) {
  if (open_ == Open::kNothing) return;
  const bool message = open_ == Open::kMessage;
  const Json where = {
      {"item_id", item_id_}, {"output_index", output_.size()}, {"content_index", 0}};
  Json done = where;
  done["text"] = text_;
  if (message) done["logprobs"] = Json::array();
  Event(message ? "response.output_text.done" : "response.reasoning_text.done", done);
  Json part = where;
  part["part"] = Part(text_);
  Event("response.content_part.done", part);
  Json item = {{"id", item_id_}, {"type", message ? "message" : "reasoning"}};
  if (message) item["role"] = "assistant";
  if (!message) item["summary"] = Json::array();
  item["status"] = status;
  item["content"] = Json::array({Part(text_)});
  open_ = Open::kNothing;
  AddItem(item);
}

void Response::AddItem(const Json& item) {
  Event("response.output_item.done", {{"output_index", output_.size()}, {"item", item}});
  output_.push_back(item);
}

void Response::Say(Open kind, const std::string& text) {
  if (open_ != kind) {
    CloseItem("completed");
    OpenItem(kind);
  }
  text_ += text;
  Json delta = {{"item_id", item_id_},
                {"output_index", output_.size()},
                {"content_index", 0},
                {"delta", text}};
  if (kind == Open::kMessage) delta["logprobs"] = Json::array();
  Event(kind == Open::kMessage ? "response.output_text.delta" : "response.reasoning_text.delta",
        delta);
}

void Response::SayCall(const ToolCall& call) {
  CloseItem("completed");
  Json item = {{"id", NewId("fc_")}, {"type", "function_call"}, {"call_id", call.id},
               {"name", call.name},  {"arguments", ""},         {"status", "in_progress"}};
  const Json where = {{"item_id", item["id"]}, {"output_index", output_.size()}};
  Event("response.output_item.added", {{"output_index", output_.size()}, {"item", item}});
  Json delta = where;
  delta["delta"] = call.arguments;
  Event("response.function_call_arguments.delta", delta);
  Json done = where;
  done["name"] = call.name;
  done["arguments"] = call.arguments;
  Event("response.function_call_arguments.done", done);
  item["arguments"] = call.arguments;
  item["status"] = "completed";
  AddItem(item);
}

void Response::Take(const ChatDelta& delta) {
  if (!delta.reasoning.empty()) Say(Open::kReasoning, delta.reasoning);
  if (!delta.content.empty()) {
    std::string text = blank_ + delta.content;
    const bool blank = text.find_first_not_of(" \t\r\n") == std::string::npos;
    blank_.clear();
    if (open_ != Open::kMessage && blank) {
      blank_ = std::move(text);
    } else {
      Say(Open::kMessage, text);
    }
  }
  for (const ToolCall& call : delta.calls) SayCall(call);
  if (!request_.parallel_calls && !reply_.calls().empty()) generation_.Finish(0);
}

Json Response::Whole(const char* status) const {
  const Fields fields(body_);
  const auto given = [&](const char* name, Json otherwise) {
    const Json* value = fields.Find(name);
    return value != nullptr ? *value : std::move(otherwise);
  };
  Json whole = {{"id", id_},
                {"object", "response"},
                {"created_at", created_},
                {"status", status},
                {"error", nullptr},
                {"incomplete_details", nullptr},
                {"instructions", given("instructions", nullptr)},
                {"max_output_tokens", given("max_output_tokens", nullptr)},
                {"model", request_.model->name()},
                {"output", output_},
                {"parallel_tool_calls", request_.parallel_calls},
                {"previous_response_id", nullptr},
                {"reasoning", given("reasoning", {{"effort", nullptr}, {"summary", nullptr}})},
                {"store", false},
                {"temperature", given("temperature", 1.0)},
                {"text", given("text", {{"format", {{"type", "text"}}}})},
                {"tool_choice", given("tool_choice", "auto")},
                {"tools", given("tools", Json::array())},
                {"top_p", given("top_p", 1.0)},
                {"truncation", "disabled"},
                {"usage", nullptr},
                {"metadata", given("metadata", Json::object())},
                {"seed", request_.sampling.seed()},
                {"system_fingerprint", request_.model->fingerprint()}};
  if (std::string_view(status) == "in_progress") return whole;
  const Json usage = generation_.Usage();
  whole["usage"] = {{"input_tokens", usage["prompt_tokens"]},
                    {"input_tokens_details", usage["prompt_tokens_details"]},
                    {"output_tokens", usage["completion_tokens"]},
                    {"output_tokens_details", {{"reasoning_tokens", reply_.reasoning_tokens()}}},
                    {"total_tokens", usage["total_tokens"]}};
  if (std::string_view(status) == "incomplete") {
    whole["incomplete_details"] = {{"reason", "max_output_tokens"}};
  }
  return whole;
}

void Response::Run(EventStream* stream) {
  stream_ = stream;
  Event("response.created", {{"response", Whole("in_progress")}});
  Event("response.in_progress", {{"response", Whole("in_progress")}});
  Generation::Listener listener;
  listener.on_token = [&](size_t, const krafla_event& token) { Take(reply_.Push(token)); };
  if (stream != nullptr) listener.on_quiet = [&] { stream_->KeepAlive(); };
  generation_.Run(listener);
  Take(reply_.Finish());
  const bool cut = std::string_view(FinishReason(generation_.end(0).finish)) == "length";
  CloseItem(cut ? "incomplete" : "completed");
  const char* status = cut ? "incomplete" : "completed";
  if (stream == nullptr) return call_.SendJson(Whole(status));
  Event(cut ? "response.incomplete" : "response.completed", {{"response", Whole(status)}});
  stream->End();
}

}  // namespace

void Responses(const Call& call) {
  const Json body = ParseJson(call.request.body);
  ServedModel& model = call.FindModel(body);
  const ResponsesRequest asked(body);
  ChatRequest request = [&] {
    try {
      return ChatRequest(asked.chat(), &model);
    } catch (const ApiError& error) {
      throw asked.Told(error);
    }
  }();
  Response response(call, body, request);
  if (!request.stream) return response.Run(nullptr);
  EventStream stream(&call.reply);
  stream.Guard([&] { response.Run(&stream); });
}

}  // namespace krafla::server
