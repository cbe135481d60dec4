// krafla::Chat: a conversation whose replies come as content, reasoning and tool calls. Part of
// krafla.hpp; C++17.
//
//   krafla::Chat chat(model);
//   chat.Add("user", "What is the weather in Paris?");
//   chat.Reply(session, sampler, {}, [](const krafla_chat_event& event) { ... });
#ifndef KRAFLA_CHAT_HPP_
#define KRAFLA_CHAT_HPP_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "krafla/krafla_chat.h"
#include "krafla/session.hpp"

namespace krafla {

class Chat {
 public:
  explicit Chat(const Model& model, const krafla_chat_options& options = KRAFLA_CHAT_OPTIONS_INIT) {
    krafla_chat* handle = nullptr;
    Check(krafla_chat_from_model(&handle, model.get(), &options));
    handle_.reset(handle);
  }
  Chat(const Tokenizer& tokenizer, const Template& chat_template,
       const krafla_chat_options& options = KRAFLA_CHAT_OPTIONS_INIT) {
    krafla_chat* handle = nullptr;
    Check(krafla_chat_create(&handle, tokenizer.get(), chat_template.get(), &options));
    handle_.reset(handle);
  }

  void Add(std::string_view role, std::string_view content) {
    Check(krafla_chat_add(handle_.get(), role.data(), role.size(), content.data(), content.size()));
  }
  void AddJson(std::string_view json) {
    Check(krafla_chat_add_json(handle_.get(), json.data(), json.size()));
  }
  void SetTools(std::string_view json) {
    Check(krafla_chat_set_tools(handle_.get(), json.data(), json.size()));
  }
  void SetVariables(std::string_view json) {
    Check(krafla_chat_set_variables(handle_.get(), json.data(), json.size()));
  }
  void Truncate(std::size_t n) { Check(krafla_chat_truncate(handle_.get(), n)); }
  std::string json() {
    const char* json = nullptr;
    std::size_t length = 0;
    Check(krafla_chat_get_json(handle_.get(), &json, &length, nullptr));
    return {json, length};
  }

  // The number of messages that were dropped.
  std::size_t Append(Session& session,
                     const krafla_append_options& options = KRAFLA_APPEND_OPTIONS_INIT) {
    std::size_t dropped = 0;
    Check(krafla_chat_append(handle_.get(), session.get(), &options, &dropped));
    return dropped;
  }
  // The prompt of the next reply, for whoever reads it elsewhere.
  std::vector<std::int32_t> Encode() {
    std::size_t n = 0;
    const std::int32_t code = krafla_chat_encode(handle_.get(), nullptr, 0, &n);
    if (code != KRAFLA_E_BUFFER) Check(code);
    std::vector<std::int32_t> ids(n);
    if (n > 0) Check(krafla_chat_encode(handle_.get(), ids.data(), n, &n));
    return ids;
  }
  void Push(std::int32_t id) { Check(krafla_chat_push(handle_.get(), id)); }
  void Push(std::string_view text) {
    Check(krafla_chat_push_text(handle_.get(), text.data(), text.size()));
  }
  // False: none yet.
  bool Next(krafla_chat_event* event) {
    return Check(krafla_chat_next(handle_.get(), event)) == KRAFLA_OK;
  }
  void Finish() { Check(krafla_chat_finish(handle_.get())); }

  // A whole turn: reads the prompt, generates, and gives on_event(const krafla_chat_event&) what
  // comes. What that throws ends the reply, which then is part of the conversation as far as it
  // went.
  template <typename OnEvent>
  krafla_generate_result Reply(Session& session, Sampler& sampler,
                               const krafla_generate_options& options, OnEvent&& on_event) {
    Append(session);
    krafla_chat_event event = KRAFLA_CHAT_EVENT_INIT;
    struct End {
      krafla_chat* chat;
      ~End() {
        if (chat != nullptr) krafla_chat_finish(chat);
      }
    } end{handle_.get()};
    const krafla_generate_result result =
        session.Generate(sampler, options, [&](const krafla_token& token) {
          if (token.id >= 0) Push(token.id);
          while (Next(&event)) on_event(event);
          return true;
        });
    end.chat = nullptr;
    Finish();
    while (Next(&event)) on_event(event);
    return result;
  }

  krafla_chat* get() const noexcept { return handle_.get(); }

 private:
  struct Free {
    void operator()(krafla_chat* chat) const noexcept { krafla_chat_free(chat); }
  };
  std::unique_ptr<krafla_chat, Free> handle_;
};

}  // namespace krafla

#endif  // KRAFLA_CHAT_HPP_
