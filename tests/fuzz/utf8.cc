// UTF-8: the functions must agree with each other on every text.
#include "lib/base/utf8.h"

#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace krafla;  // NOLINT: one function
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t valid = ValidUtf8Prefix(text);
  std::string again;
  size_t first_bad = size;
  for (size_t at = 0; at < size;) {
    const CodePoint point = DecodeUtf8(text.substr(at));
    KRAFLA_MUST(point.length >= 1 && point.length <= 4 && at + point.length <= size);
    if (!point.valid && first_bad == size) first_bad = at;
    AppendUtf8(point.value, &again);
    at += point.length;
  }
  KRAFLA_MUST(first_bad == valid);
  KRAFLA_MUST(again == ReplaceInvalidUtf8(text));
  KRAFLA_MUST(ValidUtf8Prefix(again) == again.size());
  KRAFLA_MUST(IncompleteUtf8Suffix(text) <= 3);
  if (valid == size) KRAFLA_MUST(again == text && IncompleteUtf8Suffix(text) == 0);
  return 0;
}
