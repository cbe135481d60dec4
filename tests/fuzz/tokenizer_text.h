// What a tokenizer that opened must survive: some text encoded, and ids decoded.
#ifndef KRAFLA_TESTS_FUZZ_TOKENIZER_TEXT_H_
#define KRAFLA_TESTS_FUZZ_TOKENIZER_TEXT_H_

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/tokenizer/table.h"
#include "lib/tokenizer/tokenizer.h"
#include "tests/fuzz/target.h"

namespace krafla {

inline void UseTokenizer(std::string_view table) {
  const std::unique_ptr<char, void (*)(void*)> memory(
      static_cast<char*>(std::aligned_alloc(64, (table.size() + 63) / 64 * 64 + 64)), std::free);
  std::memcpy(memory.get(), table.data(), table.size());
  const auto tokenizer = Tokenizer::Open({memory.get(), table.size()});
  if (!tokenizer.ok()) return;
  const std::string_view texts[] = {"",
                                    "Hello, world! 12345",
                                    "  two  spaces\r\n\ttabs",
                                    "e\xCC\x81\xC2\xA0\xE2\x80\xA6 \xE6\x97\xA5",
                                    "<s>[INST] <|im_end|></s>",
                                    "\xF0\x9F\x98\x80\xF0\x9F\x87\xAE\xF0\x9F\x87\xB8 don't"};
  for (const std::string_view text : texts) {
    std::vector<int32_t> ids;
    std::string back;
    if (!(*tokenizer)->Encode(text, true, true, &ids).ok()) continue;
    for (const int32_t id : ids) KRAFLA_MUST(id >= 0 && id < (*tokenizer)->vocab_size());
    (void)(*tokenizer)->Decode(ids, false, &back);  // a table may name a token that it lacks
  }
}

}  // namespace krafla

#endif  // KRAFLA_TESTS_FUZZ_TOKENIZER_TEXT_H_
