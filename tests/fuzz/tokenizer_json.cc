// A tokenizer.json, with what follows a zero byte as its tokenizer_config.json.
#include "lib/convert/tokenizer_json.h"

#include "tests/fuzz/tokenizer_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace krafla;  // NOLINT: one function
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t zero = text.find('\0');
  const std::string_view config = zero == text.npos ? "" : text.substr(zero + 1);
  const auto spec = TokenizerSpecFromJson(text.substr(0, zero), config);
  if (!spec.ok()) return 0;
  const auto table = WriteTokenizerTable(*spec);
  if (table.ok()) UseTokenizer(*table);
  return 0;
}
