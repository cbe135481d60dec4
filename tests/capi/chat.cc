// Conversations through the ABI: turns into a session, the reply's events, a full context, misuse.
#include <cstring>
#include <string>

#include "include/krafla/krafla_chat.h"
#include "tests/capi/fixture.h"
#include "tests/support/catch.h"

namespace krafla::test {
namespace {

using ChatHandle = std::unique_ptr<krafla_chat, Deleter<krafla_chat, krafla_chat_free>>;

ChatHandle NewChat(const krafla_model* model, const krafla_chat_options* options = nullptr) {
  krafla_chat* raw = nullptr;
  REQUIRE(krafla_chat_from_model(&raw, model, options) == KRAFLA_OK);
  return ChatHandle(raw);
}

void Add(krafla_chat* chat, const std::string& role, const std::string& content) {
  REQUIRE(krafla_chat_add(chat, role.data(), role.size(), content.data(), content.size()) ==
          KRAFLA_OK);
}

std::string Json(krafla_chat* chat, size_t* n = nullptr) {
  const char* json = nullptr;
  size_t length = 0;
  REQUIRE(krafla_chat_get_json(chat, &json, &length, n) == KRAFLA_OK);
  return {json, length};
}

// "1:text|3:name(id)|..."
std::string Events(krafla_chat* chat) {
  std::string out;
  krafla_chat_event event = KRAFLA_CHAT_EVENT_INIT;
  while (krafla_chat_next(chat, &event) == KRAFLA_OK) {
    out += std::to_string(event.kind) + ":" + std::string(event.text, event.text_length);
    if (event.id_length > 0) out += "(" + std::string(event.id, event.id_length) + ")";
    out += "|";
  }
  return out;
}

int64_t Reused(const krafla_session* session) {
  krafla_session_info info{};
  info.struct_size = sizeof(info);
  REQUIRE(krafla_session_get_info(session, &info) == KRAFLA_OK);
  return info.reused;
}

std::vector<int32_t> PromptOf(krafla_chat* chat) {
  std::vector<int32_t> ids(1000);
  size_t n = 0;
  REQUIRE(krafla_chat_encode(chat, ids.data(), ids.size(), &n) == KRAFLA_OK);
  ids.resize(n);
  return ids;
}

void RequireError(int32_t code, int32_t wanted, const char* says) {
  REQUIRE(code == wanted);
  INFO(krafla_error_message());
  REQUIRE(std::strstr(krafla_error_message(), says) != nullptr);
}

}  // namespace

TEST_CASE("turns go into a session, and only what is new is read") {
  ModelHandle model = OpenTiny();
  SessionHandle session = MakeSession(model.get(), KRAFLA_KV_F32);
  ChatHandle chat = NewChat(model.get());
  krafla_sampler* raw = nullptr;
  REQUIRE(krafla_sampler_create(&raw, nullptr) == KRAFLA_OK);
  SamplerHandle sampler(raw);
  Add(chat.get(), "user", "In the beginning");
  size_t dropped = 9;
  REQUIRE(krafla_chat_append(chat.get(), session.get(), nullptr, &dropped) == KRAFLA_OK);
  CHECK(dropped == 0);
  CHECK(Ids(session.get()) == PromptOf(chat.get()));
  krafla_generate_options options = KRAFLA_GENERATE_OPTIONS_INIT;
  options.max_tokens = 12;
  options.ignore_end = 1;
  options.user = chat.get();
  options.on_token = [](void* user, const krafla_token* token) {
    return token->id >= 0 ? krafla_chat_push(static_cast<krafla_chat*>(user), token->id) : 0;
  };
  REQUIRE(krafla_session_generate(session.get(), sampler.get(), &options, nullptr) == KRAFLA_OK);
  REQUIRE(krafla_chat_finish(chat.get()) == KRAFLA_OK);
  CHECK(Events(chat.get()).substr(0, 2) == "1:");
  size_t n = 0;
  CHECK(Json(chat.get(), &n).find("{\"role\":\"assistant\",\"content\":") != std::string::npos);
  CHECK(n == 2);
  const auto read = static_cast<int64_t>(Ids(session.get()).size());
  Add(chat.get(), "user", "And then?");
  REQUIRE(krafla_chat_append(chat.get(), session.get(), nullptr, nullptr) == KRAFLA_OK);
  CHECK(Ids(session.get()) == PromptOf(chat.get()));
  CHECK(Reused(session.get()) > 0);
  CHECK(Reused(session.get()) <= read);
  // As a cold session.
  SessionHandle cold = MakeSession(model.get(), KRAFLA_KV_F32);
  const std::vector<int32_t> ids = PromptOf(chat.get());
  REQUIRE(krafla_session_append(cold.get(), ids.data(), ids.size(), nullptr) == KRAFLA_OK);
  CHECK(Logits(cold.get()) == Logits(session.get()));
}

TEST_CASE("a full context is refused, or the oldest turns go") {
  ModelHandle model = OpenTiny();
  for (const int32_t full : {KRAFLA_CHAT_REFUSE, KRAFLA_CHAT_DROP_OLDEST}) {
    SessionHandle session = MakeSession(model.get(), KRAFLA_KV_F32);  // 256 positions
    krafla_chat_options options = KRAFLA_CHAT_OPTIONS_INIT;
    options.full = full;
    options.reserve = 40;
    ChatHandle chat = NewChat(model.get(), &options);
    Add(chat.get(), "system", "You are God.");
    REQUIRE(krafla_chat_append(chat.get(), session.get(), nullptr, nullptr) == KRAFLA_OK);
    for (int turn = 0; turn < 12; ++turn) {
      Add(chat.get(), "user", "In the beginning " + std::to_string(turn));
      Add(chat.get(), "assistant", "God created the heaven and the earth.");
    }
    Add(chat.get(), "user", "The last one");
    const std::string before = Json(chat.get());
    const std::vector<int32_t> ids = Ids(session.get());
    size_t dropped = 0, n = 0;
    if (full == KRAFLA_CHAT_REFUSE) {
      RequireError(krafla_chat_append(chat.get(), session.get(), nullptr, &dropped),
                   KRAFLA_E_CONTEXT, "want at most 216");
      CHECK(Json(chat.get()) == before);
      CHECK(Ids(session.get()) == ids);
      continue;
    }
    REQUIRE(krafla_chat_append(chat.get(), session.get(), nullptr, &dropped) == KRAFLA_OK);
    CHECK(dropped > 0);
    CHECK(dropped % 2 == 0);
    CHECK(Ids(session.get()).size() <= 216);
    const std::string after = Json(chat.get(), &n);
    CHECK(n == 26 - dropped);
    CHECK(after.find("You are God.") != std::string::npos);
    CHECK(after.find("beginning 0") == std::string::npos);
    CHECK(after.find("The last one") != std::string::npos);
    Add(chat.get(), "user", std::string(2000, 'x'));
    RequireError(krafla_chat_append(chat.get(), session.get(), nullptr, &dropped), KRAFLA_E_CONTEXT,
                 "want at most 216");
    CHECK(Json(chat.get(), nullptr).find("The last one") != std::string::npos);
  }
}

TEST_CASE("tool calls come out as events and go into the history") {
  ModelHandle model = OpenTiny();
  krafla_tokenizer* raw_tokenizer = nullptr;
  REQUIRE(krafla_tokenizer_from_model(&raw_tokenizer, model.get()) == KRAFLA_OK);
  TokenizerHandle tokenizer(raw_tokenizer);
  krafla_template* qwen = nullptr;
  REQUIRE(krafla_template_builtin(&qwen, "qwen", 4) == KRAFLA_OK);
  krafla_chat* raw = nullptr;
  REQUIRE(krafla_chat_create(&raw, tokenizer.get(), qwen, nullptr) == KRAFLA_OK);
  ChatHandle chat(raw);
  krafla_template_free(qwen);
  tokenizer.reset();
  model.reset();
  const std::string tools = R"([{"name":"add","parameters":{"type":"object"}}])";
  krafla_call_form form{};
  form.struct_size = sizeof(form);
  RequireError(krafla_chat_get_call_form(chat.get(), nullptr, 0, &form), KRAFLA_E_STATE, "tools");
  REQUIRE(krafla_chat_set_tools(chat.get(), tools.data(), tools.size()) == KRAFLA_OK);
  REQUIRE(krafla_chat_get_call_form(chat.get(), "add", 3, &form) == KRAFLA_OK);
  CHECK(std::string(form.form) == "tagged");
  CHECK(std::string(form.begin) == "<tool_call>\n");
  CHECK(std::string(form.schema, form.schema_length).find("\"const\":\"add\"") !=
        std::string::npos);
  Add(chat.get(), "user", "1+2?");
  const std::string reply =
      "<think>\nEasy.\n</think>\n\nLet me.\n<tool_call>\n{\"name\": \"add\", \"arguments\": "
      "{\"a\": "
      "1}}\n</tool_call>";
  for (const char c : reply) REQUIRE(krafla_chat_push_text(chat.get(), &c, 1) == KRAFLA_OK);
  RequireError(krafla_chat_set_tools(chat.get(), nullptr, 0), KRAFLA_E_STATE, "reply");
  REQUIRE(krafla_chat_finish(chat.get()) == KRAFLA_OK);
  CHECK(Events(chat.get()) == "2:\nEasy.\n|1:\n\nLet me.\n|3:add(call00000)|4:{\"a\": 1}|5:|");
  RequireError(krafla_chat_finish(chat.get()), KRAFLA_E_STATE, "no reply");
  const std::string answer = R"({"role":"tool","tool_call_id":"call00000","content":"3"})";
  REQUIRE(krafla_chat_add_json(chat.get(), answer.data(), answer.size()) == KRAFLA_OK);
  CHECK(Json(chat.get()) ==
        R"([{"role":"user","content":"1+2?"},{"role":"assistant","content":"Let me.",)"
        R"("reasoning_content":"Easy.","tool_calls":[{"id":"call00000","type":"function",)"
        R"("function":{"name":"add","arguments":{"a": 1}}}]},)" +
            answer + "]");
  CHECK(PromptOf(chat.get()).size() > 20);
  REQUIRE(krafla_chat_push_text(chat.get(), "<tool_call>{\"name\":\"add\"}", 25) == KRAFLA_OK);
  REQUIRE(krafla_chat_finish(chat.get()) == KRAFLA_OK);
  CHECK(Events(chat.get()) == "3:add(call00001)|4:{}|5:|");
  REQUIRE(krafla_chat_truncate(chat.get(), 1) == KRAFLA_OK);
  CHECK(Json(chat.get()) == R"([{"role":"user","content":"1+2?"}])");
}

TEST_CASE("conversations are misused") {
  ModelHandle model = OpenTiny();
  ChatHandle chat = NewChat(model.get());
  krafla_chat* raw = nullptr;
  const char* json = nullptr;
  size_t n = 0;
  krafla_chat_event event = KRAFLA_CHAT_EVENT_INIT;
  krafla_chat_free(nullptr);
  CHECK(krafla_chat_from_model(nullptr, model.get(), nullptr) == KRAFLA_E_ARGUMENT);
  CHECK(krafla_chat_from_model(&raw, nullptr, nullptr) == KRAFLA_E_ARGUMENT);
  CHECK(krafla_chat_create(&raw, nullptr, nullptr, nullptr) == KRAFLA_E_ARGUMENT);
  CHECK(krafla_chat_add(nullptr, "user", 4, "x", 1) == KRAFLA_E_ARGUMENT);
  CHECK(krafla_chat_add(chat.get(), nullptr, 4, "x", 1) == KRAFLA_E_ARGUMENT);
  CHECK(krafla_chat_add(chat.get(), "", 0, "x", 1) == KRAFLA_E_ARGUMENT);
  CHECK(krafla_chat_add(chat.get(), "user", 4, "\xFF", 1) == KRAFLA_E_ARGUMENT);
  CHECK(krafla_chat_add_json(chat.get(), nullptr, 3) == KRAFLA_E_ARGUMENT);
  CHECK(krafla_chat_add_json(chat.get(), "{", 1) == KRAFLA_E_ARGUMENT);
  CHECK(krafla_chat_get_json(chat.get(), nullptr, &n, nullptr) == KRAFLA_E_ARGUMENT);
  CHECK(krafla_chat_get_json(nullptr, &json, &n, nullptr) == KRAFLA_E_ARGUMENT);
  CHECK(krafla_chat_set_tools(chat.get(), "5", 1) == KRAFLA_E_ARGUMENT);
  CHECK(krafla_chat_set_variables(chat.get(), "5", 1) == KRAFLA_E_ARGUMENT);
  CHECK(krafla_chat_encode(chat.get(), nullptr, 0, nullptr) == KRAFLA_E_ARGUMENT);
  CHECK(krafla_chat_append(chat.get(), nullptr, nullptr, nullptr) == KRAFLA_E_ARGUMENT);
  CHECK(krafla_chat_push(chat.get(), -1) == KRAFLA_E_ARGUMENT);
  CHECK(krafla_chat_push(chat.get(), 1 << 30) == KRAFLA_E_ARGUMENT);
  CHECK(krafla_chat_push_text(chat.get(), nullptr, 1) == KRAFLA_E_ARGUMENT);
  CHECK(krafla_chat_next(chat.get(), nullptr) == KRAFLA_E_ARGUMENT);
  CHECK(krafla_chat_next(chat.get(), &event) == KRAFLA_PAUSED);
  CHECK(krafla_chat_get_call_form(chat.get(), nullptr, 0, nullptr) == KRAFLA_E_ARGUMENT);
  krafla_chat_options options = KRAFLA_CHAT_OPTIONS_INIT;
  options.full = 2;
  RequireError(krafla_chat_from_model(&raw, model.get(), &options), KRAFLA_E_ARGUMENT, "full");
  options.full = 0;
  options.reserve = -1;
  RequireError(krafla_chat_from_model(&raw, model.get(), &options), KRAFLA_E_ARGUMENT, "reserve");
  CHECK(raw == nullptr);
}

}  // namespace krafla::test
