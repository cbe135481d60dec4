// See breakers.h.
#include "lib/sampler/breakers.h"

#include <algorithm>
#include <array>
#include <utility>

namespace krafla {

StatusOr<std::shared_ptr<const Breakers>> Breakers::Create(std::span<const std::string_view> texts,
                                                           int32_t vocab_size,
                                                           TokenBytes token_bytes) {
  if (texts.empty() || texts.size() > kMaxTexts) {
    return ArgumentError("sampler: stage dry: got {} breakers, want 1 to {}", texts.size(),
                         kMaxTexts);
  }
  std::shared_ptr<Breakers> made(new Breakers());
  for (const std::string_view text : texts) {
    if (text.empty() || text.size() > kMaxBytes) {
      return ArgumentError("sampler: stage dry: breaker {}: got {} bytes, want 1 to {}",
                           made->texts_.size(), text.size(), kMaxBytes);
    }
    made->texts_.emplace_back(text);
    made->longest_ = std::max(made->longest_, text.size());
  }
  made->breaking_.resize(static_cast<size_t>(vocab_size));
  for (int32_t id = 0; id < vocab_size; ++id) {
    const std::string_view bytes = token_bytes(id);
    made->breaking_[static_cast<size_t>(id)] = std::any_of(
        made->texts_.begin(), made->texts_.end(),
        [bytes](const std::string& text) { return bytes.find(text) != std::string_view::npos; });
  }
  made->token_bytes_ = std::move(token_bytes);
  return made;
}

bool Breakers::EndsIn(std::span<const int32_t> ids) const {
  const auto last = static_cast<size_t>(ids.back());
  if (last < breaking_.size() && breaking_[last] != 0) return true;
  // The bytes before the last token that a breaker may begin in, at the end of a buffer.
  std::array<char, kMaxBytes> buffer;
  size_t begin = buffer.size();
  const size_t enough = buffer.size() - (longest_ - 1);
  for (size_t i = ids.size() - 1; i-- > 0 && begin > enough;) {
    std::string_view bytes = Bytes(ids[i]);
    if (bytes.size() > begin - enough) bytes.remove_prefix(bytes.size() - (begin - enough));
    begin -= bytes.size();
    std::copy(bytes.begin(), bytes.end(), buffer.begin() + static_cast<ptrdiff_t>(begin));
  }
  const std::string_view before(buffer.data() + begin, buffer.size() - begin);
  const std::string_view token = Bytes(ids.back());
  return std::any_of(texts_.begin(), texts_.end(), [&](const std::string_view text) {
    for (size_t head = 1; head < text.size(); ++head) {
      if (before.ends_with(text.substr(0, head)) && token.starts_with(text.substr(head))) {
        return true;
      }
    }
    return false;
  });
}

}  // namespace krafla
