// Log-probabilities in the form of text completions: parallel lists, with offsets into the text.
#ifndef KRAFLA_TOOLS_SERVER_TEXT_LOGPROBS_H_
#define KRAFLA_TOOLS_SERVER_TEXT_LOGPROBS_H_

#include <string>
#include <vector>

#include "tools/server/json.h"
#include "tools/server/state.h"

namespace krafla::server {

class TextLogprobs {
 public:
  explicit TextLogprobs(const ServedModel* model) : model_(model) { Clear(); }

  // A token of a reply.
  void Add(const krafla_event& token);
  // The tokens of a prompt, each with what the model expected of it; the first with null.
  void AddPrompt(const Call& call, const std::vector<int32_t>& ids, size_t n_top,
                 ServedModel* model);
  // What was added since the last time.
  Json Take();
  bool empty() const { return lists_["tokens"].empty(); }

 private:
  void Clear();
  void Append(int32_t id, const Json& logprob, Json top);

  const ServedModel* model_;
  Json lists_;
  size_t offset_ = 0;  // in code points
};

}  // namespace krafla::server

#endif  // KRAFLA_TOOLS_SERVER_TEXT_LOGPROBS_H_
