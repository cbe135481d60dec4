// Replies of every form as events: what is a call, what is text, and the same however the text is
// cut.
#include <simdjson.h>

#include <random>

#include "lib/chat/json_text.h"
#include "lib/chat/reply_parser.h"
#include "tests/support/catch.h"

namespace krafla::chat {
namespace {

const ToolNames& Tools() {
  static const ToolNames tools = {{"get_weather", "add", "noop"}, {"get_weather/city"}};
  return tools;
}

// "c:text|r:text|b0:name|a0:json|e0|d0", deltas joined.
std::string Events(ReplyFormat format, const std::vector<std::string_view>& chunks,
                   const ToolNames* tools = &Tools(), std::string_view prompt = "") {
  ReplyParser parser(format, tools, prompt, 0);
  std::string out;
  char last = 0;
  const auto drain = [&] {
    while (const auto event = parser.Next()) {
      const char kind = "?crbaed"[static_cast<int>(event->kind)];
      const bool joins = kind == last && (kind == 'c' || kind == 'r' || kind == 'a');
      if (!joins) {
        if (!out.empty()) out += "|";
        out += kind;
        if (kind != 'c' && kind != 'r') out += std::to_string(event->index);
        if (kind != 'e' && kind != 'd') out += ":";
      }
      out += event->text;
      last = kind;
    }
  };
  for (const std::string_view chunk : chunks) {
    parser.Push(chunk);
    drain();
  }
  parser.Finish();
  drain();
  return out;
}

struct Row {
  CallForm form;
  std::string_view reply;
  std::string_view events;
};

constexpr Row kRows[] = {
    {CallForm::kTagged, "Hello <b> & </tool_call>", "c:Hello <b> & </tool_call>"},
    {CallForm::kTagged,
     "Sure.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"a \\\"}\\\" "
     "b\"}}\n</tool_call>",
     "c:Sure.\n|b0:get_weather|a0:{\"city\": \"a \\\"}\\\" b\"}|e0"},
    {CallForm::kTagged,
     "<tool_call>{\"arguments\": {\"a\": [1, {}]}, \"name\": \"add\"}</tool_call>\n<tool_call>"
     "{\"name\":\"noop\"}</tool_call> done",
     "b0:add|a0:{\"a\": [1, {}]}|e0|c:\n|b1:noop|a1:{}|e1|c: done"},
    {CallForm::kTagged, "<tool_call>{\"name\": \"add\", \"arguments\": {\"a\": }}</tool_call>x",
     "b0:add|a0:{\"a\": }|d0|c:<tool_call>{\"name\": \"add\", \"arguments\": {\"a\": "
     "}}</tool_call>x"},
    {CallForm::kTagged, "<tool_call>{\"name\": \"add\", \"arguments\": {\"a\": 1",
     "b0:add|a0:{\"a\": 1|d0|c:<tool_call>{\"name\": \"add\", \"arguments\": {\"a\": 1"},
    {CallForm::kTagged, "<tool_call>hm <tool_call>{\"name\": \"noop\"}",
     "c:<tool_call>hm |b0:noop|a0:{}|e0"},
    {CallForm::kTagged, "<tool_call>{\"name\": \"f\", \"arguments\": {}, \"arguments\": {}}",
     "b0:f|a0:{}{}|d0|c:<tool_call>{\"name\": \"f\", \"arguments\": {}, \"arguments\": {}}"},
    {CallForm::kTagged, "<tool_call>{\"name\": \"f\", \"arguments\": \"{\\\"a\\\": 1}\"}",
     "b0:f|a0:{\"a\": 1}|e0"},
    {CallForm::kTagged, "<tool_call>{\"name\": \"f\", \"arguments\": [1]}",
     "b0:f|d0|c:<tool_call>{\"name\": \"f\", \"arguments\": [1]}"},
    {CallForm::kTagged, "<tool_call>{\"name\": \"f\", \"arguments\": null}</tool_call>",
     "b0:f|a0:{}|e0"},
    {CallForm::kTagged,
     "<tool_call>{\"type\": \"function\", \"function\": {\"name\": \"f\", \"arguments\": "
     "{\"x\": 1}}}</tool_call>",
     "b0:f|a0:{\"x\": 1}|e0"},
    {CallForm::kTagged, "<think>\nLet me <tool_call> see\n</think>\n\nYes",
     "r:\nLet me <tool_call> see\n|c:\n\nYes"},
    {CallForm::kTagged,
     "<tool_call>\n<function=get_weather>\n<parameter=city>\n12\n</parameter>\n<parameter=n>\n"
     "12\n</parameter>\n<parameter=list>\n[1, \"x\"]\n</parameter>\n<parameter=t>\na <b>\n\"c\"\n"
     "</parameter>\n<parameter=ok>\nTrue\n</parameter>\n</function>\n</tool_call>",
     "b0:get_weather|a0:{\"city\": \"12\", \"n\": 12, \"list\": [1, \"x\"], \"t\": \"a "
     "<b>\\n\\\"c\\\"\", \"ok\": true}|e0"},
    {CallForm::kTagged, "<tool_call>\n<function=noop>\n</function>\n</tool_call>",
     "b0:noop|a0:{}|e0"},
    {CallForm::kTagged, "<tool_call><function=x y></function>",
     "c:<tool_call><function=x y></function>"},
    {CallForm::kTagged, "{\"name\": \"add\", \"arguments\": {}}", "b0:add|a0:{}|e0"},
    {CallForm::kTagged, "```json\n{\"name\": \"Bob\"}\n```", "c:```json\n{\"name\": \"Bob\"}\n```"},
    {CallForm::kTagged, "{\"name\": \"Bob\", \"arguments\": {}}",
     "c:{\"name\": \"Bob\", \"arguments\": {}}"},
    {CallForm::kMistral,
     "[TOOL_CALLS][{\"name\": \"add\", \"arguments\": {\"a\": 1}, \"id\": \"abcdefghi\"}, "
     "{\"name\": \"noop\", \"arguments\": {}}]",
     "b0:add|a0:{\"a\": 1}|e0|b1:noop|a1:{}|e1"},
    {CallForm::kMistral, "ok[TOOL_CALLS]add[ARGS]{\"a\": 1}[TOOL_CALLS]noop[CALL_ID]x[ARGS]{}",
     "c:ok|b0:add|a0:{\"a\": 1}|e0|b1:noop|a1:{}|e1"},
    {CallForm::kMistral, "[TOOL_CALLS] [{\"name\": \"add\", \"arguments\": {}} oops]",
     "b0:add|a0:{}|e0|c: oops]"},
    {CallForm::kMistral, "[TOOL_CALLS", "c:[TOOL_CALLS"},
    {CallForm::kLlama, "{\"name\": \"add\", \"parameters\": {\"a\": 1}}",
     "b0:add|a0:{\"a\": 1}|e0"},
    {CallForm::kLlama, "{\"name\": \"add\", \"parameters\": {}}; {\"name\": \"noop\"}",
     "b0:add|a0:{}|e0|b1:noop|a1:{}|e1"},
    {CallForm::kLlama, "{\"name\": \"Bob\", \"parameters\": {}}",
     "c:{\"name\": \"Bob\", \"parameters\": {}}"},
    {CallForm::kLlama, "Look: {\"name\": \"add\", \"parameters\": {}}",
     "c:Look: {\"name\": \"add\", \"parameters\": {}}"},
    {CallForm::kLlama, "<|python_tag|>{\"name\": \"brave\", \"parameters\": {\"q\": 1}}",
     "b0:brave|a0:{\"q\": 1}|e0"},
    {CallForm::kLlama, "<|python_tag|>print(1)", "c:<|python_tag|>print(1)"},
    {CallForm::kJson, "[{\"name\": \"add\", \"arguments\": {}}, {\"name\": \"noop\"}]",
     "b0:add|a0:{}|e0|b1:noop|a1:{}|e1"},
    {CallForm::kJson, "{\"answer\": 42}", "c:{\"answer\": 42}"},
    {CallForm::kFenced, "```json\n{\"name\": \"add\", \"parameters\": {\"a\": 2}}\n```",
     "b0:add|a0:{\"a\": 2}|e0"},
    {CallForm::kFenced, "```python\nadd(2)\n```", "c:```python\nadd(2)\n```"},
    {CallForm::kFenced, "```tool_code\nadd(2)\n```", "c:```tool_code\nadd(2)\n```"},
    {CallForm::kHarmony,
     "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary "
     "to=functions.add <|constrain|>json<|message|>{\"a\": 1}<|call|>",
     "r:Hm.|b0:add|a0:{\"a\": 1}|e0"},
    {CallForm::kHarmony,
     "<|channel|>analysis<|message|>a < b<|end|><|start|>assistant<|channel|>final<|message|>Yes.",
     "r:a < b|c:Yes."},
    {CallForm::kHarmony, "<|channel|>commentary to=functions.f<|message|>{\"a\": <|end|>x",
     "b0:f|a0:{\"a\": |d0|c:<|channel|>commentary to=functions.f<|message|>{\"a\": x"},
    {CallForm::kHarmony, "plain", "c:plain"},
    {CallForm::kHarmony, "<|channel|>ana", "c:<|channel|>ana"},
};

TEST_CASE("replies as events, however they are cut") {
  std::mt19937 random(3);
  for (const Row& row : kRows) {
    INFO(FormName(row.form) << ": " << row.reply);
    const ReplyFormat format{row.form, row.form == CallForm::kTagged};
    CHECK(Events(format, {row.reply}) == row.events);
    for (int round = 0; round < 40; ++round) {
      std::vector<std::string_view> chunks;
      for (size_t at = 0; at < row.reply.size();) {
        const size_t n = round == 0 ? 1 : random() % 9;
        chunks.push_back(row.reply.substr(at, n));
        at += n;
      }
      CHECK(Events(format, chunks) == row.events);
    }
  }
}

TEST_CASE("without tools JSON is text, and the prompt may have opened the reasoning") {
  CHECK(Events({CallForm::kJson, false}, {"{\"name\": \"add\"}"}, nullptr) ==
        "c:{\"name\": \"add\"}");
  CHECK(Events({CallForm::kTagged, true}, {"hm</think>\nyes"}, nullptr, "assistant\n<think>\n") ==
        "r:hm|c:\nyes");
  CHECK(Events({CallForm::kTagged, true}, {"hm"}, nullptr, "<think>") == "r:hm");
  CHECK(Events({CallForm::kTagged, false}, {"<think>x"}, nullptr) == "c:<think>x");
}

TEST_CASE("texts without calls come out as they are, bytes that are no UTF-8 as U+FFFD") {
  std::mt19937 random(11);
  constexpr std::string_view kParts[] = {
      "<tool_call>",  "{",         "}",  "[",      "]", "\"name\"", ":",          "x",
      "[TOOL_CALLS]", "```json\n", "\n", "<think", ">", "é",        "<|channel|", "<|python_tag|",
      "</tool_call>", "\\",        "\""};
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (size_t n = random() % 12; n-- > 0;) text += kParts[random() % std::size(kParts)];
    for (const CallForm form : {CallForm::kJson, CallForm::kTagged, CallForm::kMistral,
                                CallForm::kLlama, CallForm::kFenced, CallForm::kHarmony}) {
      INFO(FormName(form) << ": " << text);
      const std::string events = Events({form, false}, {text});
      // No complete call can come of these parts.
      CHECK(events == (text.empty() ? "" : "c:" + text));
    }
  }
  CHECK(Events({CallForm::kTagged, false}, {"a\xC3", "\xA9\xFF\xF0\x9F"}) ==
        "c:a\xC3\xA9\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST_CASE("JSON texts and strings, as simdjson sees them") {
  std::mt19937 random(17);
  constexpr std::string_view kParts[] = {"{",
                                         "}",
                                         "[",
                                         "]",
                                         ",",
                                         ":",
                                         "\"a\"",
                                         "\"\\u00e9\"",
                                         "1",
                                         "-0",
                                         "01",
                                         "1.5e-3",
                                         "true",
                                         "null",
                                         "nul",
                                         " ",
                                         "\n",
                                         "\"\\x\"",
                                         "\"",
                                         "\\",
                                         "-",
                                         "1.",
                                         "\"\\ud83d\\ude00\""};
  simdjson::dom::parser parser;
  size_t valid = 0;
  for (int round = 0; round < 60000; ++round) {
    std::string text;
    for (size_t n = 1 + random() % 7; n-- > 0;) text += kParts[random() % std::size(kParts)];
    simdjson::dom::element element;
    const bool wanted = parser.parse(text).get(element) == simdjson::SUCCESS;
    INFO(text);
    bool is_object = false;
    REQUIRE(IsJson(text, &is_object) == wanted);
    if (!wanted) continue;
    ++valid;
    CHECK(is_object == element.is_object());
    std::string_view string;
    if (element.get(string) == simdjson::SUCCESS) {
      CHECK(UnescapeJson(std::string_view(text).substr(text.find('"'))) == string);
    }
  }
  CHECK(valid > 1000);
  std::string out;
  AppendJsonString("a\"\\\n\x01é", &out);
  CHECK(out == "\"a\\\"\\\\\\n\\u0001é\"");
  CHECK(UnescapeJson(out) == "a\"\\\n\x01é");
  CHECK(UnescapeJson("\"\\ud800x\"") == "\xEF\xBF\xBDx");
}

TEST_CASE("hostile replies") {
  const ReplyFormat format{CallForm::kTagged, true};
  const std::string deep =
      "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": " + std::string(3000, '[') +
      std::string(3000, ']') + "}}";
  CHECK(Events(format, {deep}).find("|d0|c:<tool_call>{") != std::string::npos);
  const std::string text = std::string(1 << 20, 'x');
  const std::string large =
      "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"" + text + "\"}}</tool_call>";
  CHECK(Events(format, {large}) == "b0:f|a0:{\"a\": \"" + text + "\"}|e0");
  CHECK(Events(format, {"<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": NaN}}"}).find("d0") !=
        std::string::npos);
  CHECK(Events(format, {std::string(100000, '<')}) == "c:" + std::string(100000, '<'));
}

TEST_CASE("formats are recognised from templates") {
  CHECK(RecogniseFormat("x <tool_call> y </think>").form == CallForm::kTagged);
  CHECK(RecogniseFormat("x <tool_call> y </think>").thinks);
  CHECK(RecogniseFormat("[TOOL_CALLS]").form == CallForm::kMistral);
  CHECK(RecogniseFormat("<|start_header_id|>").form == CallForm::kLlama);
  CHECK(RecogniseFormat("<start_of_turn>").form == CallForm::kFenced);
  CHECK(RecogniseFormat("<|channel|><|message|>").form == CallForm::kHarmony);
  CHECK(RecogniseFormat("<|im_start|>").form == CallForm::kJson);
}

}  // namespace
}  // namespace krafla::chat
