/* Krafla: quantised language models on any CPU. The whole stable C ABI (number 1; docs/abi.md).
 *
 * Objects: a runtime (threads, memory, log), models, tokenizers, chat templates, sessions,
 * samplers. Rules that hold everywhere:
 * - `since n` names the ABI in which a declaration appeared; it is 1 where nothing is said.
 * - A function returns KRAFLA_OK, a positive notice or a negative code; krafla_error_message() then
 * says what, where, got, wanted. A failed call leaves its objects as they were. Every function may
 * also return KRAFLA_E_ARGUMENT (a NULL or absurd argument), KRAFLA_E_MEMORY and KRAFLA_E_INTERNAL.
 * - The owned result is the first parameter, written only on success. _free takes NULL.
 * - An options pointer may be NULL: all defaults. Structs begin with struct_size, set by their
 * _INIT macro; in options zero means the default; info structs are filled up to their struct_size.
 * - Strings are pointer + length in UTF-8, need no terminator unless said, and are copied.
 * - Objects may be used from any thread, a session, sampler or template one thread at a time (a
 * session used twice at once returns KRAFLA_E_STATE). Models, tokenizers and runtimes are safe to
 * share.
 * - Nothing aborts, throws, prints, exits or installs signal handlers; there is no global state. */
#ifndef KRAFLA_KRAFLA_H_
#define KRAFLA_KRAFLA_H_

#include <stddef.h>
#include <stdint.h>

#include "krafla/version.h"

#if defined(KRAFLA_STATIC)
#define KRAFLA_API
#elif defined(_WIN32)
#if defined(KRAFLA_BUILDING)
#define KRAFLA_API __declspec(dllexport)
#else
#define KRAFLA_API __declspec(dllimport)
#endif
#else
#define KRAFLA_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* --- codes --- */

enum {
  KRAFLA_OK = 0,
  KRAFLA_PAUSED = 1,      /* of a step: time is up, more to do; of a poll: nothing came */
  KRAFLA_E_ARGUMENT = -1, /* a value that the caller gave is not valid */
  KRAFLA_E_MEMORY = -2,   /* an allocation failed */
  KRAFLA_E_BUDGET = -3,   /* would exceed the runtime's byte budget; the message names the need */
  KRAFLA_E_IO = -4,       /* the system refused a file operation */
  KRAFLA_E_FILE = -5,     /* the content of a file is not valid */
  KRAFLA_E_UNSUPPORTED = -6, /* valid, but not supported by this library */
  KRAFLA_E_CPU = -7,         /* this build needs a feature that the processor or system lacks */
  KRAFLA_E_CANCELLED = -8,   /* krafla_session_cancel was called */
  KRAFLA_E_CALLBACK = -9,    /* a callback returned non-zero */
  KRAFLA_E_CONTEXT = -10,    /* does not fit the session's context */
  KRAFLA_E_STATE = -11,     /* not possible in the object's present state, or used by two threads */
  KRAFLA_E_NOT_FOUND = -12, /* no such name, file or part */
  KRAFLA_E_TEMPLATE = -13,  /* a chat template raised an error or met a limit */
  KRAFLA_E_BUFFER = -14,    /* the caller's buffer is too small; the needed size was written */
  KRAFLA_E_INTERNAL = -15   /* a fault of this library */
};

/* The message of this thread's last failed call: at most 511 bytes, terminated, valid until the
 * thread's next call. Codes decide; a message may be stale after a success. since 1 */
KRAFLA_API const char *krafla_error_message(void);
/* "KRAFLA_E_FILE"; "KRAFLA_E_UNKNOWN" for a number that is none. Static. since 1 */
KRAFLA_API const char *krafla_error_name(int32_t code);

/* (major << 16) | (minor << 8) | patch of the library that runs. since 1 */
KRAFLA_API uint32_t krafla_version(void);
/* The instruction set of this build: "avx2". Static. since 1 */
KRAFLA_API const char *krafla_isa(void);
/* The number of the canonical arithmetic: two libraries with the same number give the same bits.
 * since 1 */
KRAFLA_API uint32_t krafla_arithmetic(void);
/* KRAFLA_OK, or KRAFLA_E_CPU with the missing feature in the message. Call it first: all else of a
 * build for another processor may fault. since 1 */
KRAFLA_API int32_t krafla_cpu_check(void);

typedef struct krafla_runtime krafla_runtime;
typedef struct krafla_model krafla_model;
typedef struct krafla_tokenizer krafla_tokenizer;
typedef struct krafla_template krafla_template;
typedef struct krafla_rendered krafla_rendered;
typedef struct krafla_session krafla_session;
typedef struct krafla_sampler krafla_sampler;

/* --- runtime --- */

enum { KRAFLA_LOG_ERROR = 1, KRAFLA_LOG_WARNING = 2, KRAFLA_LOG_INFO = 3, KRAFLA_LOG_DEBUG = 4 };

typedef struct krafla_runtime_options {
  size_t struct_size;
  int32_t threads;   /* the calling one included; 0: one per physical core that may be used */
  int32_t log_level; /* 0: KRAFLA_LOG_INFO */
  /* With parallel_for no threads are made: it must run task(context, i) for every i < n and return
   * when all are done. */
  void (*parallel_for)(void *user, size_t n, void (*task)(void *context, size_t i), void *context);
  void *parallel_for_user;
  /* Both or neither: weights, KV, scratch and snapshots come from here. alignment <= 4096, a power
   * of 2; allocate returns NULL on failure. Called from any thread. */
  void *(*allocate)(void *user, size_t bytes, size_t alignment);
  void (*release)(void *user, void *data, size_t bytes, size_t alignment);
  void *allocator_user;
  /* text is not terminated */
  void (*log)(void *user, int32_t level, const char *text, size_t length);
  void *log_user;
  uint64_t budget;    /* bytes for everything that the allocator gives out */
  int32_t has_budget; /* non-zero: budget holds, 0 bytes included */
  int32_t unused;
} krafla_runtime_options;
#define KRAFLA_RUNTIME_OPTIONS_INIT \
  { sizeof(krafla_runtime_options), 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0 }

typedef struct krafla_runtime_info {
  size_t struct_size;
  int32_t threads;
  int32_t unused;
  uint64_t budget;     /* UINT64_MAX: none */
  uint64_t used_bytes; /* now, all kinds; mapped files are not counted */
  uint64_t peak_bytes;
  uint64_t weight_bytes; /* read, not mapped */
  uint64_t kv_bytes;
  uint64_t state_bytes;
  uint64_t scratch_bytes;
  uint64_t snapshot_bytes;
} krafla_runtime_info;

/* Returns also KRAFLA_E_CPU. since 1 */
KRAFLA_API int32_t krafla_runtime_create(krafla_runtime **out,
                                         const krafla_runtime_options *options);
/* Models and sessions made with it keep what they need of it. since 1 */
KRAFLA_API void krafla_runtime_free(krafla_runtime *runtime);
KRAFLA_API int32_t krafla_runtime_get_info(const krafla_runtime *runtime,
                                           krafla_runtime_info *info); /* since 1 */

/* --- model --- */

enum {
  KRAFLA_LOAD_MAP = 0,  /* use the file in place; it must not be truncated while it is open */
  KRAFLA_LOAD_READ = 1, /* copy the weights into the runtime's memory: the file may change then */
  /* READ where the system gives large pages, from which products are faster, and the copy takes at
   * most half of the memory and budget that are left; else MAP. since 1 */
  KRAFLA_LOAD_AUTO = 2
};

typedef struct krafla_model_options {
  size_t struct_size;
  int32_t load; /* KRAFLA_LOAD_*; memory and callbacks ignore it */
  int32_t unused;
  /* In bytes; non-zero: KRAFLA_E_CALLBACK. */
  int (*progress)(void *user, uint64_t done, uint64_t total);
  void *user;
  /* krafla_residency.h: experts are read as they are wanted; NULL: all weights are in memory. */
  const struct krafla_residency_options *residency;
} krafla_model_options;
#define KRAFLA_MODEL_OPTIONS_INIT \
  { sizeof(krafla_model_options), 0, 0, NULL, NULL, NULL }

typedef struct krafla_reader {
  size_t struct_size;
  /* Reads exactly n bytes at offset; 0 when done. May be called from any thread, one at a time. */
  int (*read)(void *user, uint64_t offset, void *out, size_t n);
  void *user;
  uint64_t size; /* of the whole file */
} krafla_reader;
#define KRAFLA_READER_INIT \
  { sizeof(krafla_reader), NULL, NULL, 0 }

typedef struct krafla_model_info {
  size_t struct_size;
  const char *arch; /* "llama"; lives with the model, terminated */
  const char *name; /* the model's own name, may be empty; lives with the model, terminated */
  int32_t n_vocab;
  int32_t n_layers;
  int32_t n_embd;
  int32_t n_heads;
  int32_t n_kv_heads;
  int32_t head_dim;
  int32_t has_tokenizer;
  int32_t has_template;
  int64_t max_context;      /* positions that the model was made for */
  uint64_t weight_bytes;    /* of all tensors */
  uint64_t bytes_per_token; /* weights that one decoded token reads */
  uint64_t macs_per_token;  /* multiply-adds with weights of one prompt token, without the head */
  uint64_t file_hash;       /* names the file's content */
} krafla_model_info;

/* NULL runtime: a private one with default options. Each returns also KRAFLA_E_IO, KRAFLA_E_FILE,
 * KRAFLA_E_UNSUPPORTED, KRAFLA_E_BUDGET, KRAFLA_E_CALLBACK, KRAFLA_E_NOT_FOUND, KRAFLA_E_CPU. since
 * 1 */
KRAFLA_API int32_t krafla_model_open_path(krafla_model **out, krafla_runtime *runtime,
                                          const char *path, size_t path_length,
                                          const krafla_model_options *options);
/* A .mlb of `size` bytes (0: to the end) at `offset` of an open file (an archive, an asset of
 * Android; on Windows fd is a HANDLE), which stays the caller's and may be closed afterwards. Used
 * in place where the offset is a multiple of 64. since 1 */
KRAFLA_API int32_t krafla_model_open_fd(krafla_model **out, krafla_runtime *runtime, int32_t fd,
                                        uint64_t offset, uint64_t size,
                                        const krafla_model_options *options);
/* The bytes of a .mlb, used in place where they are 64-byte aligned; they must outlive the model
 * and all made from it. since 1 */
KRAFLA_API int32_t krafla_model_open_memory(krafla_model **out, krafla_runtime *runtime,
                                            const void *data, size_t size,
                                            const krafla_model_options *options);
/* Reads a .mlb through the host (an archive); the reader is not called after this returns. since 1
 */
KRAFLA_API int32_t krafla_model_open_reader(krafla_model **out, krafla_runtime *runtime,
                                            const krafla_reader *reader,
                                            const krafla_model_options *options);
/* Sessions, tokenizers and templates made from it stay valid. since 1 */
KRAFLA_API void krafla_model_free(krafla_model *model);
KRAFLA_API int32_t krafla_model_get_info(const krafla_model *model,
                                         krafla_model_info *info); /* since 1 */
/* The tokens that end a reply; lives with the model. since 1 */
KRAFLA_API int32_t krafla_model_get_end_ids(const krafla_model *model, const int32_t **ids,
                                            size_t *n);
/* Metadata entry i of n (pass NULL for what is not wanted): key and value as text, both terminated,
 * living with the model. KRAFLA_E_NOT_FOUND beyond the last. since 1 */
KRAFLA_API int32_t krafla_model_get_metadata(const krafla_model *model, size_t i, const char **key,
                                             const char **value, size_t *n);

typedef struct krafla_tensor_info {
  size_t struct_size;
  const char *name;   /* terminated; lives with the model */
  const char *format; /* "q8"; static */
  uint64_t dims[4];   /* {cols}, {rows, cols}, {experts, rows, cols}; unused are 0 */
  uint64_t bytes;
} krafla_tensor_info;
/* Tensor i of n; KRAFLA_E_NOT_FOUND beyond the last. since 1 */
KRAFLA_API int32_t krafla_model_get_tensor(const krafla_model *model, size_t i,
                                           krafla_tensor_info *info, size_t *n);

/* --- tokenizer --- */

/* Part of a text. Control tokens are recognised only in trusted parts: what users write stays text.
 */
typedef struct krafla_piece {
  const char *text;
  size_t length;
  int32_t trusted;
  int32_t unused;
} krafla_piece;

enum {
  KRAFLA_ENCODE_SPECIAL = 1, /* add what the model's post-processor adds (BOS, EOS) */
  KRAFLA_ENCODE_PARSE = 2    /* krafla_tokenizer_encode: the whole text is trusted */
};
enum { KRAFLA_DECODE_SKIP_SPECIAL = 1 };

typedef struct krafla_tokenizer_info {
  size_t struct_size;
  int32_t n_vocab;
  int32_t bos_id; /* -1: none, likewise below */
  int32_t eos_id;
  int32_t unk_id;
} krafla_tokenizer_info;

/* From a model (KRAFLA_E_NOT_FOUND where it carries none), or from a .mlt or .mlb file. since 1 */
KRAFLA_API int32_t krafla_tokenizer_from_model(krafla_tokenizer **out, const krafla_model *model);
KRAFLA_API int32_t krafla_tokenizer_open_path(krafla_tokenizer **out, const char *path,
                                              size_t path_length);
KRAFLA_API void krafla_tokenizer_free(krafla_tokenizer *tokenizer);
KRAFLA_API int32_t krafla_tokenizer_get_info(const krafla_tokenizer *tokenizer,
                                             krafla_tokenizer_info *info);
/* Writes at most capacity ids and the number needed to *n; KRAFLA_E_BUFFER where they do not fit
 * (ids may be NULL with capacity 0). KRAFLA_E_ARGUMENT names the offset of malformed UTF-8. since 1
 */
KRAFLA_API int32_t krafla_tokenizer_encode(const krafla_tokenizer *tokenizer, const char *text,
                                           size_t length, uint32_t flags, int32_t *ids,
                                           size_t capacity, size_t *n);
/* The pieces are one text; flags: KRAFLA_ENCODE_SPECIAL. since 1 */
KRAFLA_API int32_t krafla_tokenizer_encode_pieces(const krafla_tokenizer *tokenizer,
                                                  const krafla_piece *pieces, size_t n_pieces,
                                                  uint32_t flags, int32_t *ids, size_t capacity,
                                                  size_t *n);
/* The bytes of the ids; they may end inside a code point. Buffers as above. since 1 */
KRAFLA_API int32_t krafla_tokenizer_decode(const krafla_tokenizer *tokenizer, const int32_t *ids,
                                           size_t n_ids, uint32_t flags, char *text,
                                           size_t capacity, size_t *length);
/* The id of one token given as it is written ("<|im_end|>"); KRAFLA_E_NOT_FOUND. since 1 */
KRAFLA_API int32_t krafla_tokenizer_find(const krafla_tokenizer *tokenizer, const char *text,
                                         size_t length, int32_t *id);
/* *special: 1 for a control token. since 1 */
KRAFLA_API int32_t krafla_tokenizer_is_special(const krafla_tokenizer *tokenizer, int32_t id,
                                               int32_t *special);

/* --- chat template --- */

/* From a model or a tokenizer's file (KRAFLA_E_NOT_FOUND where it has none), from Jinja source, or
 * a built-in one: "chatml" "gemma" "llama2" "llama3" "mistral" "qwen". Also KRAFLA_E_TEMPLATE with
 * the line. since 1 */
KRAFLA_API int32_t krafla_template_from_model(krafla_template **out, const krafla_model *model);
KRAFLA_API int32_t krafla_template_from_tokenizer(krafla_template **out,
                                                  const krafla_tokenizer *tokenizer);
KRAFLA_API int32_t krafla_template_parse(krafla_template **out, const char *source, size_t length);
KRAFLA_API int32_t krafla_template_builtin(krafla_template **out, const char *name, size_t length);
KRAFLA_API void krafla_template_free(krafla_template *tmpl);
/* json: an object with "messages", "tools", "add_generation_prompt" and whatever else the template
 * reads. tokenizer (may be NULL) gives bos_token and eos_token. Returns also KRAFLA_E_TEMPLATE
 * (what the template raised, or a limit on steps, depth, output). since 1 */
KRAFLA_API int32_t krafla_template_render(krafla_rendered **out, const krafla_template *tmpl,
                                          const krafla_tokenizer *tokenizer, const char *json,
                                          size_t length);
KRAFLA_API void krafla_rendered_free(krafla_rendered *rendered);
/* The pieces in order, living with rendered: for krafla_tokenizer_encode_pieces. since 1 */
KRAFLA_API int32_t krafla_rendered_get_pieces(const krafla_rendered *rendered,
                                              const krafla_piece **pieces, size_t *n);

/* --- session --- */

/* The attention cache. Bits of an element with its scales, on average of keys and values: F32 32,
   F16 16, Q8 8.5, K8V4 6.5, K6V6 6.75, K4V4 4.75; beside that the quantised ones keep the keys of
   the first 32 positions and of those in work in f16. */
enum {
  KRAFLA_KV_F16 = 0,
  KRAFLA_KV_F32 = 1,
  KRAFLA_KV_Q8 = 2,
  KRAFLA_KV_K8V4 = 3,
  KRAFLA_KV_K6V6 = 4,
  KRAFLA_KV_K4V4 = 5
};

typedef struct krafla_session_options {
  size_t struct_size;
  int64_t context;     /* positions; 0: the smaller of 4096 and the model's maximum */
  int32_t kv;          /* KRAFLA_KV_* */
  int32_t has_reserve; /* non-zero: reserve holds, else the whole context */
  int64_t reserve; /* positions whose memory is taken at creation; more is taken as it is needed */
  /* Prompt positions computed together; 0: 256, up to 2,048 where experts are streamed. Never
   * changes a bit of the result. */
  int64_t batch;
} krafla_session_options;
#define KRAFLA_SESSION_OPTIONS_INIT \
  { sizeof(krafla_session_options), 0, 0, 0, 0, 0 }

/* Bytes by kind, known before anything is allocated. */
typedef struct krafla_plan {
  size_t struct_size;
  uint64_t weights_mapped; /* address space of the file, shared with other processes */
  uint64_t weights_read;   /* memory for weights, with KRAFLA_LOAD_READ or a reader */
  uint64_t kv;             /* of the whole context */
  uint64_t state;
  uint64_t scratch;
  uint64_t total; /* all but weights_mapped: what a budget must hold */
  /* With krafla_model_options.residency: experts (of a model without: layers) that weights_read has
   * room for, those that the model has, and the least budget with which it runs. */
  uint64_t expert_slots;
  uint64_t experts;
  uint64_t least_budget;
} krafla_plan;

/* What krafla_model_open_path and krafla_session_create with these options (each may be NULL) take.
 * Reads the file's header only. since 1 */
KRAFLA_API int32_t krafla_plan_path(krafla_plan *plan, const char *path, size_t path_length,
                                    const krafla_model_options *model_options,
                                    const krafla_session_options *session_options);
/* The same for a session of an open model. since 1 */
KRAFLA_API int32_t krafla_plan_session(krafla_plan *plan, const krafla_model *model,
                                       const krafla_session_options *options);

/* Returns also KRAFLA_E_BUDGET. since 1 */
KRAFLA_API int32_t krafla_session_create(krafla_session **out, const krafla_model *model,
                                         const krafla_session_options *options);
KRAFLA_API void krafla_session_free(krafla_session *session);

typedef struct krafla_session_info {
  size_t struct_size;
  int64_t length; /* positions read so far */
  int64_t context;
  int64_t reused;     /* of the last append or truncate: positions kept */
  int64_t recomputed; /* and positions read again */
  uint64_t kv_bytes;  /* of the pages it holds, those shared with forks included */
} krafla_session_info;
KRAFLA_API int32_t krafla_session_get_info(const krafla_session *session,
                                           krafla_session_info *info); /* since 1 */
/* The ids read so far, valid until the session's next call. since 1 */
KRAFLA_API int32_t krafla_session_get_ids(const krafla_session *session, const int32_t **ids,
                                          size_t *n);
/* The logits after the last id, valid until the session's next call; KRAFLA_E_STATE where there are
 * none (nothing read yet, or read with KRAFLA_LOGITS_NONE). since 1 */
KRAFLA_API int32_t krafla_session_get_logits(const krafla_session *session, const float **row,
                                             size_t *n);

enum { KRAFLA_LOGITS_LAST = 0, KRAFLA_LOGITS_ALL = 1, KRAFLA_LOGITS_NONE = 2 };

typedef struct krafla_append_options {
  size_t struct_size;
  int32_t logits; /* KRAFLA_LOGITS_* */
  int32_t unused;
  /* KRAFLA_LOGITS_ALL: each position's row [n_vocab] in ascending order; non-zero:
   * KRAFLA_E_CALLBACK. */
  int (*on_logits)(void *user, int64_t position, const float *row, size_t n_vocab);
  /* In positions; non-zero: KRAFLA_E_CALLBACK. */
  int (*on_progress)(void *user, int64_t done, int64_t total);
  void *user;
  /* Where not NULL: each position's hidden state behind the final norm [n_embd], in ascending
   * order; non-zero: KRAFLA_E_CALLBACK. */
  int (*on_hidden)(void *user, int64_t position, const float *row, size_t n_embd);
} krafla_append_options;
#define KRAFLA_APPEND_OPTIONS_INIT \
  { sizeof(krafla_append_options), 0, 0, NULL, NULL, NULL, NULL }

/* Reads ids. Returns also KRAFLA_E_CONTEXT, KRAFLA_E_CANCELLED, KRAFLA_E_CALLBACK, KRAFLA_E_BUDGET,
 * KRAFLA_E_STATE. since 1 */
KRAFLA_API int32_t krafla_session_append(krafla_session *session, const int32_t *ids, size_t n,
                                         const krafla_append_options *options);
/* Reads a text with the model's own tokenizer; flags: KRAFLA_ENCODE_*. since 1 */
KRAFLA_API int32_t krafla_session_append_text(krafla_session *session, const char *text,
                                              size_t length, uint32_t flags,
                                              const krafla_append_options *options);
/* The same in time slices: begin (or krafla_session_begin_generate), then step until it returns
 * KRAFLA_OK. A step works for about max_us microseconds (0: one work item, negative: to the end)
 * and returns KRAFLA_PAUSED while there is more. What a step did is kept; abandon drops the append
 * that was begun, and of a generation the token that is being read. since 1 */
KRAFLA_API int32_t krafla_session_begin(krafla_session *session, const int32_t *ids, size_t n,
                                        const krafla_append_options *options);
KRAFLA_API int32_t krafla_session_step(krafla_session *session, int64_t max_us);
KRAFLA_API int32_t krafla_session_abandon(krafla_session *session);
/* One pass over several sessions of one model: reads ids[i] (n_ids[i] of them) into sessions[i];
 * each result is bit-equal to an append alone. All or nothing. since 1 */
KRAFLA_API int32_t krafla_session_append_batch(krafla_session *const *sessions,
                                               const int32_t *const *ids, const size_t *n_ids,
                                               size_t n_sessions);
/* Forgets all but the first `length` positions; bit-equal to a session that read only those.
 * Reports in krafla_session_info. since 1 */
KRAFLA_API int32_t krafla_session_truncate(krafla_session *session, int64_t length);
/* Makes the session hold exactly these ids: what it has read of them stays, the rest is read
 * (krafla_session_info tells how much). All or nothing. Returns what append returns. since 1 */
KRAFLA_API int32_t krafla_session_edit(krafla_session *session, const int32_t *ids, size_t n,
                                       const krafla_append_options *options);
/* A second session that has read the same. Copies none of the KV; each side's next append copies at
 * most one page of 32 positions. since 1 */
KRAFLA_API int32_t krafla_session_fork(krafla_session **out, const krafla_session *session);
/* From any thread: the session's running call, or else its next one, returns KRAFLA_E_CANCELLED.
 * since 1 */
KRAFLA_API int32_t krafla_session_cancel(krafla_session *session);

enum { KRAFLA_POOL_MEAN = 0, KRAFLA_POOL_LAST = 1, KRAFLA_POOL_FIRST = 2 };

typedef struct krafla_embed_options {
  size_t struct_size;
  int32_t pool;      /* KRAFLA_POOL_* of the hidden states of the ids given */
  int32_t normalize; /* non-zero: divided by its Euclidean length */
  /* In positions; non-zero: KRAFLA_E_CALLBACK. */
  int (*on_progress)(void *user, int64_t done, int64_t total);
  void *user;
} krafla_embed_options;
#define KRAFLA_EMBED_OPTIONS_INIT \
  { sizeof(krafla_embed_options), 0, 0, NULL, NULL }

/* Reads ids as an append does, and writes their pooled hidden state [n_embd] to out;
 * KRAFLA_E_BUFFER where it does not fit (nothing is read then). since 1 */
KRAFLA_API int32_t krafla_session_embed(krafla_session *session, const int32_t *ids, size_t n,
                                        const krafla_embed_options *options, float *out,
                                        size_t capacity, size_t *n_embd);

/* --- saving --- */

enum {
  KRAFLA_SAVE_CACHE = 0, /* the ids and all that was computed: restored without reading again */
  KRAFLA_SAVE_TOKENS = 1 /* the ids, 4 bytes each: restored by reading them again */
};

typedef struct krafla_save_options {
  size_t struct_size;
  int32_t content; /* KRAFLA_SAVE_* */
  int32_t unused;
} krafla_save_options;
#define KRAFLA_SAVE_OPTIONS_INIT \
  { sizeof(krafla_save_options), 0, 0 }

typedef struct krafla_restore_options {
  size_t struct_size;
  /* Non-zero: the ids are read again even where there is a cache, and one of another kind or
   * another arithmetic is no obstacle. */
  int32_t replay;
  int32_t unused;
  int (*on_progress)(void *user, int64_t done, int64_t total); /* while ids are read */
  void *user;
} krafla_restore_options;
#define KRAFLA_RESTORE_OPTIONS_INIT \
  { sizeof(krafla_restore_options), 0, 0, NULL, NULL }

/* Writes the session to data [capacity] and the size needed to *size (KRAFLA_E_BUFFER), or to a
 * file, which appears complete or not at all and, where files have owners, is its owner's alone.
 * Also KRAFLA_E_STATE between begin and its end. since 1 */
KRAFLA_API int32_t krafla_session_save(const krafla_session *session, void *data, size_t capacity,
                                       size_t *size, const krafla_save_options *options);
KRAFLA_API int32_t krafla_session_save_path(const krafla_session *session, const char *path,
                                            size_t path_length, const krafla_save_options *options);
/* Becomes the saved session: its next tokens have the bits that the saved one's had. Bytes of
 * another model or damaged: KRAFLA_E_FILE; of another KV kind, arithmetic or a later version:
 * KRAFLA_E_UNSUPPORTED; longer than the context: KRAFLA_E_CONTEXT. Reports in
 * krafla_session_info. since 1 */
KRAFLA_API int32_t krafla_session_restore(krafla_session *session, const void *data, size_t size,
                                          const krafla_restore_options *options);
KRAFLA_API int32_t krafla_session_restore_path(krafla_session *session, const char *path,
                                               size_t path_length,
                                               const krafla_restore_options *options);

/* --- log-probabilities --- */

/* logprobs[i] = log softmax(logits)[i]; the two may be the same array. since 1 */
KRAFLA_API int32_t krafla_logits_to_logprobs(const float *logits, size_t n, float *logprobs);
/* The k most probable ids (k <= n, at most 1024), most probable first, ties to the lower id, and
 * their log-probabilities. since 1 */
KRAFLA_API int32_t krafla_logits_get_top(const float *logits, size_t n, size_t k, int32_t *ids,
                                         float *logprobs);

/* --- sampler --- */

typedef struct krafla_string {
  const char *text;
  size_t length;
} krafla_string;

typedef struct krafla_sampler_options {
  size_t struct_size;
  uint64_t seed;
  int32_t has_seed; /* 0: a seed is drawn; krafla_sampler_get_seed tells it */
  int32_t unused;
} krafla_sampler_options;
#define KRAFLA_SAMPLER_OPTIONS_INIT \
  { sizeof(krafla_sampler_options), 0, 0, 0 }

typedef struct krafla_param {
  const char *name; /* terminated */
  double value;
} krafla_param;

/* A token that can still be chosen: its logit, as the stages before have changed it. */
typedef struct krafla_candidate {
  double value;
  int32_t id;
  int32_t unused;
} krafla_candidate;

/* For single tokens: added to the logit, a number in [-1e6, 1e6], or -INFINITY: never chosen. */
typedef struct krafla_bias {
  double bias;
  int32_t id;
  int32_t unused;
} krafla_bias;

/* A stage of the host's own. apply may change values and drop candidates: those with -INFINITY, and
 * by moving others into their place and lowering *n. NaN, +INFINITY, ids that were not there, and
 * nothing left are KRAFLA_E_ARGUMENT; non-zero is KRAFLA_E_CALLBACK. ids: the tokens accepted so
 * far. Called on the thread that samples; it must not call the sampler, and clones call the same
 * function. */
typedef struct krafla_custom_stage {
  size_t struct_size;
  int (*apply)(void *user, krafla_candidate *candidates, size_t *n, const int32_t *ids,
               size_t n_ids);
  void *user;
} krafla_custom_stage;
#define KRAFLA_CUSTOM_STAGE_INIT \
  { sizeof(krafla_custom_stage), NULL, NULL }

typedef struct krafla_stage_info {
  size_t struct_size;
  const char *name; /* static, terminated, likewise summary */
  const char *summary;
  int32_t n_params;
  int32_t in_default_chain; /* non-zero: in it, in the order of this list */
} krafla_stage_info;

typedef struct krafla_param_info {
  size_t struct_size;
  const char *stage; /* static, terminated, likewise name */
  const char *name;
  double min;
  double max;
  double default_value;
  int32_t integer;      /* non-zero: whole numbers only */
  int32_t min_excluded; /* non-zero: the value must be above min */
} krafla_param_info;

/* A new sampler is greedy: the highest logit, ties to the lower id. since 1 */
KRAFLA_API int32_t krafla_sampler_create(krafla_sampler **out,
                                         const krafla_sampler_options *options);
KRAFLA_API void krafla_sampler_free(krafla_sampler *sampler);
/* Appends a stage to the chain; parameters not given have their defaults. KRAFLA_E_NOT_FOUND names
 * an unknown stage or parameter, KRAFLA_E_ARGUMENT a value out of bounds. since 1 */
KRAFLA_API int32_t krafla_sampler_add(krafla_sampler *sampler, const char *stage, size_t length,
                                      const krafla_param *params, size_t n_params);
/* Appends every stage of the default chain, in its order and without effect (greedy), to a sampler
 * without stages; krafla_sampler_set then sets what is wanted. since 1 */
KRAFLA_API int32_t krafla_sampler_add_default(krafla_sampler *sampler);
/* A parameter of a stage that is in the chain (both names terminated). since 1 */
KRAFLA_API int32_t krafla_sampler_set(krafla_sampler *sampler, const char *stage, const char *name,
                                      double value);
/* Data of the stages logit_bias, custom and dry. The first two come to the front of a chain that
 * has them not. Each call replaces what was set; n = 0 or NULL takes it away. since 1 */
KRAFLA_API int32_t krafla_sampler_set_bias(krafla_sampler *sampler, const krafla_bias *biases,
                                           size_t n);
KRAFLA_API int32_t krafla_sampler_set_custom(krafla_sampler *sampler,
                                             const krafla_custom_stage *stage);
/* Sequence breakers: texts of 1 to 64 bytes, at most 256, found also across tokens. since 1 */
KRAFLA_API int32_t krafla_sampler_set_breakers(krafla_sampler *sampler,
                                               const krafla_tokenizer *tokenizer,
                                               const krafla_string *breakers, size_t n);
/* Stage i, and parameter i of all stages' parameters, for listing; KRAFLA_E_NOT_FOUND beyond the
 * last. since 1 */
KRAFLA_API int32_t krafla_sampler_stage_at(size_t i, krafla_stage_info *info);
KRAFLA_API int32_t krafla_sampler_param_at(size_t i, krafla_param_info *info);
/* Chooses from logits [n]; only a random choice advances the sampler's random numbers. since 1 */
KRAFLA_API int32_t krafla_sampler_sample(krafla_sampler *sampler, const float *logits, size_t n,
                                         int32_t *id);
/* Of the last krafla_sampler_sample: the log-probability that its id had behind the whole chain
 * (may be NULL), and the best candidates that the chain had left, at most k <= 1024, with theirs;
 * *n: how many. KRAFLA_E_STATE where nothing was sampled. since 1 */
KRAFLA_API int32_t krafla_sampler_get_chosen(krafla_sampler *sampler, float *logprob, size_t k,
                                             int32_t *ids, float *logprobs, size_t *n);
/* Adds id to the history that penalties and dry look at. since 1 */
KRAFLA_API int32_t krafla_sampler_accept(krafla_sampler *sampler, int32_t id);
/* Back to the start: no history, the same seed. since 1 */
KRAFLA_API int32_t krafla_sampler_reset(krafla_sampler *sampler);
KRAFLA_API int32_t krafla_sampler_get_seed(const krafla_sampler *sampler,
                                           uint64_t *seed); /* since 1 */
/* A second sampler that will choose the same. since 1 */
KRAFLA_API int32_t krafla_sampler_clone(krafla_sampler **out, const krafla_sampler *sampler);

/* --- generation --- */

typedef struct krafla_token {
  size_t struct_size;
  int32_t id;
  int32_t unused;
  int64_t position;
  /* Whole code points that became complete with this token; valid in the callback. */
  const char *text;
  size_t text_length; /* may be 0 */
  /* With krafla_generate_options.logprobs: of this token, and of the n_top most probable ones,
   * under the model's own logits; valid in the callback. */
  float logprob;
  int32_t n_top;
  const int32_t *top_ids;
  const float *top_logprobs;
  /* The same behind the sampler's chain: what the token was drawn from. Of fewer candidates fewer.
   */
  float chain_logprob;
  int32_t n_chain_top;
  const int32_t *chain_top_ids;
  const float *chain_top_logprobs;
} krafla_token;

enum {
  KRAFLA_FINISH_END = 1,      /* the model ended its reply */
  KRAFLA_FINISH_LENGTH = 2,   /* max_tokens */
  KRAFLA_FINISH_CONTEXT = 3,  /* the context is full */
  KRAFLA_FINISH_CALLBACK = 4, /* on_token returned non-zero */
  KRAFLA_FINISH_STOP = 5,     /* a stop string appeared */
  KRAFLA_FINISH_COMPLETE = 6  /* the constraint's text is whole, and nothing can follow */
};

typedef struct krafla_generate_options {
  size_t struct_size;
  int64_t max_tokens;     /* 0: to the end of the reply or a full context */
  const int32_t *end_ids; /* tokens that end the reply besides the model's own */
  size_t n_end_ids;
  int32_t ignore_end; /* non-zero: the model's own end tokens do not end it */
  int32_t unused;
  const krafla_tokenizer *tokenizer; /* NULL: the model's own; no text where it has none */
  /* Each token, before it is read into the session; non-zero ends the generation (that token is
   * read). */
  int (*on_token)(void *user, const krafla_token *token);
  void *user;
  /* The reply ends where one of these texts appears, also across tokens; neither it nor what comes
   * after it is given to on_token (its tokens are read). UTF-8, at most 1024 of at most 4096 bytes.
   */
  const krafla_string *stops;
  size_t n_stops;
  int32_t logprobs; /* non-zero: the log-probabilities of krafla_token are set */
  int32_t n_top;    /* that many alternatives with each token, at most 64 */
  const struct krafla_speculation *speculation; /* krafla_batch.h; NULL: none */
  /* krafla_constraint.h; NULL: none. What the reply must be, and tokens that end it come only where
   * it is that. Made for the generation's tokenizer, else KRAFLA_E_UNSUPPORTED. */
  const struct krafla_constraint *constraint;
} krafla_generate_options;
#define KRAFLA_GENERATE_OPTIONS_INIT \
  { sizeof(krafla_generate_options), 0, NULL, 0, 0, 0, NULL, NULL, NULL, NULL, 0, 0, 0, NULL, NULL }

typedef struct krafla_generate_result {
  size_t struct_size;
  int64_t n_tokens; /* generated and read into the session; the end token is neither */
  int32_t finish;   /* KRAFLA_FINISH_* */
  int32_t end_id;   /* the token that ended it, or -1 */
  int32_t stop;     /* the index of the stop string that ended it, or -1 */
  int32_t unused;
  int64_t drafted;  /* tokens that speculation has proposed and read */
  int64_t accepted; /* and those that were right */
} krafla_generate_result;
#define KRAFLA_GENERATE_RESULT_INIT \
  { sizeof(krafla_generate_result), 0, 0, -1, -1, 0, 0, 0 }

/* Samples from the session's logits, reads the token, and so on. Text that was held back at the end
 * (the beginning of a stop string, a code point left incomplete, as U+FFFD) is given with one last
 * event of id -1. On a failure the tokens so far stay in
 * the session and result (may be NULL) tells how many. Returns what append and sample return. since
 * 1 */
KRAFLA_API int32_t krafla_session_generate(krafla_session *session, krafla_sampler *sampler,
                                           const krafla_generate_options *options,
                                           krafla_generate_result *result);
/* The same in time slices of krafla_session_step, in which on_token is called. The sampler may be
 * freed, not used, before the end. since 1 */
KRAFLA_API int32_t krafla_session_begin_generate(krafla_session *session, krafla_sampler *sampler,
                                                 const krafla_generate_options *options);
/* Of the generation that is begun, or else of the last one. since 1 */
KRAFLA_API int32_t krafla_session_get_result(const krafla_session *session,
                                             krafla_generate_result *result);

/* --- a thread of the library's own --- */

enum {
  KRAFLA_EVENT_PROMPT = 1, /* done of total positions are read */
  KRAFLA_EVENT_TOKEN = 2,
  KRAFLA_EVENT_END = 3 /* the last: code says how it went */
};

typedef struct krafla_event {
  size_t struct_size;
  int32_t kind;     /* KRAFLA_EVENT_* */
  int32_t code;     /* END: KRAFLA_OK, KRAFLA_E_CANCELLED, ... */
  int64_t done;     /* PROMPT */
  int64_t total;    /* PROMPT */
  int64_t n_tokens; /* END: generated */
  int64_t position; /* TOKEN */
  int32_t id;       /* TOKEN; -1: text held back until the end */
  int32_t finish;   /* END: KRAFLA_FINISH_*, 0 where it failed or nothing was to be generated */
  /* TOKEN: whole code points; END: the message of a failure. Valid until the next poll. */
  const char *text;
  size_t text_length;
  /* TOKEN, with krafla_generate_options.logprobs: as in krafla_token. Valid until the next poll. */
  float logprob;
  int32_t n_top;
  const int32_t *top_ids;
  const float *top_logprobs;
  float chain_logprob;
  int32_t n_chain_top;
  const int32_t *chain_top_ids;
  const float *chain_top_logprobs;
} krafla_event;
#define KRAFLA_EVENT_INIT \
  { sizeof(krafla_event), 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0, 0, 0, NULL, NULL, 0, 0, NULL, NULL }

/* Reads ids (n may be 0) and generates (sampler may be NULL: only reads) on a thread of the library
 * while the caller goes on. options->on_token must be NULL; NULL options mean the defaults. A
 * custom stage of the sampler is called on that thread. Until KRAFLA_EVENT_END has been polled
 * every other call on the session but cancel and free returns KRAFLA_E_STATE. since 1 */
KRAFLA_API int32_t krafla_session_start(krafla_session *session, const int32_t *ids, size_t n,
                                        krafla_sampler *sampler,
                                        const krafla_generate_options *options);
/* The next event; KRAFLA_PAUSED where there is none within wait_us microseconds (negative: waits
 * for one). From one thread at a time. KRAFLA_E_STATE where nothing was started. since 1 */
KRAFLA_API int32_t krafla_session_poll(krafla_session *session, krafla_event *event,
                                       int64_t wait_us);

#ifdef __cplusplus
}
#endif

#endif /* KRAFLA_KRAFLA_H_ */
