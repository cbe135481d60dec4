// POST /tokenize, /detokenize, /apply-template.
#include "tools/server/chat_request.h"
#include "tools/server/endpoints.h"
#include "tools/server/errors.h"
#include "tools/server/fields.h"
#include "tools/server/logprobs.h"
#include "tools/server/token_ids.h"

namespace krafla::server {

void Tokenize(const Call& call) {
  const Json body = ParseJson(call.request.body);
  ServedModel& model = call.FindModel(body);
  const Fields fields(body);
  const auto content = fields.String("content");
  if (!content) throw BadField("content", "is missing, want a string");
  uint32_t flags = 0;
  if (fields.Bool("add_special").value_or(false)) flags |= KRAFLA_ENCODE_SPECIAL;
  if (fields.Bool("parse_special").value_or(false)) flags |= KRAFLA_ENCODE_PARSE;
  const bool pieces = fields.Bool("with_pieces").value_or(false);
  Json tokens = Json::array();
  for (const int32_t id : model.Encode(*content, flags)) {
    if (pieces) {
      tokens.push_back({{"id", id}, {"piece", ShowToken(model.TokenText(id))}});
    } else {
      tokens.push_back(id);
    }
  }
  call.SendJson({{"tokens", std::move(tokens)}});
}

void Detokenize(const Call& call) {
  const Json body = ParseJson(call.request.body);
  ServedModel& model = call.FindModel(body);
  const Json* tokens = Fields(body).Array("tokens");
  if (tokens == nullptr) throw BadField("tokens", "is missing, want an array of token ids");
  call.SendJson({{"content", model.tokenizer().Decode(ReadIds(*tokens, model, "tokens"))}});
}

void ApplyTemplate(const Call& call) {
  const Json body = ParseJson(call.request.body);
  const ChatRequest request(body, &call.FindModel(body), /*any_length=*/true);
  call.SendJson(
      {{"prompt", request.model->tokenizer().Decode(request.ids)}, {"tokens", request.ids}});
}

}  // namespace krafla::server
