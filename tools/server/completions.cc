// POST /v1/completions.
#include <optional>

#include "tools/server/completion_request.h"
#include "tools/server/endpoints.h"
#include "tools/server/errors.h"
#include "tools/server/event_stream.h"
#include "tools/server/generation.h"
#include "tools/server/text_logprobs.h"

namespace krafla::server {
namespace {

class Completion {
 public:
  Completion(const Call& call, const CompletionRequest& request);

  void Answer();
  void Stream();

 private:
  Json Base() const;
  Json Choice(size_t i, std::string_view text, bool last);
  Json Usage() const;
  void RunStream(EventStream* stream);

  const Call& call_;
  const CompletionRequest& request_;
  std::optional<Generation> generation_;  // none where no tokens are wanted
  std::string id_ = NewId("cmpl-");
  int64_t created_ = UnixTime();
  std::vector<std::string> texts_;  // of each choice; when streaming, what was not yet sent
  std::vector<TextLogprobs> logprobs_;
};

Completion::Completion(const Call& call, const CompletionRequest& request)
    : call_(call), request_(request) {
  for (const std::vector<int32_t>& ids : request.prompts) {
    CheckFits(ids.size(), request.model->context(), /*reply=*/request.max_tokens > 0);
  }
  if (request.max_tokens > 0) {
    generation_.emplace(call, request.model, request.prompts, request.n, request.sampling);
  }
  for (size_t i = 0; i < request.prompts.size(); ++i) {
    TextLogprobs logprobs(request.model);
    if (request.echo && request.sampling.logprobs()) {
      logprobs.AddPrompt(call, request.prompts[i], static_cast<size_t>(request.n_top),
                         request.model);
    }
    for (int64_t k = 0; k < request.n; ++k) {
      texts_.push_back(request.echo ? request.texts[i] : std::string());
      logprobs_.push_back(logprobs);
    }
  }
}

Json Completion::Base() const {
  return {{"id", id_},
          {"object", "text_completion"},
          {"created", created_},
          {"model", request_.model->name()},
          {"system_fingerprint", request_.model->fingerprint()}};
}

Json Completion::Choice(size_t i, std::string_view text, bool last) {
  Json choice = {{"index", i}, {"text", text}};
  const bool told = request_.sampling.logprobs() && !logprobs_[i].empty();
  choice["logprobs"] = told ? logprobs_[i].Take() : Json();
  choice["finish_reason"] = nullptr;
  if (last) {
    choice["finish_reason"] = generation_ ? FinishReason(generation_->end(i).finish) : "length";
  }
  return choice;
}

Json Completion::Usage() const {
  if (generation_) return generation_->Usage();
  size_t n = 0;
  for (const std::vector<int32_t>& ids : request_.prompts) n += ids.size();
  return {{"prompt_tokens", n}, {"completion_tokens", 0}, {"total_tokens", n}};
}

void Completion::Answer() {
  Generation::Listener listener;
  listener.on_token = [&](size_t i, const krafla_event& token) {
    texts_[i].append(token.text, token.text_length);
    if (request_.sampling.logprobs() && token.id >= 0) logprobs_[i].Add(token);
  };
  if (generation_) generation_->Run(listener);
  Json answer = Base();
  answer["choices"] = Json::array();
  for (size_t i = 0; i < texts_.size(); ++i)
    answer["choices"].push_back(Choice(i, texts_[i], true));
  answer["usage"] = Usage();
  if (generation_) answer["timings"] = generation_->Timings();
  answer["seed"] = request_.sampling.seed();
  call_.SendJson(answer);
}

void Completion::RunStream(EventStream* stream) {
  const auto send = [&](size_t i, std::string_view text, bool last) {
    Json chunk = Base();
    chunk["choices"] = Json::array({Choice(i, text, last)});
    if (last && generation_) chunk["timings"] = generation_->Timings();
    if (last) chunk["seed"] = request_.sampling.seed();
    stream->Send(chunk);
  };
  for (size_t i = 0; i < texts_.size(); ++i) {
    if (request_.echo || !generation_) send(i, texts_[i], !generation_);
  }
  Generation::Listener listener;
  listener.on_token = [&](size_t i, const krafla_event& token) {
    if (request_.sampling.logprobs() && token.id >= 0) logprobs_[i].Add(token);
    if (token.text_length > 0) send(i, std::string_view(token.text, token.text_length), false);
  };
  listener.on_end = [&](size_t i) { send(i, {}, true); };
  listener.on_quiet = [&] { stream->KeepAlive(); };
  if (generation_) generation_->Run(listener);
  if (request_.include_usage) {
    Json chunk = Base();
    chunk["choices"] = Json::array();
    chunk["usage"] = Usage();
    stream->Send(chunk);
  }
  stream->Done();
}

void Completion::Stream() {
  EventStream stream(&call_.reply);
  stream.Guard([&] { RunStream(&stream); });
}

}  // namespace

void Completions(const Call& call) {
  const Json body = ParseJson(call.request.body);
  const CompletionRequest request(body, &call.FindModel(body));
  Completion completion(call, request);
  if (request.stream) {
    completion.Stream();
  } else {
    completion.Answer();
  }
}

}  // namespace krafla::server
