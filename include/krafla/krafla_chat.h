/* Krafla: conversations. Messages and tools in, prompts through the model's own template; the reply
 * comes out as content, reasoning and tool calls while it is generated. Part of the stable C ABI
 * (krafla.h says what holds everywhere).
 *
 * What messages and tools say is untrusted: it never becomes a control token. A conversation serves
 * one thread at a time (KRAFLA_E_STATE). The order of calls for a turn:
 *   krafla_chat_add, krafla_chat_append (into a session), then generate with an on_token that calls
 *   krafla_chat_push and takes events with krafla_chat_next; krafla_chat_finish, the last events.
 */
#ifndef KRAFLA_KRAFLA_CHAT_H_
#define KRAFLA_KRAFLA_CHAT_H_

#include "krafla/krafla.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct krafla_chat krafla_chat;

/* Where prompt and reserve do not fit the session's context. */
enum {
  KRAFLA_CHAT_REFUSE = 0, /* KRAFLA_E_CONTEXT with the numbers; nothing changes */
  /* The oldest turn goes (a user's message and all that answers it, tools included), then the next,
   * until it fits. System messages at the beginning and the last turn stay: where they do not fit
   * alone, KRAFLA_E_CONTEXT. */
  KRAFLA_CHAT_DROP_OLDEST = 1
};

typedef struct krafla_chat_options {
  size_t struct_size;
  int32_t full; /* KRAFLA_CHAT_* */
  int32_t unused;
  int64_t reserve; /* positions left free for the reply; 0: 1 */
} krafla_chat_options;
#define KRAFLA_CHAT_OPTIONS_INIT \
  { sizeof(krafla_chat_options), 0, 0, 0 }

/* With the model's tokenizer and template; or with a tokenizer and a template (NULL: that of the
 * tokenizer's file). KRAFLA_E_NOT_FOUND where one is missing. The handles may be freed before the
 * chat. since 1 */
KRAFLA_API int32_t krafla_chat_from_model(krafla_chat **out, const krafla_model *model,
                                          const krafla_chat_options *options);
KRAFLA_API int32_t krafla_chat_create(krafla_chat **out, const krafla_tokenizer *tokenizer,
                                      const krafla_template *tmpl,
                                      const krafla_chat_options *options);
KRAFLA_API void krafla_chat_free(krafla_chat *chat);

/* A message of plain text. since 1 */
KRAFLA_API int32_t krafla_chat_add(krafla_chat *chat, const char *role, size_t role_length,
                                   const char *content, size_t content_length);
/* A message as OpenAI's API has it, or an array of them (all or none): role, content (a text, null,
 * or parts of type text; others are KRAFLA_E_UNSUPPORTED by name), tool_calls, tool_call_id, ...
 * Arguments of calls may be a string that holds JSON; they are kept as the object. since 1 */
KRAFLA_API int32_t krafla_chat_add_json(krafla_chat *chat, const char *json, size_t length);
/* Forgets all but the first n messages. since 1 */
KRAFLA_API int32_t krafla_chat_truncate(krafla_chat *chat, size_t n);
/* All messages as a JSON array, living with the chat until its next call; n (may be NULL): how
 * many. since 1 */
KRAFLA_API int32_t krafla_chat_get_json(krafla_chat *chat, const char **json, size_t *length,
                                        size_t *n);
/* Tools as OpenAI's API has them (an array); length 0: none. since 1 */
KRAFLA_API int32_t krafla_chat_set_tools(krafla_chat *chat, const char *json, size_t length);
/* An object whose members the template sees as variables: {"enable_thinking": false}. since 1 */
KRAFLA_API int32_t krafla_chat_set_variables(krafla_chat *chat, const char *json, size_t length);

/* The ids of the prompt for the next reply; buffers as krafla_tokenizer_encode. KRAFLA_E_TEMPLATE
 * where the template refuses the conversation. since 1 */
KRAFLA_API int32_t krafla_chat_encode(krafla_chat *chat, int32_t *ids, size_t capacity, size_t *n);
/* Makes the session one that has read the prompt for the next reply, reading only what it has not
 * (krafla_session_edit), and begins to take a reply. *dropped (may be NULL): messages that went to
 * make room. On a failure chat and session are as before. Returns also what encode and
 * krafla_session_edit return. since 1 */
KRAFLA_API int32_t krafla_chat_append(krafla_chat *chat, krafla_session *session,
                                      const krafla_append_options *options, size_t *dropped);

enum {
  KRAFLA_CHAT_CONTENT = 1,        /* text: more of the answer */
  KRAFLA_CHAT_REASONING = 2,      /* text: more of what the model thinks */
  KRAFLA_CHAT_CALL_BEGIN = 3,     /* index, text: the tool's name, id */
  KRAFLA_CHAT_CALL_ARGUMENTS = 4, /* index, text: more of the arguments' JSON */
  KRAFLA_CHAT_CALL_END = 5,       /* index: the arguments are a JSON object */
  /* index: what began like a call is none (broken JSON, no end); forget it, its text follows as
   * content. */
  KRAFLA_CHAT_CALL_DROPPED = 6
};

typedef struct krafla_chat_event {
  size_t struct_size;
  int32_t kind; /* KRAFLA_CHAT_* */
  int32_t index;
  const char *text; /* whole code points; valid until the chat's next call, likewise id */
  size_t text_length;
  const char *id;
  size_t id_length;
} krafla_chat_event;
#define KRAFLA_CHAT_EVENT_INIT \
  { sizeof(krafla_chat_event), 0, 0, NULL, 0, NULL, 0 }

/* One token of the reply, control tokens included (krafla_token.id); or text of it. Where append
 * has not begun a reply, one to the prompt that was encoded last begins. since 1 */
KRAFLA_API int32_t krafla_chat_push(krafla_chat *chat, int32_t id);
KRAFLA_API int32_t krafla_chat_push_text(krafla_chat *chat, const char *text, size_t length);
/* The next event; KRAFLA_PAUSED where there is none yet. since 1 */
KRAFLA_API int32_t krafla_chat_next(krafla_chat *chat, krafla_chat_event *event);
/* The reply has ended: its message is added to the conversation, and its last events can be taken.
 * since 1 */
KRAFLA_API int32_t krafla_chat_finish(krafla_chat *chat);

/* How the model writes a call of a tool. */
typedef struct krafla_call_form {
  size_t struct_size;
  const char *form;  /* "tagged", "mistral", "llama", "fenced", "harmony", "json"; static */
  const char *begin; /* what stands before and behind a call; static, terminated */
  const char *end;
  const char *schema; /* a JSON schema of the call between them; lives until the chat's next call */
  size_t schema_length;
} krafla_call_form;
/* Of the tool with this name (KRAFLA_E_NOT_FOUND), or with length 0 of any; KRAFLA_E_STATE without
 * tools. For constraints. since 1 */
KRAFLA_API int32_t krafla_chat_get_call_form(krafla_chat *chat, const char *tool, size_t length,
                                             krafla_call_form *form);

#ifdef __cplusplus
}
#endif

#endif /* KRAFLA_KRAFLA_CHAT_H_ */
