// A model's reply in every form, cut where bytes of the input say: the same events as at once, and
// a reply without a call comes out as it is.
#include <algorithm>
#include <string>
#include <string_view>

#include "lib/base/utf8.h"
#include "lib/chat/reply_parser.h"
#include "tests/fuzz/target.h"

namespace {

using namespace krafla::chat;  // NOLINT: one target

// What deltas add up to, a mark and a number for each event.
std::string Events(ReplyFormat format, std::string_view text, bool cut, std::string* content) {
  static const ToolNames tools = {{"add"}, {"add/text"}};
  ReplyParser parser(format, &tools, "", 0);
  std::string out;
  ReplyEventKind last{};
  bool calls = false;
  const auto drain = [&] {
    while (const auto event = parser.Next()) {
      const bool delta = event->kind == ReplyEventKind::kContent ||
                         event->kind == ReplyEventKind::kReasoning ||
                         event->kind == ReplyEventKind::kCallArguments;
      if (!delta || event->kind != last) {
        out += static_cast<char>(event->kind);
        out += std::to_string(event->index);
      }
      out += event->text;
      last = event->kind;
      if (event->kind == ReplyEventKind::kContent) *content += event->text;
      calls |= event->kind == ReplyEventKind::kCallEnd;
      KRAFLA_MUST(krafla::ValidUtf8Prefix(event->text) == event->text.size());
    }
  };
  while (!text.empty()) {
    const size_t n = cut ? 1 + static_cast<unsigned char>(text[0]) % 7 : text.size();
    parser.Push(text.substr(0, n));
    drain();
    text.remove_prefix(std::min(n, text.size()));
  }
  parser.Finish();
  drain();
  if (calls) content->clear();
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const CallForm form : {CallForm::kJson, CallForm::kTagged, CallForm::kMistral,
                              CallForm::kLlama, CallForm::kFenced, CallForm::kHarmony}) {
    for (const bool thinks : {false, true}) {
      std::string content, cut_content;
      const std::string whole = Events({form, thinks}, text, false, &content);
      KRAFLA_MUST(whole == Events({form, thinks}, text, true, &cut_content));
      // Without calls, channels and reasoning nothing is left out.
      if (!thinks && form != CallForm::kHarmony && !content.empty()) {
        KRAFLA_MUST(content == krafla::ReplaceInvalidUtf8(text));
      }
    }
  }
  return 0;
}
