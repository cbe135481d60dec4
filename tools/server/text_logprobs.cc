// See text_logprobs.h.
#include "tools/server/text_logprobs.h"

#include <algorithm>

#include "tools/server/logprobs.h"

namespace krafla::server {
namespace {

size_t CodePoints(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

}  // namespace

void TextLogprobs::Clear() {
  lists_ = {{"tokens", Json::array()},
            {"token_logprobs", Json::array()},
            {"top_logprobs", Json::array()},
            {"text_offset", Json::array()}};
}

Json TextLogprobs::Take() {
  Json taken = std::move(lists_);
  Clear();
  return taken;
}

void TextLogprobs::Append(int32_t id, const Json& logprob, Json top) {
  const std::string bytes = model_->TokenText(id);
  lists_["tokens"].push_back(ShowToken(bytes));
  lists_["token_logprobs"].push_back(logprob);
  lists_["top_logprobs"].push_back(std::move(top));
  lists_["text_offset"].push_back(offset_);
  offset_ += CodePoints(bytes);
}

void TextLogprobs::Add(const krafla_event& token) {
  Json top = Json::object();
  for (int32_t i = 0; i < token.n_top; ++i) {
    top[ShowToken(model_->TokenText(token.top_ids[i]))] = FiniteLogprob(token.top_logprobs[i]);
  }
  Append(token.id, FiniteLogprob(token.logprob), std::move(top));
}

void TextLogprobs::AddPrompt(const Call& call, const std::vector<int32_t>& ids, size_t n_top,
                             ServedModel* model) {
  Append(ids[0], nullptr, nullptr);
  struct Reading {
    const Call& call;
    TextLogprobs* lists;
    const std::vector<int32_t>& ids;
    std::vector<int32_t> top_ids;
    std::vector<float> top;
    std::vector<float> all;
  };
  const size_t n = std::max<size_t>(n_top, 1);
  Reading reading{call, this, ids, std::vector<int32_t>(n), std::vector<float>(n), {}};
  krafla_append_options options = KRAFLA_APPEND_OPTIONS_INIT;
  options.logits = KRAFLA_LOGITS_ALL;
  options.user = &reading;
  options.on_logits = [](void* user, int64_t position, const float* row, size_t n_vocab) {
    Reading& r = *static_cast<Reading*>(user);
    const auto next = static_cast<size_t>(position) + 1;
    if (next >= r.ids.size()) return 0;
    r.all.resize(n_vocab);
    (void)krafla_logits_to_logprobs(row, n_vocab, r.all.data());
    const size_t k = std::min(r.top.size(), n_vocab);
    (void)krafla_logits_get_top(row, n_vocab, k, r.top_ids.data(), r.top.data());
    Json top = Json::object();
    for (size_t i = 0; i < k; ++i) {
      top[ShowToken(r.lists->model_->TokenText(r.top_ids[i]))] = FiniteLogprob(r.top[i]);
    }
    const int32_t id = r.ids[next];
    r.lists->Append(id, FiniteLogprob(r.all[static_cast<size_t>(id)]), std::move(top));
    return 0;
  };
  options.on_progress = [](void* user, int64_t done, int64_t total) {
    const Reading& r = *static_cast<Reading*>(user);
    return Call::StopUnwanted(const_cast<Call*>(&r.call), done, total);
  };
  call.WhileWanted([&] {
    ServedModel::Lone session(call, model);
    session->Append(ids, options);
  });
}

}  // namespace krafla::server
