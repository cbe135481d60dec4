/* Krafla: more tokens a pass. Speculation, where a text can be guessed: several tokens of one
 * reply. A scheduler, where there are many requests: a token of each, and pieces of prompts. Part
 * of the stable C ABI (krafla.h says what holds everywhere).
 *
 * Output never depends on either: tokens, text and random numbers are those of plain decoding. */
#ifndef KRAFLA_KRAFLA_BATCH_H_
#define KRAFLA_KRAFLA_BATCH_H_

#include "krafla/krafla.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- speculation --- */

enum {
  KRAFLA_SPECULATE_NONE = 0,
  KRAFLA_SPECULATE_LOOKUP = 1, /* what the text said after the same words before */
  KRAFLA_SPECULATE_MODEL = 2   /* what a smaller model says */
};

/* For krafla_generate_options.speculation. How far to guess is decided from what was right so far
 * and from what passes take; where it does not pay nothing is guessed. */
typedef struct krafla_speculation {
  size_t struct_size;
  int32_t kind;       /* KRAFLA_SPECULATE_* */
  int32_t max_tokens; /* of a guess; 0: 15, which is the most */
  /* MODEL: a session of a smaller model with the same vocabulary (else KRAFLA_E_UNSUPPORTED), whose
   * text is made to follow the generation's. It must live until the end of the generation and is in
   * use during its calls. */
  krafla_session *draft;
  int32_t always; /* non-zero: max_tokens each time, whether it pays or not */
  int32_t unused;
} krafla_speculation;
#define KRAFLA_SPECULATION_INIT \
  { sizeof(krafla_speculation), 0, 0, NULL, 0, 0 }

/* --- scheduler --- */

typedef struct krafla_scheduler krafla_scheduler;
typedef struct krafla_request krafla_request;

typedef struct krafla_scheduler_options {
  size_t struct_size;
  int64_t context;    /* positions of a request; 0: the smaller of 4096 and the model's maximum */
  int64_t rows;       /* positions of one pass; 0: 64 or twice `parallel`. More: prompts are read
                       * faster, tokens come less often meanwhile */
  int64_t parallel;   /* requests at work, fewer than rows; 0: 8 */
  int64_t queue;      /* requests that may wait for one of those places; 0: 1024 */
  int32_t kv;         /* KRAFLA_KV_* */
  int32_t own_thread; /* non-zero: works on a thread of the library; else in steps of the host */
  /* Texts of requests that have ended are kept within so many bytes, so that one that begins alike
   * reads only what is new. 0: 256 MiB, where has_cache_bytes is not set. */
  uint64_t cache_bytes;
  int32_t has_cache_bytes; /* non-zero: cache_bytes holds, 0 included: nothing is kept */
  int32_t unused;
  /* A folder (made where there is none) for the texts that these bytes have no room for, and for
   * all when the scheduler is freed: the next one goes on with them. It holds what was said, in
   * files for their owner alone; of one scheduler at a time. Files of other models there are left
   * alone. A file that is damaged or gone is a text that is read anew. Also KRAFLA_E_IO. */
  const char *folder; /* not terminated; NULL: none */
  size_t folder_length;
  uint64_t folder_bytes; /* of this model's files; 0: 4 GiB */
} krafla_scheduler_options;
#define KRAFLA_SCHEDULER_OPTIONS_INIT \
  { sizeof(krafla_scheduler_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0, 0 }

typedef struct krafla_request_options {
  size_t struct_size;
  int32_t priority; /* -100 to 100, the highest first; who waits 64 passes rises by one */
  int32_t unused;
} krafla_request_options;
#define KRAFLA_REQUEST_OPTIONS_INIT \
  { sizeof(krafla_request_options), 0, 0 }

typedef struct krafla_scheduler_info {
  size_t struct_size;
  int64_t running; /* requests */
  int64_t waiting;
  int64_t passes;
  int64_t prompt_tokens; /* read */
  int64_t reused_tokens; /* of prompts, not read because a text that was kept begins alike */
  int64_t reply_tokens;
  uint64_t cache_bytes; /* of texts that are kept */
  int64_t cached;       /* their number */
  uint64_t folder_bytes;
  int64_t in_folder; /* texts */
} krafla_scheduler_info;

typedef struct krafla_request_info {
  size_t struct_size;
  int64_t prompt_tokens;
  int64_t reused;   /* of these; -1 as long as it waits */
  int64_t n_tokens; /* generated so far */
} krafla_request_info;

/* The scheduler keeps the model. Also KRAFLA_E_BUDGET. since 1 */
KRAFLA_API int32_t krafla_scheduler_create(krafla_scheduler **out, const krafla_model *model,
                                           const krafla_scheduler_options *options);
/* Its requests end with KRAFLA_E_CANCELLED; they stay valid. since 1 */
KRAFLA_API void krafla_scheduler_free(krafla_scheduler *scheduler);
KRAFLA_API int32_t krafla_scheduler_get_info(const krafla_scheduler *scheduler,
                                             krafla_scheduler_info *info); /* since 1 */
/* Reads ids (at least one) and generates as krafla_session_generate would, with a copy of the
 * sampler (NULL: only reads, so that later requests find the text). Of generate (may be NULL)
 * on_token and speculation must be NULL: events are polled. Only the scheduler's own tokens are
 * sampled with it, so a sampler with a custom stage is KRAFLA_E_UNSUPPORTED. From any thread.
 * Also KRAFLA_E_CONTEXT, and KRAFLA_E_STATE where the queue is full. since 1 */
KRAFLA_API int32_t krafla_scheduler_add(krafla_request **out, krafla_scheduler *scheduler,
                                        const int32_t *ids, size_t n, const krafla_sampler *sampler,
                                        const krafla_generate_options *generate,
                                        const krafla_request_options *options);
/* Without a thread of its own: works as krafla_session_step does; KRAFLA_OK: nothing is left to do.
 * What a request cannot have (memory, an expert that cannot be read) is in its last event alone.
 * One thread at a time. since 1 */
KRAFLA_API int32_t krafla_scheduler_step(krafla_scheduler *scheduler, int64_t max_us);

/* The next event of one request: KRAFLA_EVENT_PROMPT, _TOKEN, at last _END. As krafla_session_poll,
 * from one thread at a time for each request. since 1 */
KRAFLA_API int32_t krafla_request_poll(krafla_request *request, krafla_event *event,
                                       int64_t wait_us);
/* From any thread: it ends with KRAFLA_E_CANCELLED before the next pass. since 1 */
KRAFLA_API int32_t krafla_request_cancel(krafla_request *request);
KRAFLA_API int32_t krafla_request_get_info(const krafla_request *request,
                                           krafla_request_info *info); /* since 1 */
/* Cancels it where it has not ended. since 1 */
KRAFLA_API void krafla_request_free(krafla_request *request);

#ifdef __cplusplus
}
#endif

#endif /* KRAFLA_KRAFLA_BATCH_H_ */
