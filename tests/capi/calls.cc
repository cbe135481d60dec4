// Replies that must be calls of a conversation's tools, in the forms of the templates, taken apart
// again by the conversation; forced text in one pass.
#include <string>

#include "krafla/krafla.hpp"
#include "krafla/krafla_batch.h"
#include "tests/capi/constrained.h"

namespace krafla::test {
namespace {

using ChatHandle = std::unique_ptr<krafla_chat, Deleter<krafla_chat, krafla_chat_free>>;

constexpr std::string_view kTools =
    R"([{"type":"function","function":{"name":"move","parameters":{"type":"object","properties":)"
    R"({"to":{"$ref":"#/$defs/place"},"steps":{"type":"integer","minimum":1,"maximum":9}},)"
    R"("required":["to","steps"],"additionalProperties":false,)"
    R"("$defs":{"place":{"enum":["hill","sea"]}}}}},)"
    R"({"type":"function","function":{"name":"wait","parameters":{"type":"object",)"
    R"("properties":{},"additionalProperties":false}}}])";

// A template whose comment shows the form.
ChatHandle NewChat(const krafla_tokenizer* tokenizer, const std::string& form,
                   const std::string& prompt_end = "") {
  const std::string source =
      "{#" + form +
      "#}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
      "<|im_start|>assistant\n" +
      prompt_end;
  krafla_template* parsed = nullptr;
  REQUIRE(krafla_template_parse(&parsed, source.data(), source.size()) == KRAFLA_OK);
  krafla_chat* chat = nullptr;
  REQUIRE(krafla_chat_create(&chat, tokenizer, parsed, nullptr) == KRAFLA_OK);
  krafla_template_free(parsed);
  REQUIRE(krafla_chat_add(chat, "user", 4, "Go to the sea.", 14) == KRAFLA_OK);
  return ChatHandle(chat);
}

ConstraintHandle CompileCalls(krafla_chat* chat, const std::string& tool,
                              const krafla_calls_options& calls) {
  krafla_constraint* out = nullptr;
  krafla_constraint_options options = KRAFLA_CONSTRAINT_OPTIONS_INIT;
  options.space = KRAFLA_JSON_SPACE_PYTHON;  // a random model writes much white space
  const int32_t code =
      krafla_constraint_compile_calls(&out, chat, tool.data(), tool.size(), &calls, &options);
  INFO(krafla_error_message());
  REQUIRE(code == KRAFLA_OK);
  return ConstraintHandle(out);
}

// The reply, and (kind:text|...) the chat's events of it.
std::string Say(krafla_chat* chat, const krafla_model* model, const krafla_constraint* constraint,
                double t, int32_t* finish) {
  SessionHandle session = MakeSession(model);
  REQUIRE(krafla_chat_append(chat, session.get(), nullptr, nullptr) == KRAFLA_OK);
  krafla_generate_options options = KRAFLA_GENERATE_OPTIONS_INIT;
  options.constraint = constraint;
  options.max_tokens = 80;
  options.user = chat;
  options.on_token = [](void* user, const krafla_token* token) {
    return token->id < 0 ? 0 : krafla_chat_push(static_cast<krafla_chat*>(user), token->id);
  };
  krafla_generate_result result = KRAFLA_GENERATE_RESULT_INIT;
  const int32_t code =
      krafla_session_generate(session.get(), MakeSampler(t).get(), &options, &result);
  INFO(krafla_error_message());
  REQUIRE(code == KRAFLA_OK);
  *finish = result.finish;
  REQUIRE(krafla_chat_finish(chat) == KRAFLA_OK);
  std::string events;
  krafla_chat_event event = KRAFLA_CHAT_EVENT_INIT;
  int32_t kind = 0;
  while (krafla_chat_next(chat, &event) == KRAFLA_OK) {
    if (event.kind != kind) events += "|" + std::to_string(event.kind) + ":";
    kind = event.kind;
    events.append(event.text, event.text_length);
  }
  return events;
}

}  // namespace

TEST_CASE("a required call is one, in every form") {
  ModelHandle model = OpenTiny();
  TokenizerHandle tokenizer = MakeTokenizer(model.get());
  for (const char* form : {"<tool_call>", "[TOOL_CALLS]", "<|python_tag|>", "```tool", "-"}) {
    for (const double t : {0.0, 1.0, 3.0}) {
      INFO(form << " t " << t);
      for (const char* tool : {"", "move", "wait"}) {
        ChatHandle chat = NewChat(tokenizer.get(), form);
        REQUIRE(krafla_chat_set_tools(chat.get(), kTools.data(), kTools.size()) == KRAFLA_OK);
        ConstraintHandle constraint = CompileCalls(chat.get(), tool, KRAFLA_CALLS_OPTIONS_INIT);
        int32_t finish = 0;
        const std::string events = Say(chat.get(), model.get(), constraint.get(), t, &finish);
        INFO(events);
        CHECK(finish == KRAFLA_FINISH_COMPLETE);
        CHECK(events.starts_with("|3:" + std::string(tool)));
        CHECK(events.ends_with("|5:"));
        if (std::string(tool) == "move") {
          CHECK((events.find("\"hill\"") != std::string::npos ||
                 events.find("\"sea\"") != std::string::npos));
        }
      }
    }
  }
}

TEST_CASE("calls come where they may, with reasoning or text before them") {
  ModelHandle model = OpenTiny();
  TokenizerHandle tokenizer = MakeTokenizer(model.get());
  ChatHandle chat = NewChat(tokenizer.get(), "<tool_call></think>", "<think>\n");
  REQUIRE(krafla_chat_set_tools(chat.get(), kTools.data(), kTools.size()) == KRAFLA_OK);
  krafla_calls_options calls = KRAFLA_CALLS_OPTIONS_INIT;
  calls.parallel = 1;
  const auto accepts = [&](const std::string& text, bool whole) {
    ConstraintHandle constraint = CompileCalls(chat.get(), "wait", calls);
    StateHandle state = MakeState(constraint.get());
    return krafla_constraint_state_accept_text(state.get(), text.data(), text.size()) ==
               KRAFLA_OK &&
           (InfoOf(state.get()).complete != 0) == whole;
  };
  const std::string call = "<tool_call>\n{\"name\": \"wait\", \"arguments\": {}}\n</tool_call>";
  CHECK(accepts("Hm.\n</think>\n\n" + call, true));
  CHECK(accepts("Hm.\n</think>\n\n" + call + "\n" + call, true));
  CHECK_FALSE(accepts("</think>Wait", false));
  CHECK_FALSE(accepts(call, true));  // it is a part of the reasoning
  calls.choice = KRAFLA_CALLS_AUTO;
  CHECK(accepts("Hm.\n</think>\n\nI wait.", true));
  CHECK(accepts("Hm.\n</think>\n\nI wait.\n" + call, true));
  CHECK_FALSE(accepts("</think><tool_call>\n{\"name\": \"go", false));
}

TEST_CASE("harmony's calls name their tool before the arguments, behind analysis") {
  ModelHandle model = OpenTiny();
  TokenizerHandle tokenizer = MakeTokenizer(model.get());
  ChatHandle chat = NewChat(tokenizer.get(), "<|channel|><|message|>");
  REQUIRE(krafla_chat_set_tools(chat.get(), kTools.data(), kTools.size()) == KRAFLA_OK);
  krafla_calls_options calls = KRAFLA_CALLS_OPTIONS_INIT;
  std::string tool;
  const auto accepts = [&](const std::string& text) {
    ConstraintHandle constraint = CompileCalls(chat.get(), tool, calls);
    StateHandle state = MakeState(constraint.get());
    return krafla_constraint_state_accept_text(state.get(), text.data(), text.size()) ==
               KRAFLA_OK &&
           InfoOf(state.get()).complete != 0;
  };
  const std::string move =
      "<|channel|>commentary to=functions.move <|constrain|>json<|message|>{\"to\": \"sea\", "
      "\"steps\": 3}";
  const std::string wait = "<|channel|>commentary to=functions.wait <|constrain|>json<|message|>{}";
  const std::string thought = "<|channel|>analysis<|message|>To the sea!<|end|><|start|>assistant";
  const std::string answer = "<|channel|>final<|message|>I stay.";
  CHECK(accepts(move));
  CHECK(accepts(wait));
  CHECK(accepts(thought + move));
  CHECK_FALSE(accepts(thought + thought + move));
  CHECK_FALSE(accepts(thought + answer));
  CHECK_FALSE(accepts(
      "<|channel|>commentary to=functions.wait <|constrain|>json<|message|>{\"to\": \"sea\"}"));
  CHECK_FALSE(accepts("<|channel|>commentary to=functions.fly <|constrain|>json<|message|>{}"));
  tool = "wait";
  CHECK(accepts(wait));
  CHECK_FALSE(accepts(move));
  tool.clear();
  calls.choice = KRAFLA_CALLS_AUTO;
  CHECK(accepts(thought + move));
  CHECK(accepts(thought + answer));
  CHECK(accepts(answer));
  CHECK_FALSE(accepts(answer + wait));
  CHECK_FALSE(accepts("I stay."));
  // What the conversation makes of it.
  const std::string reply = thought + move + "<|call|>";
  REQUIRE(krafla_chat_push_text(chat.get(), reply.data(), reply.size()) == KRAFLA_OK);
  REQUIRE(krafla_chat_finish(chat.get()) == KRAFLA_OK);
  std::string kinds;
  krafla_chat_event event = KRAFLA_CHAT_EVENT_INIT;
  while (krafla_chat_next(chat.get(), &event) == KRAFLA_OK) kinds += std::to_string(event.kind);
  CHECK(kinds.starts_with("2"));
  CHECK(kinds.find("34") != std::string::npos);
  CHECK(kinds.ends_with("5"));
}

TEST_CASE("calls that cannot be constrained are refused") {
  ModelHandle model = OpenTiny();
  TokenizerHandle tokenizer = MakeTokenizer(model.get());
  ChatHandle chat = NewChat(tokenizer.get(), "<tool_call>");
  krafla_constraint* out = nullptr;
  krafla_calls_options calls = KRAFLA_CALLS_OPTIONS_INIT;
  const auto code = [&](const char* tool, krafla_chat* of) {
    return krafla_constraint_compile_calls(&out, of, tool, std::string(tool).size(), &calls,
                                           nullptr);
  };
  CHECK(code("", chat.get()) == KRAFLA_E_STATE);
  REQUIRE(krafla_chat_set_tools(chat.get(), kTools.data(), kTools.size()) == KRAFLA_OK);
  CHECK(code("fly", chat.get()) == KRAFLA_E_NOT_FOUND);
  CHECK(code("", nullptr) == KRAFLA_E_ARGUMENT);
  calls.choice = 2;
  CHECK(code("", chat.get()) == KRAFLA_E_ARGUMENT);
  calls.choice = 0;
  const std::string odd =
      R"([{"name":"f","parameters":{"properties":{"a":{"contains":{"const":1}}}}}])";
  REQUIRE(krafla_chat_set_tools(chat.get(), odd.data(), odd.size()) == KRAFLA_OK);
  CHECK(code("f", chat.get()) == KRAFLA_E_UNSUPPORTED);
  ChatHandle harmony = NewChat(tokenizer.get(), "<|channel|><|message|>");
  const std::string marker = R"([{"name":"a<|call|>","parameters":{}}])";
  REQUIRE(krafla_chat_set_tools(harmony.get(), marker.data(), marker.size()) == KRAFLA_OK);
  CHECK(code("", harmony.get()) == KRAFLA_E_UNSUPPORTED);
  CHECK(out == nullptr);
}

// With log-probabilities each token is decoded for itself, so the two ways can be compared.
TEST_CASE("a range gives every token, forced ones too") {
  const krafla::Model model = krafla::Model::Open(TinyModelPath());
  const krafla::Tokenizer tokenizer(model);
  const krafla::Constraint constraint =
      krafla::Constraint::Regex(tokenizer, "In the beginning God created the heaven");
  krafla::Session session(model);
  session.Append(kPrompt);
  krafla::Sampler sampler;
  krafla_generate_options options = KRAFLA_GENERATE_OPTIONS_INIT;
  options.constraint = constraint.get();
  std::string text;
  for (const krafla::Token& token : krafla::Tokens(session, sampler, options)) text += token.text;
  REQUIRE(text == "In the beginning God created the heaven");
}

TEST_CASE("forced text is read in one pass and changes nothing") {
  ModelHandle model = OpenTiny();
  TokenizerHandle tokenizer = MakeTokenizer(model.get());
  ConstraintHandle constraint = Compile(
      tokenizer.get(), KRAFLA_CONSTRAINT_REGEX,
      {"In the beginning God created (the heaven|[a-z]{4}) and the earth\\. (And it was so\\.)?"});
  struct Run {
    std::string text;
    std::vector<int32_t> ids;
    std::vector<int64_t> positions;
    int32_t finish = 0;
    int64_t n_tokens = 0;
    std::vector<float> logits;
    int32_t next = 0;
    bool operator==(const Run&) const = default;
  };
  const auto run = [&](double t, int64_t max_tokens, const char* stop, bool one_by_one,
                       const krafla_speculation* speculation) {
    Run out;
    SessionHandle session = MakeSession(model.get());
    REQUIRE(krafla_session_append(session.get(), kPrompt.data(), kPrompt.size(), nullptr) ==
            KRAFLA_OK);
    SamplerHandle sampler = MakeSampler(t);
    REQUIRE(krafla_sampler_set(sampler.get(), "xtc", "probability", 0.5) == KRAFLA_OK);
    const krafla_string stops[] = {{stop, stop == nullptr ? 0 : std::string(stop).size()}};
    krafla_generate_options options = KRAFLA_GENERATE_OPTIONS_INIT;
    options.constraint = constraint.get();
    options.max_tokens = max_tokens;
    options.stops = stops;
    options.n_stops = stop == nullptr ? 0 : 1;
    options.logprobs = one_by_one ? 1 : 0;
    options.speculation = speculation;
    options.user = &out;
    options.on_token = [](void* user, const krafla_token* token) {
      Run& r = *static_cast<Run*>(user);
      r.text.append(token->text, token->text_length);
      r.ids.push_back(token->id);
      r.positions.push_back(token->position);
      return 0;
    };
    krafla_generate_result result = KRAFLA_GENERATE_RESULT_INIT;
    REQUIRE(krafla_session_generate(session.get(), sampler.get(), &options, &result) == KRAFLA_OK);
    out.finish = result.finish;
    out.n_tokens = result.n_tokens;
    out.logits = Logits(session.get());
    REQUIRE(krafla_sampler_sample(sampler.get(), out.logits.data(), out.logits.size(), &out.next) ==
            KRAFLA_OK);
    return out;
  };
  krafla_speculation lookup = KRAFLA_SPECULATION_INIT;
  lookup.kind = KRAFLA_SPECULATE_LOOKUP;
  lookup.always = 1;
  for (const double t : {0.0, 1.0, 4.0}) {
    for (const int64_t most : {0, 1, 2, 5, 9}) {
      for (const char* stop : {static_cast<const char*>(nullptr), "God", "eaven"}) {
        INFO("t " << t << " most " << most << " stop " << (stop == nullptr ? "" : stop));
        const Run plain = run(t, most, stop, true, nullptr);
        CHECK(run(t, most, stop, false, nullptr) == plain);
        CHECK(run(t, most, stop, false, &lookup) == plain);
        CHECK(run(t, most, stop, true, &lookup) == plain);
      }
    }
  }
}

}  // namespace krafla::test
