// Each token is decoded alone: what the steps do to a whole text (the strip text, Metaspace's first
// mark) is a setting of the table.
#include "lib/tokenizer/decoded_bytes.h"

#include <string_view>

#include "lib/tokenizer/byte_alphabet.h"

namespace krafla {
namespace {

void ReplaceAll(std::string* text, std::string_view from, std::string_view to) {
  if (from.empty()) return;
  for (size_t at = 0; (at = text->find(from, at)) != std::string::npos; at += to.size()) {
    text->replace(at, from.size(), to);
  }
}

}  // namespace

std::string DecodedBytes(std::span<const Step> decoder, std::string text) {
  bool fused = false;
  for (const Step& step : decoder) {
    switch (step.kind) {
      case StepKind::kDecodeByteLevel:
        text = BytesOfLetters(text);
        break;
      case StepKind::kDecodeReplace:
        ReplaceAll(&text, step.text, step.text2);
        break;
      case StepKind::kDecodeByteFallback:
        if (const int byte = ByteOfFallbackToken(text); byte >= 0) {
          text.assign(1, static_cast<char>(byte));
        }
        break;
      case StepKind::kDecodeFuse:
        fused = true;
        break;
      case StepKind::kDecodeStrip:
        for (uint32_t i = 0; !fused && i < step.arg && !step.text.empty() &&
                             std::string_view(text).starts_with(step.text);
             ++i) {
          text.erase(0, step.text.size());
        }
        for (uint32_t i = 0; !fused && i < step.flags && !step.text.empty() &&
                             std::string_view(text).ends_with(step.text);
             ++i) {
          text.resize(text.size() - step.text.size());
        }
        break;
      case StepKind::kDecodeMetaspace:
        ReplaceAll(&text, step.text, " ");
        break;
      default:
        break;
    }
  }
  return text;
}

}  // namespace krafla
