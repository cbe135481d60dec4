// How tokens are chosen and when a reply ends: the fields that chat and text completions have in
// common.
#ifndef KRAFLA_TOOLS_SERVER_SAMPLING_H_
#define KRAFLA_TOOLS_SERVER_SAMPLING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/server/fields.h"
#include "tools/server/model.h"

namespace krafla::server {

// As llama.cpp has it too: -1.
inline constexpr int64_t kNoLimit = int64_t{1} << 31;

// max_completion_tokens, or what it was called before: `least` and up, or kNoLimit.
std::optional<int64_t> MostTokens(const Fields& fields, int64_t least);

class Sampling {
 public:
  // Throws ApiError.
  Sampling(const Fields& fields, const ServedModel& model);

  // Of choice i; its seed is seed() + i.
  Sampler Make(int64_t choice) const;
  uint64_t seed() const { return seed_; }

  // The pointers in it live with this object.
  krafla_generate_options Options() const;
  bool has_stops() const { return !stops_.empty(); }
  void SetMaxTokens(int64_t n) { max_tokens_ = n; }
  void SetLogprobs(int64_t n_top) {
    logprobs_ = true;
    n_top_ = n_top;
  }
  bool logprobs() const { return logprobs_; }
  // Must live until the requests are added.
  void SetConstraint(const krafla_constraint* constraint) { constraint_ = constraint; }

 private:
  struct Setting {
    const char* stage;
    const char* parameter;
    double value;
  };
  void ReadNumbers(const Fields& fields);
  void ReadBiases(const Fields& fields, const ServedModel& model);
  void ReadDry(const Fields& fields, const ServedModel& model);
  void ReadStops(const Fields& fields);

  std::vector<Setting> settings_;
  bool mirostat_ = false;
  std::vector<krafla_bias> biases_;
  const krafla_tokenizer* tokenizer_ = nullptr;  // for breakers
  std::vector<std::string> breakers_;
  uint64_t seed_ = 0;
  int64_t max_tokens_ = 0;
  bool ignore_end_ = false;
  const krafla_constraint* constraint_ = nullptr;
  bool logprobs_ = false;
  int64_t n_top_ = 0;
  std::vector<std::string> stops_;
  std::vector<krafla_string> stop_views_;
};

}  // namespace krafla::server

#endif  // KRAFLA_TOOLS_SERVER_SAMPLING_H_
