// See text_chunks.h.
#include "lib/eval/text_chunks.h"

#include <algorithm>

namespace krafla {

StatusOr<std::vector<std::vector<int32_t>>> TextChunks(const Tokenizer& tokenizer,
                                                       std::string_view text, int64_t context,
                                                       size_t min_chunks) {
  if (context < 4) return ArgumentError("text: context: got {}, want 4 or more", context);
  std::vector<int32_t> ids;
  KRAFLA_RETURN_IF_ERROR(
      tokenizer.Encode(text, /*add_special=*/false, /*parse_special=*/false, &ids));
  const size_t n_bos = tokenizer.adds_bos() ? 1 : 0;
  const size_t step = static_cast<size_t>(context) - n_bos;
  if (ids.size() < step * min_chunks) {
    return ArgumentError("text: got {} tokens, want {} or more", ids.size(), step * min_chunks);
  }
  std::vector<std::vector<int32_t>> chunks;
  for (size_t at = 0; at + step <= ids.size(); at += step) {
    std::vector<int32_t>& chunk = chunks.emplace_back();
    if (n_bos != 0) chunk.push_back(tokenizer.bos_id());
    chunk.insert(chunk.end(), ids.begin() + static_cast<ptrdiff_t>(at),
                 ids.begin() + static_cast<ptrdiff_t>(at + step));
  }
  return chunks;
}

}  // namespace krafla
