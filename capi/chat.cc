// krafla_chat_*: a conversation with a tokenizer, its way into a session, and the reply's way out.
#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "capi/chat_calls.h"
#include "capi/guard.h"
#include "capi/handles.h"
#include "capi/structs.h"
#include "include/krafla/krafla_chat.h"
#include "lib/chat/conversation.h"
#include "lib/chat/json_text.h"

using namespace krafla;  // NOLINT: the definitions below are the global C functions
using capi::Busy;
using capi::Guard;
using chat::ReplyEvent;
using chat::ReplyEventKind;

namespace {

constexpr std::string_view kSpace = " \t\r\n";

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

// A reply that is being taken, and what its message will be.
class Reply {
 public:
  Reply(chat::ReplyParser parser, const Tokenizer* tokenizer)
      : parser_(std::move(parser)),
        tokenizer_(tokenizer),
        decoder_(tokenizer, /*skip_special=*/false) {}

  Status Push(int32_t id) {
    bytes_.clear();
    if (!tokenizer_->Has(id)) return OkStatus();  // a padding of the model's
    KRAFLA_RETURN_IF_ERROR(decoder_.Push(id, &bytes_));
    Push(bytes_);
    return OkStatus();
  }
  void Push(std::string_view text) { parser_.Push(text); }
  void Finish() { parser_.Finish(); }
  std::optional<ReplyEvent> Next() {
    std::optional<ReplyEvent> event = parser_.Next();
    if (event) Note(*event);
    return event;
  }
  void AddTo(Conversation* conversation) const {
    // What templates put around content themselves is not kept of it.
    const bool plain = n_calls_ == 0 && reasoning_.empty();
    conversation->AddReply(plain ? std::string_view(content_) : Trimmed(content_),
                           Trimmed(reasoning_), calls_, n_calls_);
  }

 private:
  void Note(const ReplyEvent& event) {
    switch (event.kind) {
      case ReplyEventKind::kContent:
        content_ += event.text;
        return;
      case ReplyEventKind::kReasoning:
        reasoning_ += event.text;
        return;
      case ReplyEventKind::kCallBegin:
        call_ = "{\"id\":";
        chat::AppendJsonString(event.id, &call_);
        call_ += ",\"type\":\"function\",\"function\":{\"name\":";
        chat::AppendJsonString(event.text, &call_);
        call_ += ",\"arguments\":";
        return;
      case ReplyEventKind::kCallArguments:
        call_ += event.text;
        return;
      case ReplyEventKind::kCallEnd:
        calls_ += (n_calls_++ > 0 ? "," : "") + call_ + "}}";
        return;
      case ReplyEventKind::kCallDropped:
        call_.clear();
        return;
    }
  }

  chat::ReplyParser parser_;
  const Tokenizer* tokenizer_;
  StreamDecoder decoder_;
  std::string bytes_, content_, reasoning_, call_, calls_;
  size_t n_calls_ = 0;
};

}  // namespace

struct krafla_chat {
  krafla_chat(Conversation given) : conversation(std::move(given)) {}

  Conversation conversation;
  std::shared_ptr<const void> owner;  // of the tokenizer's bytes
  std::shared_ptr<const Tokenizer> tokenizer;
  int32_t n_vocab = INT32_MAX;  // the model's, where it is known
  std::shared_ptr<capi::SharedVocabulary> vocabulary;
  std::vector<TrustedVariable> variables;
  krafla_chat_options options = KRAFLA_CHAT_OPTIONS_INIT;
  std::string prompt_end;  // of the prompt that was encoded last, for a reply that follows it
  std::unique_ptr<Reply> reply;
  std::deque<ReplyEvent> last;  // events of a reply that has ended
  ReplyEvent current{};         // what the last krafla_chat_next gave out
  std::string text;             // what a getter gave out
  std::atomic<bool> busy{false};
};

namespace {

Status Make(krafla_chat** out, std::shared_ptr<const void> owner,
            std::shared_ptr<const Tokenizer> tokenizer,
            std::shared_ptr<capi::SharedVocabulary> vocabulary,
            std::shared_ptr<const ChatTemplate> chat_template, std::string_view source,
            const krafla_chat_options* options) {
  krafla_chat_options given;
  KRAFLA_RETURN_IF_ERROR(capi::ReadOptions(options, "krafla_chat_options", &given));
  if (given.full != KRAFLA_CHAT_REFUSE && given.full != KRAFLA_CHAT_DROP_OLDEST) {
    return ArgumentError("krafla_chat_options: full: got {}, want 0 or 1", given.full);
  }
  if (given.reserve < 0) {
    return ArgumentError("krafla_chat_options: reserve: got {}, want 0 or more", given.reserve);
  }
  auto made = std::make_unique<krafla_chat>(Conversation(std::move(chat_template), source));
  KRAFLA_ASSIGN_OR_RETURN(made->variables, capi::HostVariables(*tokenizer));
  made->owner = std::move(owner);
  made->tokenizer = std::move(tokenizer);
  made->vocabulary = std::move(vocabulary);
  made->options = given;
  *out = made.release();
  return OkStatus();
}

// The end of a prompt's text as far as it is the template's own.
std::string TrustedEnd(const std::vector<TextRun>& runs) {
  return runs.empty() || !runs.back().trusted ? std::string() : runs.back().text;
}

// The ids, and the end of the text that they are of.
Status Encode(const krafla_chat& chat, const Conversation& conversation, std::vector<int32_t>* ids,
              std::string* end) {
  KRAFLA_ASSIGN_OR_RETURN(const std::vector<TextRun> runs, conversation.Render(chat.variables));
  std::vector<TextPiece> pieces;
  for (const TextRun& run : runs) pieces.push_back({run.text, run.trusted});
  *end = TrustedEnd(runs);
  return chat.tokenizer->EncodePieces(pieces, /*add_special=*/false, ids);
}

std::unique_ptr<Reply> NewReply(const krafla_chat& chat, std::string_view prompt_end) {
  return std::make_unique<Reply>(chat.conversation.Parser(prompt_end), chat.tokenizer.get());
}

// Calls function() on a chat that nobody else uses.
template <typename Function>
int32_t With(krafla_chat* chat, Function function) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(chat);
    Busy busy(chat->busy);
    KRAFLA_RETURN_IF_ERROR(busy.status());
    return function();
  });
}

// Drops oldest turns of *conversation until its prompt fits, where that is the rule.
Status Fit(const krafla_chat& chat, int64_t context, Conversation* conversation,
           std::vector<int32_t>* ids, std::string* end) {
  const int64_t reserve = std::max<int64_t>(chat.options.reserve, 1);
  for (;;) {
    KRAFLA_RETURN_IF_ERROR(Encode(chat, *conversation, ids, end));
    if (static_cast<int64_t>(ids->size()) <= context - reserve) return OkStatus();
    const auto [from, to] = conversation->OldestTurn();
    if (chat.options.full == KRAFLA_CHAT_REFUSE || from == to) {
      return ContextError(
          "chat: got a prompt of {} tokens, want at most {}: the context of {} "
          "less {} for the reply",
          ids->size(), context - reserve, context, reserve);
    }
    conversation->Drop(from, to);
  }
}

}  // namespace

namespace krafla::capi {

StatusOr<ChatCalls> CallsOf(krafla_chat* chat, std::string_view tool) {
  Busy busy(chat->busy);
  KRAFLA_RETURN_IF_ERROR(busy.status());
  ChatCalls calls;
  KRAFLA_ASSIGN_OR_RETURN(calls.tools, chat->conversation.Tools(tool));
  KRAFLA_ASSIGN_OR_RETURN(calls.schema, chat->conversation.CallSchema(tool));
  const chat::ReplyFormat& format = chat->conversation.format();
  calls.form = format.form;
  if (format.form == chat::CallForm::kHarmony) {
    calls.may_think = true;
  } else if (format.thinks) {
    KRAFLA_ASSIGN_OR_RETURN(const auto runs, chat->conversation.Render(chat->variables));
    const std::string text = TrustedEnd(runs);
    const std::string_view end = Trimmed(text);
    calls.may_think = !end.ends_with("</think>");
    calls.thinks = end.ends_with("<think>");
  }
  calls.owner = chat->owner;
  calls.tokenizer = chat->tokenizer;
  calls.vocabulary = chat->vocabulary;
  return calls;
}

}  // namespace krafla::capi

extern "C" {

int32_t krafla_chat_from_model(krafla_chat** out, const krafla_model* model,
                               const krafla_chat_options* options) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(out);
    KRAFLA_CHECK_POINTER(model);
    KRAFLA_ASSIGN_OR_RETURN(auto tokenizer, model->shared->tokenizer());
    const std::string_view source = model->shared->model->chat_template();
    if (source.empty()) return NotFoundError("chat: the model carries no template");
    KRAFLA_ASSIGN_OR_RETURN(std::unique_ptr<ChatTemplate> parsed, ChatTemplate::Parse(source));
    KRAFLA_RETURN_IF_ERROR(Make(out, model->shared, std::move(tokenizer), model->shared->vocabulary,
                                std::move(parsed), source, options));
    (*out)->n_vocab = static_cast<int32_t>(model->shared->model->config().n_vocab);
    return OkStatus();
  });
}

int32_t krafla_chat_create(krafla_chat** out, const krafla_tokenizer* tokenizer,
                           const krafla_template* tmpl, const krafla_chat_options* options) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(out);
    KRAFLA_CHECK_POINTER(tokenizer);
    if (tmpl != nullptr) {
      return Make(out, tokenizer->owner, tokenizer->tokenizer, tokenizer->vocabulary,
                  tmpl->chat_template, tmpl->source, options);
    }
    const std::string_view source = tokenizer->template_source;
    if (source.empty()) return NotFoundError("chat: the tokenizer's file carries no template");
    KRAFLA_ASSIGN_OR_RETURN(std::unique_ptr<ChatTemplate> parsed, ChatTemplate::Parse(source));
    return Make(out, tokenizer->owner, tokenizer->tokenizer, tokenizer->vocabulary,
                std::move(parsed), source, options);
  });
}

void krafla_chat_free(krafla_chat* chat) { delete chat; }

int32_t krafla_chat_add(krafla_chat* chat, const char* role, size_t role_length,
                        const char* content, size_t content_length) {
  return With(chat, [&]() -> Status {
    KRAFLA_ASSIGN_OR_RETURN(const auto who, capi::ReadString(role, role_length, "role"));
    KRAFLA_ASSIGN_OR_RETURN(const auto what, capi::ReadString(content, content_length, "content"));
    return chat->conversation.Add(who, what);
  });
}

int32_t krafla_chat_add_json(krafla_chat* chat, const char* json, size_t length) {
  return With(chat, [&]() -> Status {
    KRAFLA_ASSIGN_OR_RETURN(const auto text, capi::ReadString(json, length, "json"));
    return chat->conversation.Add(text);
  });
}

int32_t krafla_chat_truncate(krafla_chat* chat, size_t n) {
  return With(chat, [&]() -> Status {
    chat->conversation.Truncate(n);
    return OkStatus();
  });
}

int32_t krafla_chat_get_json(krafla_chat* chat, const char** json, size_t* length, size_t* n) {
  return With(chat, [&]() -> Status {
    KRAFLA_CHECK_POINTER(json);
    KRAFLA_CHECK_POINTER(length);
    chat->text = chat->conversation.Json();
    *json = chat->text.c_str();
    *length = chat->text.size();
    if (n != nullptr) *n = chat->conversation.size();
    return OkStatus();
  });
}

int32_t krafla_chat_set_tools(krafla_chat* chat, const char* json, size_t length) {
  return With(chat, [&]() -> Status {
    KRAFLA_ASSIGN_OR_RETURN(const auto text, capi::ReadString(json, length, "json"));
    if (chat->reply) return StateError("chat: a reply has begun, finish it first");
    return chat->conversation.SetTools(text);
  });
}

int32_t krafla_chat_set_variables(krafla_chat* chat, const char* json, size_t length) {
  return With(chat, [&]() -> Status {
    KRAFLA_ASSIGN_OR_RETURN(const auto text, capi::ReadString(json, length, "json"));
    return chat->conversation.SetVariables(text);
  });
}

int32_t krafla_chat_encode(krafla_chat* chat, int32_t* ids, size_t capacity, size_t* n) {
  return With(chat, [&]() -> Status {
    KRAFLA_CHECK_POINTER(n);
    KRAFLA_RETURN_IF_ERROR(capi::CheckArray(ids, capacity, "ids"));
    std::vector<int32_t> made;
    KRAFLA_RETURN_IF_ERROR(Encode(*chat, chat->conversation, &made, &chat->prompt_end));
    *n = made.size();
    if (made.size() > capacity) {
      return BufferError("ids: got room for {}, want {}", capacity, made.size());
    }
    std::copy(made.begin(), made.end(), ids);
    return OkStatus();
  });
}

int32_t krafla_chat_append(krafla_chat* chat, krafla_session* session,
                           const krafla_append_options* options, size_t* dropped) {
  return With(chat, [&]() -> Status {
    KRAFLA_CHECK_POINTER(session);
    KRAFLA_ASSIGN_OR_RETURN(const AppendOptions inner, capi::ReadAppendOptions(options));
    capi::SessionUse use(session);
    KRAFLA_RETURN_IF_ERROR(use.status());
    Conversation fitting = chat->conversation;
    std::vector<int32_t> ids;
    std::string end;
    KRAFLA_RETURN_IF_ERROR(Fit(*chat, session->session->context(), &fitting, &ids, &end));
    std::unique_ptr<Reply> reply = NewReply(*chat, end);  // the tools stay where they are
    KRAFLA_RETURN_IF_ERROR(session->session->Edit(ids, inner, &session->kept));
    const size_t n_dropped = chat->conversation.size() - fitting.size();
    if (n_dropped > 0) {
      const size_t from = chat->conversation.OldestTurn().first;
      chat->conversation.Drop(from, from + n_dropped);
    }
    if (dropped != nullptr) *dropped = n_dropped;
    chat->reply = std::move(reply);
    chat->last.clear();
    return OkStatus();
  });
}

int32_t krafla_chat_push(krafla_chat* chat, int32_t id) {
  return With(chat, [&]() -> Status {
    if (id < 0 || id >= chat->n_vocab) {
      return ArgumentError("id: got {}, want 0 to {}", id, chat->n_vocab - 1);
    }
    if (!chat->reply) chat->reply = NewReply(*chat, chat->prompt_end);
    return chat->reply->Push(id);
  });
}

int32_t krafla_chat_push_text(krafla_chat* chat, const char* text, size_t length) {
  return With(chat, [&]() -> Status {
    KRAFLA_ASSIGN_OR_RETURN(const auto given, capi::ReadString(text, length, "text"));
    if (!chat->reply) chat->reply = NewReply(*chat, chat->prompt_end);
    chat->reply->Push(given);
    return OkStatus();
  });
}

int32_t krafla_chat_next(krafla_chat* chat, krafla_chat_event* event) {
  bool any = false;
  const int32_t code = With(chat, [&]() -> Status {
    KRAFLA_RETURN_IF_ERROR(capi::CheckInfo(event, "krafla_chat_event"));
    std::optional<ReplyEvent> next;
    if (!chat->last.empty()) {
      next = std::move(chat->last.front());
      chat->last.pop_front();
    } else if (chat->reply) {
      next = chat->reply->Next();
    }
    if (!next) return OkStatus();
    any = true;
    chat->current = *std::move(next);
    krafla_chat_event filled = KRAFLA_CHAT_EVENT_INIT;
    filled.kind = static_cast<int32_t>(chat->current.kind);
    filled.index = chat->current.index;
    filled.text = chat->current.text.c_str();
    filled.text_length = chat->current.text.size();
    filled.id = chat->current.id.c_str();
    filled.id_length = chat->current.id.size();
    capi::WriteInfo(filled, event);
    return OkStatus();
  });
  return code == KRAFLA_OK && !any ? KRAFLA_PAUSED : code;
}

int32_t krafla_chat_finish(krafla_chat* chat) {
  return With(chat, [&]() -> Status {
    if (!chat->reply) return StateError("chat: no reply has begun");
    chat->reply->Finish();
    while (auto event = chat->reply->Next()) chat->last.push_back(*std::move(event));
    chat->reply->AddTo(&chat->conversation);
    chat->prompt_end.clear();
    chat->reply.reset();
    return OkStatus();
  });
}

int32_t krafla_chat_get_call_form(krafla_chat* chat, const char* tool, size_t length,
                                  krafla_call_form* form) {
  return With(chat, [&]() -> Status {
    KRAFLA_RETURN_IF_ERROR(capi::CheckInfo(form, "krafla_call_form"));
    KRAFLA_ASSIGN_OR_RETURN(const auto name, capi::ReadString(tool, length, "tool"));
    KRAFLA_ASSIGN_OR_RETURN(chat->text, chat->conversation.CallSchema(name));
    krafla_call_form filled{};
    const chat::CallForm kind = chat->conversation.format().form;
    filled.form = chat::FormName(kind).data();
    const chat::CallTexts texts = chat::TextsOf(kind);
    filled.begin = texts.begin.data();
    filled.end = texts.end.data();
    filled.schema = chat->text.c_str();
    filled.schema_length = chat->text.size();
    capi::WriteInfo(filled, form);
    return OkStatus();
  });
}

}  // extern "C"
