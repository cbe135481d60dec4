// What a constraint has to know of a conversation's tools and of how its model calls them.
#ifndef KRAFLA_CAPI_CHAT_CALLS_H_
#define KRAFLA_CAPI_CHAT_CALLS_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "capi/handles.h"
#include "include/krafla/krafla_chat.h"
#include "lib/chat/conversation.h"
#include "lib/chat/reply_format.h"

namespace krafla::capi {

struct ChatCalls {
  std::shared_ptr<const void> owner;  // of the tokenizer's bytes
  std::shared_ptr<const Tokenizer> tokenizer;
  std::shared_ptr<SharedVocabulary> vocabulary;
  chat::CallForm form = chat::CallForm::kJson;
  std::vector<Conversation::Tool> tools;  // that may be called
  std::string schema;                     // of any of these calls
  bool may_think = false;                 // reasoning may come first
  bool thinks = false;                    // the prompt has begun it
};

// Of the named tool or ("") of any. NotFoundError, StateError without tools; where the model
// reasons also what rendering the next prompt returns.
StatusOr<ChatCalls> CallsOf(krafla_chat* chat, std::string_view tool);

}  // namespace krafla::capi

#endif  // KRAFLA_CAPI_CHAT_CALLS_H_
