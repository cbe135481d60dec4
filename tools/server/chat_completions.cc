// POST /v1/chat/completions.
#include "tools/server/chat_reply.h"
#include "tools/server/chat_request.h"
#include "tools/server/endpoints.h"
#include "tools/server/errors.h"
#include "tools/server/event_stream.h"
#include "tools/server/generation.h"
#include "tools/server/logprobs.h"

namespace krafla::server {
namespace {

class ChatCompletion {
 public:
  ChatCompletion(const Call& call, ChatRequest& request)
      : call_(call),
        request_(request),
        generation_(call, request.model, {request.ids}, request.n, request.sampling),
        id_(NewId("chatcmpl-")),
        created_(UnixTime()) {
    for (int64_t i = 0; i < request.n; ++i) {
      replies_.emplace_back(request.NextChat(), request.model, request.sampling.has_stops());
      logprobs_.push_back(Json::array());
    }
  }

  void Answer();
  void Stream();

 private:
  void Take(size_t choice, const krafla_event& token, ChatDelta* delta);
  std::string Finished(size_t choice) const;
  Json Base(const char* object) const;
  Json Usage() const;
  Json Chunk(size_t choice, Json delta) const;
  void SendDelta(EventStream* stream, size_t choice, const ChatDelta& delta);
  void RunStream(EventStream* stream);

  const Call& call_;
  const ChatRequest& request_;
  Generation generation_;
  std::string id_;
  int64_t created_;
  std::vector<ChatReply> replies_;
  std::vector<Json> logprobs_;  // of each choice; when streaming, those that were not yet sent
};

void ChatCompletion::Take(size_t choice, const krafla_event& token, ChatDelta* delta) {
  if (request_.sampling.logprobs() && token.id >= 0) {
    logprobs_[choice].push_back(ChatLogprob(*request_.model, token));
  }
  *delta = replies_[choice].Push(token);
  if (!request_.parallel_calls && !replies_[choice].calls().empty()) generation_.Finish(choice);
}

std::string ChatCompletion::Finished(size_t choice) const {
  if (!replies_[choice].calls().empty()) return "tool_calls";
  return FinishReason(generation_.end(choice).finish);
}

Json ChatCompletion::Base(const char* object) const {
  return {{"id", id_},
          {"object", object},
          {"created", created_},
          {"model", request_.model->name()},
          {"system_fingerprint", request_.model->fingerprint()}};
}

Json ChatCompletion::Usage() const {
  int64_t reasoning = 0;
  for (const ChatReply& reply : replies_) reasoning += reply.reasoning_tokens();
  Json usage = generation_.Usage();
  usage["completion_tokens_details"] = {{"reasoning_tokens", reasoning}};
  return usage;
}

void ChatCompletion::Answer() {
  Generation::Listener listener;
  listener.on_token = [&](size_t choice, const krafla_event& token) {
    ChatDelta delta;
    Take(choice, token, &delta);
  };
  generation_.Run(listener);
  Json answer = Base("chat.completion");
  answer["choices"] = Json::array();
  for (size_t i = 0; i < replies_.size(); ++i) {
    replies_[i].Finish();
    Json choice = {{"index", i}, {"message", replies_[i].Message()}};
    choice["logprobs"] =
        request_.sampling.logprobs() ? Json{{"content", std::move(logprobs_[i])}} : Json();
    choice["finish_reason"] = Finished(i);
    answer["choices"].push_back(std::move(choice));
  }
  answer["usage"] = Usage();
  answer["timings"] = generation_.Timings();
  answer["seed"] = request_.sampling.seed();
  call_.SendJson(answer);
}

Json ChatCompletion::Chunk(size_t choice, Json delta) const {
  Json chunk = Base("chat.completion.chunk");
  Json one = {{"index", choice}};
  one["delta"] = std::move(delta);
  one["logprobs"] = nullptr;
  one["finish_reason"] = nullptr;
  chunk["choices"] = Json::array({std::move(one)});
  return chunk;
}

void ChatCompletion::SendDelta(EventStream* stream, size_t choice, const ChatDelta& delta) {
  if (delta.empty()) return;
  Json shown = Json::object();
  if (!delta.content.empty()) shown["content"] = delta.content;
  if (!delta.reasoning.empty()) shown["reasoning_content"] = delta.reasoning;
  for (size_t i = 0; i < delta.calls.size(); ++i) {
    Json call = {{"index", delta.first_call + i}};
    call.update(CallJson(delta.calls[i]));
    shown["tool_calls"].push_back(std::move(call));
  }
  Json chunk = Chunk(choice, std::move(shown));
  if (!logprobs_[choice].empty()) {
    chunk["choices"][0]["logprobs"] = {{"content", std::move(logprobs_[choice])}};
    logprobs_[choice] = Json::array();
  }
  stream->Send(chunk);
}

void ChatCompletion::RunStream(EventStream* stream) {
  for (size_t i = 0; i < replies_.size(); ++i) {
    stream->Send(Chunk(i, {{"role", "assistant"}, {"content", ""}}));
  }
  Generation::Listener listener;
  listener.on_token = [&](size_t choice, const krafla_event& token) {
    ChatDelta delta;
    Take(choice, token, &delta);
    SendDelta(stream, choice, delta);
  };
  listener.on_end = [&](size_t choice) {
    SendDelta(stream, choice, replies_[choice].Finish());
    Json chunk = Chunk(choice, Json::object());
    if (!logprobs_[choice].empty()) {
      chunk["choices"][0]["logprobs"] = {{"content", std::move(logprobs_[choice])}};
    }
    chunk["choices"][0]["finish_reason"] = Finished(choice);
    chunk["timings"] = generation_.Timings();
    chunk["seed"] = request_.sampling.seed();
    stream->Send(chunk);
  };
  listener.on_quiet = [&] { stream->KeepAlive(); };
  if (request_.return_progress) {
    listener.on_progress = [&](const Json& progress) {
      Json chunk = Base("chat.completion.chunk");
      chunk["choices"] = Json::array();
      chunk["prompt_progress"] = progress;
      stream->Send(chunk);
    };
  }
  generation_.Run(listener);
  if (request_.include_usage) {
    Json chunk = Base("chat.completion.chunk");
    chunk["choices"] = Json::array();
    chunk["usage"] = Usage();
    stream->Send(chunk);
  }
  stream->Done();
}

void ChatCompletion::Stream() {
  EventStream stream(&call_.reply);
  stream.Guard([&] { RunStream(&stream); });
}

}  // namespace

void ChatCompletions(const Call& call) {
  const Json body = ParseJson(call.request.body);
  ChatRequest request(body, &call.FindModel(body));
  ChatCompletion completion(call, request);
  if (request.stream) {
    completion.Stream();
  } else {
    completion.Answer();
  }
}

}  // namespace krafla::server
