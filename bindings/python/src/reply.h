// What generations of sessions and of schedulers share: the options of a reply, and its tokens as
// Python sees them.
#ifndef KRAFLA_BINDINGS_PYTHON_SRC_REPLY_H_
#define KRAFLA_BINDINGS_PYTHON_SRC_REPLY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bind.h"

namespace krafla_python {

struct Token {
  int32_t id;
  int64_t position;
  std::string text;
  std::optional<float> logprob;
  std::vector<std::pair<int32_t, float>> top;
  std::optional<float> chain_logprob;
  std::vector<std::pair<int32_t, float>> chain_top;
};

// Said: krafla_token or krafla_event.
template <typename Said>
Token KeepToken(const Said& said, bool logprobs) {
  Token kept{said.id, said.position, std::string(said.text, said.text_length), {}, {}, {}, {}};
  if (!logprobs || said.id < 0) return kept;
  kept.logprob = said.logprob;
  for (int32_t i = 0; i < said.n_top; ++i) {
    kept.top.emplace_back(said.top_ids[i], said.top_logprobs[i]);
  }
  kept.chain_logprob = said.chain_logprob;
  for (int32_t i = 0; i < said.n_chain_top; ++i) {
    kept.chain_top.emplace_back(said.chain_top_ids[i], said.chain_top_logprobs[i]);
  }
  return kept;
}

// Python's side of krafla_generate_options, built by its keyword arguments' names.
struct ReplyOptions {
  int64_t max_tokens;
  std::vector<std::string> stops;
  std::vector<int32_t> end_ids;
  bool ignore_end;
  bool logprobs;
  int32_t n_top;
  const krafla::Constraint* constraint;

  bool wants_logprobs() const { return logprobs || n_top > 0; }
  // Points into this and *strings.
  krafla_generate_options Fill(std::vector<krafla_string>* strings) const {
    strings->clear();
    for (const std::string& stop : stops) strings->push_back({stop.data(), stop.size()});
    krafla_generate_options options = KRAFLA_GENERATE_OPTIONS_INIT;
    options.max_tokens = max_tokens;
    options.stops = strings->data();
    options.n_stops = strings->size();
    options.end_ids = end_ids.data();
    options.n_end_ids = end_ids.size();
    options.ignore_end = ignore_end ? 1 : 0;
    options.logprobs = wants_logprobs() ? 1 : 0;
    options.n_top = n_top;
    if (constraint != nullptr) options.constraint = constraint->get();
    return options;
  }
};

}  // namespace krafla_python

#endif  // KRAFLA_BINDINGS_PYTHON_SRC_REPLY_H_
