// The merges of a byte-level vocabulary: "left right" in the order of their ranks. A merge whose
// parts or result are no tokens is an error: left out, it would change ids without a sign.
#include <string>
#include <string_view>
#include <utility>

#include "lib/convert/tokenizer_gguf_parts.h"

namespace krafla::tokenizer_gguf {

Status AddListedMerges(const GgufTokenizerData& data, const TokenIds& ids, TokenizerSpec* spec) {
  std::string result;
  spec->merges.reserve(data.merges.size());
  for (size_t i = 0; i < data.merges.size(); ++i) {
    const std::string_view merge = data.merges[i];
    const size_t space = merge.empty() ? merge.npos : merge.find(' ', 1);
    if (space == merge.npos || space + 1 == merge.size()) {
      return FileError("gguf: merge {} is \"{}\", want two tokens", i, merge);
    }
    const std::string_view left = merge.substr(0, space), right = merge.substr(space + 1);
    result.assign(left).append(right);
    MergeSpec m = {};
    for (auto& [name, id] : {std::pair(left, &m.left), std::pair(right, &m.right),
                             std::pair(std::string_view(result), &m.result)}) {
      const auto it = ids.find(name);
      if (it == ids.end()) {
        return FileError("gguf: merge {} (\"{}\"): \"{}\" is no token", i, merge, name);
      }
      *id = it->second;
    }
    spec->merges.push_back(m);
  }
  return OkStatus();
}

}  // namespace krafla::tokenizer_gguf
