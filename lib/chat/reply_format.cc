// See reply_format.h. Some templates name no form of a call at all (Llama 3.1's of its model card
// shows JSON with "parameters" in a sentence); JSON is what is left.
#include "lib/chat/reply_format.h"

namespace krafla::chat {

ReplyFormat RecogniseFormat(std::string_view source) {
  const auto has = [source](std::string_view text) {
    return source.find(text) != std::string_view::npos;
  };
  ReplyFormat format;
  format.thinks = has("<think>") || has("</think>");
  if (has("<|channel|>") && has("<|message|>")) {
    format.form = CallForm::kHarmony;
  } else if (has("[TOOL_CALLS]")) {
    format.form = CallForm::kMistral;
  } else if (has("<tool_call>")) {
    format.form = CallForm::kTagged;
  } else if (has("<|python_tag|>") || has("<|start_header_id|>")) {
    format.form = CallForm::kLlama;
  } else if (has("<start_of_turn>") || has("```tool")) {
    format.form = CallForm::kFenced;
  }
  return format;
}

CallTexts TextsOf(CallForm form) {
  // Where a call is what the reply begins with.
  constexpr std::string_view kFirst = "^\\s*(\\{|\\[\\s*\\{|```(json|tool))";
  switch (form) {
    case CallForm::kTagged:
      return {"<tool_call>\n", "\n</tool_call>", "\n</tool_call>\n<tool_call>\n", "<tool_call>",
              true};
    case CallForm::kMistral:
      return {"[TOOL_CALLS][", "]", ", ", "\\[TOOL_CALLS\\]", true};
    case CallForm::kFenced:
      return {"```json\n", "\n```", "", kFirst};
    case CallForm::kLlama:
      return {"", "", "; ", kFirst};
    case CallForm::kJson:
      return {"", "", "", kFirst};
    case CallForm::kHarmony: {
      CallTexts texts;  // the call's end is a token that ends the reply
      texts.name_begin = "<|channel|>commentary to=functions.";
      texts.name_end = " <|constrain|>json<|message|>";
      texts.no_call = "<\\|(channel|start|message)\\|>";
      texts.text_begin = "<|channel|>final<|message|>";
      texts.think_begin = "<|channel|>analysis<|message|>";
      texts.think_end = "<|end|>";
      texts.think_after = "<|start|>assistant";
      return texts;
    }
  }
  return {};
}

std::string_view FormName(CallForm form) {
  switch (form) {
    case CallForm::kJson:
      return "json";
    case CallForm::kTagged:
      return "tagged";
    case CallForm::kMistral:
      return "mistral";
    case CallForm::kLlama:
      return "llama";
    case CallForm::kFenced:
      return "fenced";
    case CallForm::kHarmony:
      return "harmony";
  }
  return "";
}

}  // namespace krafla::chat
