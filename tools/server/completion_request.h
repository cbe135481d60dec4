// A request for text to go on with: prompts as texts or token ids.
#ifndef KRAFLA_TOOLS_SERVER_COMPLETION_REQUEST_H_
#define KRAFLA_TOOLS_SERVER_COMPLETION_REQUEST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/server/json.h"
#include "tools/server/model.h"
#include "tools/server/sampling.h"

namespace krafla::server {

struct CompletionRequest {
  // Throws ApiError.
  CompletionRequest(const Json& body, ServedModel* model);

  ServedModel* model;
  std::optional<Constraint> constraint;
  Sampling sampling;
  std::vector<std::vector<int32_t>> prompts;
  std::vector<std::string> texts;  // of the prompts, with echo
  int64_t n = 1;                   // choices of each prompt
  int64_t max_tokens = 16;
  int64_t n_top = 0;  // with sampling.logprobs()
  bool echo = false;
  bool stream = false;
  bool include_usage = false;
};

}  // namespace krafla::server

#endif  // KRAFLA_TOOLS_SERVER_COMPLETION_REQUEST_H_
