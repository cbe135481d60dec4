/* Fifty characters of a game: one system prompt is read once and forked, each character says a line
 * in slices of 2 ms a frame. Prints how long slices took. Usage: npc [MODEL.mlb [CHARACTERS
 * [TOKENS]]] */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */
#include <krafla/krafla.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_CHARACTERS 200
#define SLICE_US 2000
#define PROMPT 400 /* tokens */

static int64_t now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void must(int32_t code) {
  if (code >= 0) return;
  fprintf(stderr, "%s: %s\n", krafla_error_name(code), krafla_error_message());
  exit(1);
}

static int compare(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

typedef struct line {
  char text[400];
  size_t length;
} line;

static int on_token(void *user, const krafla_token *token) {
  line *l = user;
  size_t n = token->text_length;
  if (n > sizeof(l->text) - l->length) n = sizeof(l->text) - l->length;
  memcpy(l->text + l->length, token->text, n);
  l->length += n;
  return 0;
}

/* A system prompt of exactly PROMPT tokens. */
static void read_prompt(krafla_session *session, const krafla_model *model) {
  static const char kRules[] =
      "You are a person in the harbour town of Vik. Answer in one short sentence. The town has a "
      "market, a smithy, a lighthouse and an inn; ships bring wool, salt and news. ";
  static int32_t ids[PROMPT * 2];
  krafla_tokenizer *tokenizer = NULL;
  size_t n = 0, more = 0;
  must(krafla_tokenizer_from_model(&tokenizer, model));
  while (n < PROMPT) {
    must(krafla_tokenizer_encode(tokenizer, kRules, strlen(kRules), 0, ids + n, PROMPT * 2 - n,
                                 &more));
    n += more;
  }
  must(krafla_session_append(session, ids, PROMPT, NULL));
  krafla_tokenizer_free(tokenizer);
}

static void report(int64_t *slices, size_t n) {
  static const int64_t edges[] = {250, 500, 1000, 1500, 2000, 2500, 3000, 4000, 6000, 10000};
  size_t i, e, next = 0;
  qsort(slices, n, sizeof(*slices), compare);
  for (e = 0; e <= sizeof(edges) / sizeof(edges[0]); ++e) {
    const int last = e == sizeof(edges) / sizeof(edges[0]);
    for (i = next; i < n && (last || slices[i] <= edges[e]); ++i) {
    }
    if (last) {
      printf("  longer      %7zu\n", i - next);
    } else {
      printf("  to %5.2f ms %7zu\n", edges[e] / 1000.0, i - next);
    }
    next = i;
  }
  printf("%zu slices: median %.2f ms, 99 %% %.2f ms, longest %.2f ms\n", n, slices[n / 2] / 1000.0,
         slices[n - 1 - n / 100] / 1000.0, slices[n - 1] / 1000.0);
}

int main(int argc, char **argv) {
  const char *path = argc > 1 ? argv[1] : "models/smollm2-135m-instruct-q4.mlb";
  const int characters = argc > 2 ? atoi(argv[2]) : 50;
  const int tokens = argc > 3 ? atoi(argv[3]) : 16;
  static krafla_session *npcs[MAX_CHARACTERS];
  static krafla_sampler *samplers[MAX_CHARACTERS];
  static line lines[MAX_CHARACTERS];
  static int done[MAX_CHARACTERS];
  const size_t max_slices = 1000000;
  int64_t *slices = malloc(max_slices * sizeof(*slices));
  size_t n_slices = 0;
  int64_t fork_us = 0;
  int i, left = characters;
  krafla_model *model = NULL;
  krafla_session *base = NULL;
  krafla_runtime *runtime = NULL;
  krafla_runtime_info before, after;
  krafla_session_options options = KRAFLA_SESSION_OPTIONS_INIT;
  krafla_generate_options generate = KRAFLA_GENERATE_OPTIONS_INIT;
  if (slices == NULL || characters < 1 || characters > MAX_CHARACTERS) return 2;
  before.struct_size = after.struct_size = sizeof(before);
  options.context = PROMPT + 200;
  options.batch = 64;
  generate.max_tokens = tokens;
  generate.ignore_end = 1; /* so that runs compare */
  generate.on_token = on_token;

  must(krafla_runtime_create(&runtime, NULL));
  must(krafla_model_open_path(&model, runtime, path, strlen(path), NULL));
  must(krafla_session_create(&base, model, &options));
  read_prompt(base, model);

  must(krafla_runtime_get_info(runtime, &before));
  for (i = 0; i < characters; ++i) {
    const int64_t start = now_us();
    krafla_sampler_options seed = KRAFLA_SAMPLER_OPTIONS_INIT;
    const krafla_param warm = {"t", 0.9};
    must(krafla_session_fork(&npcs[i], base));
    fork_us += now_us() - start;
    seed.has_seed = 1;
    seed.seed = (uint64_t)i;
    must(krafla_sampler_create(&samplers[i], &seed));
    must(krafla_sampler_add(samplers[i], "temperature", 11, &warm, 1));
  }
  must(krafla_runtime_get_info(runtime, &after));
  printf("%d forks of %d tokens: %.0f us each, %llu bytes of KV copied\n", characters, PROMPT,
         (double)fork_us / characters, (unsigned long long)(after.kv_bytes - before.kv_bytes));
  for (i = 0; i < characters; ++i) {
    generate.user = &lines[i];
    must(krafla_session_begin_generate(npcs[i], samplers[i], &generate));
  }
  /* One frame: a slice for each character that still speaks. */
  while (left > 0) {
    for (i = 0; i < characters; ++i) {
      int64_t start;
      int32_t code;
      if (done[i]) continue;
      start = now_us();
      code = krafla_session_step(npcs[i], SLICE_US);
      if (n_slices < max_slices) slices[n_slices++] = now_us() - start;
      must(code);
      if (code == KRAFLA_PAUSED) continue;
      done[i] = 1;
      --left;
    }
  }
  for (i = 0; i < characters && i < 3; ++i) {
    printf("%d: %.*s\n", i, (int)lines[i].length, lines[i].text);
  }
  report(slices, n_slices);
  for (i = 0; i < characters; ++i) {
    krafla_session_free(npcs[i]);
    krafla_sampler_free(samplers[i]);
  }
  krafla_session_free(base);
  krafla_model_free(model);
  krafla_runtime_free(runtime);
  free(slices);
  return 0;
}
