// Sequence breakers of the stage dry: texts that a repetition never reaches over. A token breaks
// where a breaker ends in it, however the text was cut into tokens; that is found once for each
// token that is accepted, so that the stage itself sees numbers only.
#ifndef KRAFLA_LIB_SAMPLER_BREAKERS_H_
#define KRAFLA_LIB_SAMPLER_BREAKERS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"

namespace krafla {

class Breakers {
 public:
  static constexpr size_t kMaxBytes = 64;
  static constexpr size_t kMaxTexts = 256;

  // The bytes of a token; they live as long as the function.
  using TokenBytes = std::function<std::string_view(int32_t id)>;

  // 1 to kMaxTexts texts of 1 to kMaxBytes bytes.
  static StatusOr<std::shared_ptr<const Breakers>> Create(std::span<const std::string_view> texts,
                                                          int32_t vocab_size,
                                                          TokenBytes token_bytes);

  // For each token of the vocabulary, whether it holds a whole breaker.
  std::span<const uint8_t> breaking() const { return breaking_; }
  // Whether a breaker ends in the last of these tokens (there is one at least). Allocates nothing.
  bool EndsIn(std::span<const int32_t> ids) const;

 private:
  Breakers() = default;
  std::string_view Bytes(int32_t id) const {
    return static_cast<size_t>(id) < breaking_.size() ? token_bytes_(id) : std::string_view();
  }

  std::vector<std::string> texts_;
  size_t longest_ = 0;
  TokenBytes token_bytes_;
  std::vector<uint8_t> breaking_;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_SAMPLER_BREAKERS_H_
