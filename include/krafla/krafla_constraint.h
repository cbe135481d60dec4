/* Krafla: what a generated text must be. A JSON schema, a regular expression, a grammar or a list
 * of choices is compiled once and shared by any number of generations (krafla_generate_options
 * .constraint). Part of the stable C ABI (krafla.h says what holds everywhere).
 *
 * It fails closed: what is not supported is refused by name with its place, and a limit that is met
 * while text is generated ends that with an error, never a text without the constraint.
 * docs/constraints.md has the languages and their limits. */
#ifndef KRAFLA_KRAFLA_CONSTRAINT_H_
#define KRAFLA_KRAFLA_CONSTRAINT_H_

#include "krafla/krafla_chat.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Immutable; safe to share among threads, and may be freed while generations use it. */
typedef struct krafla_constraint krafla_constraint;

enum {
  KRAFLA_CONSTRAINT_CHOICES = 1,    /* one of the texts */
  KRAFLA_CONSTRAINT_REGEX = 2,      /* ECMA 262's syntax, of the whole text */
  KRAFLA_CONSTRAINT_GBNF = 3,       /* llama.cpp's grammars */
  KRAFLA_CONSTRAINT_JSON_SCHEMA = 4 /* draft 2020-12; "{}" is any JSON */
};

enum {
  KRAFLA_JSON_SPACE_FLEXIBLE = 0, /* at most a space, or a newline and up to 32 spaces or tabs */
  KRAFLA_JSON_SPACE_NONE = 1,
  KRAFLA_JSON_SPACE_PYTHON = 2 /* one space behind each comma and colon */
};

typedef struct krafla_constraint_options {
  size_t struct_size;
  /* Of JSON schemas. */
  int32_t space;    /* KRAFLA_JSON_SPACE_* */
  int32_t in_order; /* non-zero: members in the order of the schema's properties */
  int32_t lenient;  /* non-zero: keywords that cannot be kept are passed over, not refused */
  int32_t unused;
  uint64_t max_nodes; /* of the automaton, at most 600,000; 0: these */
} krafla_constraint_options;
#define KRAFLA_CONSTRAINT_OPTIONS_INIT \
  { sizeof(krafla_constraint_options), 0, 0, 0, 0, 0 }

/* kind: KRAFLA_CONSTRAINT_*. texts [n]: the choices, or the one pattern, grammar or schema, in
 * UTF-8. For texts of this tokenizer. KRAFLA_E_ARGUMENT and KRAFLA_E_UNSUPPORTED have the place in
 * the message. since 1 */
KRAFLA_API int32_t krafla_constraint_compile(krafla_constraint **out,
                                             const krafla_tokenizer *tokenizer, int32_t kind,
                                             const krafla_string *texts, size_t n,
                                             const krafla_constraint_options *options);

enum {
  KRAFLA_CALLS_REQUIRED = 0, /* the reply is a call */
  KRAFLA_CALLS_AUTO = 1      /* text, in which what begins as a call is one */
};

typedef struct krafla_calls_options {
  size_t struct_size;
  int32_t choice;   /* KRAFLA_CALLS_* */
  int32_t parallel; /* non-zero: several calls may follow each other, where the form has that */
} krafla_calls_options;
#define KRAFLA_CALLS_OPTIONS_INIT \
  { sizeof(krafla_calls_options), 0, 0 }

/* A reply with calls of the chat's tools, as its model writes them, arguments by the tools'
 * schemas; of the named tool alone, or with length 0 of any. Reasoning may come before it. For the
 * next reply, whose prompt says whether that has begun. KRAFLA_E_NOT_FOUND, and KRAFLA_E_STATE
 * without tools; KRAFLA_E_UNSUPPORTED where a schema is not supported. options: of the schemas, may
 * be NULL; members are in order in any case, the name first. since 1 */
KRAFLA_API int32_t krafla_constraint_compile_calls(krafla_constraint **out, krafla_chat *chat,
                                                   const char *tool, size_t length,
                                                   const krafla_calls_options *calls,
                                                   const krafla_constraint_options *options);
KRAFLA_API void krafla_constraint_free(krafla_constraint *constraint);

/* --- for hosts that sample by themselves --- */

/* A place in a text. Serves one thread at a time. */
typedef struct krafla_constraint_state krafla_constraint_state;

typedef struct krafla_constraint_state_info {
  size_t struct_size;
  int32_t complete; /* non-zero: the text so far is a whole one, so it may end */
  int32_t open;     /* non-zero: something can follow */
} krafla_constraint_state_info;

/* At the beginning. It keeps the constraint. since 1 */
KRAFLA_API int32_t krafla_constraint_state_create(krafla_constraint_state **out,
                                                  const krafla_constraint *constraint);
KRAFLA_API void krafla_constraint_state_free(krafla_constraint_state *state);
/* A second one at the same place. since 1 */
KRAFLA_API int32_t krafla_constraint_state_clone(krafla_constraint_state **out,
                                                 const krafla_constraint_state *state);
KRAFLA_API int32_t krafla_constraint_state_get_info(const krafla_constraint_state *state,
                                                    krafla_constraint_state_info *info);
/* Which tokens can follow: bit id % 32 of word id / 32. Tokens that end a reply are not among them:
 * they are the host's to allow where the text is complete. Buffers as krafla_tokenizer_encode.
 * since
 * 1 */
KRAFLA_API int32_t krafla_constraint_state_get_mask(krafla_constraint_state *state, uint32_t *mask,
                                                    size_t capacity, size_t *n);
/* Goes on by a token, or by text. KRAFLA_E_ARGUMENT, and nothing is changed, where it cannot
 * follow. since 1 */
KRAFLA_API int32_t krafla_constraint_state_accept(krafla_constraint_state *state, int32_t id);
KRAFLA_API int32_t krafla_constraint_state_accept_text(krafla_constraint_state *state,
                                                       const char *text, size_t length);
/* The tokens of the text that must follow, as the tokenizer makes them; often none. since 1 */
KRAFLA_API int32_t krafla_constraint_state_get_forced(krafla_constraint_state *state, int32_t *ids,
                                                      size_t capacity, size_t *n);
/* krafla_sampler_sample among the tokens of a mask; ids beyond its end are not among them. The mask
 * comes before every stage of the chain. since 1 */
KRAFLA_API int32_t krafla_sampler_sample_masked(krafla_sampler *sampler, const float *logits,
                                                size_t n, const uint32_t *mask, size_t n_words,
                                                int32_t *id);

#ifdef __cplusplus
}
#endif

#endif /* KRAFLA_KRAFLA_CONSTRAINT_H_ */
