/* Krafla's tool functions: convert, check, measure. libkrafla-tools exports them beside all of
 * krafla.h. UNSTABLE: not part of ABI 1; they may change with any release. The rules of krafla.h
 * hold. */
#ifndef KRAFLA_KRAFLA_TOOLS_H_
#define KRAFLA_KRAFLA_TOOLS_H_

#include "krafla/krafla.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  KRAFLA_CONVERT_HF = 1,       /* a folder with config.json and safetensors -> .mlb */
  KRAFLA_CONVERT_GGUF = 2,     /* a GGUF file -> .mlb */
  KRAFLA_CONVERT_TOKENIZER = 3 /* a tokenizer.json -> .mlt */
};

typedef struct krafla_convert_options {
  size_t struct_size;
  int32_t kind; /* KRAFLA_CONVERT_* */
  int32_t unused;
  const char *input;  /* paths and names here are terminated UTF-8 */
  const char *output; /* written under a temporary name, synced, renamed; never the input */
  const char *wtype;  /* "f32" "bf16" "f16" "q8" "q4", affine "q4a" "q6a" "q8a" (groups of 32)
                       * "q4a64" "q6a64" "q8a64"; NULL: "q8" */
  /* Comma-separated exceptions kept at q8: q k v o gate up down embed head; NULL: none. */
  const char *q8;
  /* In bytes written; non-zero: KRAFLA_E_CALLBACK. */
  int (*progress)(void *user, uint64_t done, uint64_t total);
  void *user;
  /* Non-zero: nothing is written; `sizes` is told what would be, one line for the tensors of each
   * class in each format, then "tokenizer", "template", "header", the "file" as a whole, and the
   * "least memory" with which krafla_model_options.residency runs it. Names
   * live during the call; non-zero: KRAFLA_E_CALLBACK. Parts of the checkpoint that are not the
   * text model come first, in a conversion too: "skipped vision_tower." */
  int32_t dry_run;
  /* Non-zero: works in "<output>.partial", which a process that is killed or stopped by `progress`
   * leaves. The same call goes on from there and gives the same bytes; a call with other inputs or
   * options discards it. */
  int32_t resume;
  int32_t threads; /* 0: one a physical core. The bytes do not depend on it. */
  int32_t unused2;
  int (*sizes)(void *user, const char *what, const char *format, uint64_t n_tensors,
               uint64_t bytes);
  /* Error feedback for the matrices in q4, from what the model computes on a text: its own, which
   * it writes by itself (self_calib non-zero), or that of the file `calib` (UTF-8; at least 2,048
   * tokens). Takes a copy of the model in f32 beside the output for as long as it lasts. */
  int32_t self_calib;
  int32_t calib_sequences; /* of 256 tokens; 0: 32 */
  uint64_t calib_seed;     /* where has_calib_seed; else 1 */
  int32_t has_calib_seed;
  int32_t unused3;
  const char *calib; /* a path; NULL: none */
  /* How q4a, q6a and q8a find scale and zero: "ls" (least squares) or "hqq"; NULL: "ls". */
  const char *solver;
  /* Formats of classes, over wtype and q8: "attention=q8,head=q6a" (the classes of q8, attention
   * for q k v o, ffn for gate up down); NULL: none. */
  const char *formats;
  /* "q4+10%q6a": q4 in place of wtype, and the matrices that need it most in q6a, until a tenth of
   * the bytes is spent that q6a for all would take; NULL: none. `sizes` is told each one and why.
   * target_size (bytes of the file; 0: none) takes the place of the percentage: "q4+q6a". */
  const char *mix;
  uint64_t target_size;
  /* What decides: "divergence" of the model's predictions on its own text with that matrix alone
   * in the lower format, or its "class"; NULL: divergence unless that would take hours. */
  const char *mix_score;
} krafla_convert_options;
#define KRAFLA_CONVERT_OPTIONS_INIT                                                                \
  {                                                                                                \
    sizeof(krafla_convert_options), 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, NULL, 0, \
        0, 0, 0, 0, NULL, NULL, NULL, NULL, 0, NULL                                                \
  }

/* Only a complete file appears under the output's name. Returns also KRAFLA_E_IO, KRAFLA_E_FILE,
 * KRAFLA_E_UNSUPPORTED, KRAFLA_E_NOT_FOUND, KRAFLA_E_CALLBACK; KRAFLA_E_ARGUMENT where the output
 * is one of the inputs. */
KRAFLA_API int32_t krafla_convert(const krafla_convert_options *options);

/* Reads a .mlb or .mlt whole and compares every checksum, shape and table. progress: in bytes;
 * non-zero: KRAFLA_E_CALLBACK. Returns also KRAFLA_E_IO, KRAFLA_E_FILE, KRAFLA_E_UNSUPPORTED,
 * KRAFLA_E_NOT_FOUND. */
KRAFLA_API int32_t krafla_check_file(const char *path, size_t path_length,
                                     int (*progress)(void *user, uint64_t done, uint64_t total),
                                     void *user);

typedef struct krafla_perplexity {
  size_t struct_size;
  double perplexity;
  uint64_t targets;
  double mean_nll; /* nats */
} krafla_perplexity;

/* The text is tokenised once without special tokens and cut into chunks of `context`, the
 * incomplete last one dropped; positions context/2 .. context-2 of each are scored, one mean over
 * all. Where the tokenizer adds BOS, a chunk is BOS + context-1 tokens. A text shorter than one
 * chunk: KRAFLA_E_ARGUMENT, and so is a `context` of 1 to 3; 0: 512. tokenizer may be NULL: the
 * model's own. */
KRAFLA_API int32_t krafla_measure_perplexity(
    krafla_perplexity *out, const krafla_model *model, const krafla_tokenizer *tokenizer,
    const char *text, size_t length, const krafla_session_options *session_options,
    int (*progress)(void *user, uint64_t done, uint64_t total), void *user);

typedef struct krafla_drift_options {
  size_t struct_size;
  const krafla_session_options *reference; /* NULL: the defaults; its context is not looked at */
  const krafla_session_options *model;     /* context: of a chunk; 0: 512 */
  int64_t from; /* first position of a chunk that is scored, where has_from; else context / 2 */
  int32_t has_from;
  int32_t top_k;      /* 0: 10 */
  int64_t max_chunks; /* 0: the whole text */
  /* A file for the reference's log-probabilities, so that it runs once for many models: made where
   * there is none of this model, text and options. NULL: none. Terminated UTF-8. */
  const char *cache;
  int (*progress)(void *user, uint64_t done, uint64_t total); /* in tokens */
  void *user;
} krafla_drift_options;
#define KRAFLA_DRIFT_OPTIONS_INIT \
  { sizeof(krafla_drift_options), NULL, NULL, 0, 0, 0, 0, NULL, NULL, NULL }

typedef struct krafla_drift {
  size_t struct_size;
  uint64_t targets;
  double kl_mean, kl_error; /* of log(p / q) over the reference's p, nats; error of the mean */
  double kl_median, kl_p99, kl_max;
  double top1;  /* share of the targets for which both models have the same first choice */
  double top_k; /* for which the reference's is among the model's top_k */
  double reference_perplexity, perplexity;
  /* Mean of the model's -log q(target) less the reference's, and the error of that mean: pairs of
   * the same token. Errors come from the means of the chunks; 0 where there is one. */
  double nll_difference, nll_difference_error;
} krafla_drift;

/* Both models read the text, cut as for krafla_measure_perplexity, and are compared at each scored
 * position. Returns also KRAFLA_E_CALLBACK, KRAFLA_E_IO; KRAFLA_E_ARGUMENT where the vocabularies
 * differ or the text is shorter than one chunk. tokenizer may be NULL: the reference's own. */
KRAFLA_API int32_t krafla_measure_drift(krafla_drift *out, const krafla_model *reference,
                                        const krafla_model *model,
                                        const krafla_tokenizer *tokenizer, const char *text,
                                        size_t length, const krafla_drift_options *options);

typedef struct krafla_match {
  size_t struct_size;
  int64_t prompts, tokens; /* generated for each */
  double mean;             /* tokens before the first that differs */
  int64_t least;
  int64_t complete; /* prompts without a difference */
} krafla_match;

/* `prompts` pieces of 64 tokens from all over the text; both models continue each by `tokens` of
 * their likeliest tokens. options: reference, model, progress (in prompts), user. 0: 8 prompts, 64
 * tokens. Returns what krafla_measure_drift does. */
KRAFLA_API int32_t krafla_measure_match(krafla_match *out, const krafla_model *reference,
                                        const krafla_model *model,
                                        const krafla_tokenizer *tokenizer, const char *text,
                                        size_t length, int64_t prompts, int64_t tokens,
                                        const krafla_drift_options *options);

/* A sentence with a number stands at `depths` depths, evenly spread over as much of the text as
 * fills the session's context; *found: how often the model, asked for it at the end, tells it. */
KRAFLA_API int32_t krafla_measure_needle(int64_t *found, const krafla_model *model,
                                         const krafla_tokenizer *tokenizer, const char *text,
                                         size_t length, int64_t depths,
                                         const krafla_session_options *session_options,
                                         int (*progress)(void *user, uint64_t done, uint64_t total),
                                         void *user);

/* Bytes a second that `threads` threads read from `bytes` of memory in large pages with this
 * build's widest loads (the best of several passes). */
KRAFLA_API int32_t krafla_measure_read(double *bytes_per_second, int32_t threads, uint64_t bytes);
/* Likewise over the model's own weights, in whatever pages they lie. */
KRAFLA_API int32_t krafla_measure_weights_read(double *bytes_per_second, const krafla_model *model,
                                               int32_t threads);
/* Int8 multiply-adds a second of this build's dot product on `threads` threads. */
KRAFLA_API int32_t krafla_measure_int8(double *macs_per_second, int32_t threads);

#ifdef __cplusplus
}
#endif

#endif /* KRAFLA_KRAFLA_TOOLS_H_ */
