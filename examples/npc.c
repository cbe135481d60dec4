/* Fifty people of a harbour town speak at once while a game draws its frames. Who they are is read
 * once and forked; each then says a line, thinking 2 ms a frame. Prints what three of them said and
 * how long the slices took. Usage: npc [MODEL.mlb [CHARACTERS [TOKENS]]] */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */
#include <krafla/krafla.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_CHARACTERS 200
#define MAX_SLICES 1000000
#define SLICE_US 2000
#define PROMPT 400 /* tokens */

static const char kTown[] =
    "You are a person in the harbour town of Vik. Answer in one short sentence. The town has a "
    "market, a smithy, a lighthouse and an inn; ships bring wool, salt and news. ";

static const char *const kPeople[] = {"smith",       "innkeeper", "keeper of the light",
                                      "wool trader", "fishwife",  "old sailor"};

typedef struct character {
  const char *who;
  krafla_session *mind;
  krafla_sampler *mood;
  char line[400]; /* what it has said so far */
  size_t length;
  int silent; /* it has said all */
} character;

static character town[MAX_CHARACTERS];
static int64_t slices[MAX_SLICES]; /* how long each took, in microseconds */
static size_t n_slices;

static void must(int32_t code) {
  if (code >= 0) return;
  fprintf(stderr, "%s: %s\n", krafla_error_name(code), krafla_error_message());
  exit(1);
}

static int64_t now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* The session that all minds begin as. The town is told until it fills the prompt. */
static krafla_session *read_town(const krafla_model *model) {
  krafla_session *base = NULL;
  krafla_session_options options = KRAFLA_SESSION_OPTIONS_INIT;
  krafla_session_info info = {sizeof(info), 0, 0, 0, 0, 0};
  options.context = 2 * PROMPT;
  options.batch = 64;
  must(krafla_session_create(&base, model, &options));
  while (info.length < PROMPT) {
    must(krafla_session_append_text(base, kTown, strlen(kTown), 0, NULL));
    must(krafla_session_get_info(base, &info));
  }
  must(krafla_session_truncate(base, PROMPT));
  return base;
}

/* Each character is a fork, which copies none of what was read. Equal people differ in their moods.
 */
static void wake(int n, const krafla_session *base, const krafla_runtime *runtime) {
  const krafla_param warm = {"t", 0.9};
  krafla_runtime_info before = {0}, after;
  int64_t us = 0;
  before.struct_size = sizeof(before);
  after = before;
  must(krafla_runtime_get_info(runtime, &before));
  for (int i = 0; i < n; ++i) {
    krafla_sampler_options seed = KRAFLA_SAMPLER_OPTIONS_INIT;
    const int64_t start = now_us();
    must(krafla_session_fork(&town[i].mind, base));
    us += now_us() - start;
    town[i].who = kPeople[(size_t)i % (sizeof(kPeople) / sizeof(kPeople[0]))];
    seed.has_seed = 1;
    seed.seed = (uint64_t)i;
    must(krafla_sampler_create(&town[i].mood, &seed));
    must(krafla_sampler_add(town[i].mood, "temperature", 11, &warm, 1));
  }
  must(krafla_runtime_get_info(runtime, &after));
  printf("%d forks of %d tokens: %.0f us each, %llu bytes of KV copied\n", n, PROMPT,
         (double)us / n, (unsigned long long)(after.kv_bytes - before.kv_bytes));
}

static int hear(void *user, const krafla_token *token) {
  character *c = user;
  const size_t room = sizeof(c->line) - c->length;
  const size_t n = token->text_length < room ? token->text_length : room;
  if (n > 0) memcpy(c->line + c->length, token->text, n);
  c->length += n;
  return 0;
}

static void begin_to_speak(character *c, int tokens) {
  krafla_generate_options options = KRAFLA_GENERATE_OPTIONS_INIT;
  char cue[80];
  const int length = snprintf(cue, sizeof(cue), "\n\nThe %s says: \"", c->who);
  must(krafla_session_append_text(c->mind, cue, (size_t)length, 0, NULL));
  options.max_tokens = tokens;
  options.ignore_end = 1; /* so that runs compare */
  options.on_token = hear;
  options.user = c;
  must(krafla_session_begin_generate(c->mind, c->mood, &options));
}

/* A slice for each one that still speaks; how many do. A game would draw now. */
static int frame(int n) {
  int speaking = 0;
  for (int i = 0; i < n; ++i) {
    if (town[i].silent) continue;
    const int64_t start = now_us();
    const int32_t code = krafla_session_step(town[i].mind, SLICE_US);
    if (n_slices < MAX_SLICES) slices[n_slices++] = now_us() - start;
    must(code);
    town[i].silent = code != KRAFLA_PAUSED;
    speaking += !town[i].silent;
  }
  return speaking;
}

static int compare(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void report(void) {
  static const int64_t edges[] = {250, 500, 1000, 1500, 2000, 2500, 3000, 4000, 6000, 10000};
  size_t i = 0;
  qsort(slices, n_slices, sizeof(*slices), compare);
  for (size_t e = 0; e < sizeof(edges) / sizeof(edges[0]); ++e) {
    const size_t first = i;
    while (i < n_slices && slices[i] <= edges[e]) ++i;
    printf("  to %5.2f ms %7zu\n", edges[e] / 1000.0, i - first);
  }
  printf("  longer      %7zu\n", n_slices - i);
  printf("%zu slices: median %.2f ms, 99 %% %.2f ms, longest %.2f ms\n", n_slices,
         slices[n_slices / 2] / 1000.0, slices[n_slices - 1 - n_slices / 100] / 1000.0,
         slices[n_slices - 1] / 1000.0);
}

int main(int argc, char **argv) {
  const char *path = argc > 1 ? argv[1] : "models/smollm2-135m-instruct-q4.mlb";
  const int n = argc > 2 ? atoi(argv[2]) : 50;
  const int tokens = argc > 3 ? atoi(argv[3]) : 16;
  krafla_runtime *runtime = NULL;
  krafla_model *model = NULL;
  krafla_session *base = NULL;
  if (n < 1 || n > MAX_CHARACTERS) return 2;
  must(krafla_runtime_create(&runtime, NULL));
  must(krafla_model_open_path(&model, runtime, path, strlen(path), NULL));
  base = read_town(model);
  wake(n, base, runtime);
  for (int i = 0; i < n; ++i) begin_to_speak(&town[i], tokens);
  while (frame(n) > 0) {
  }
  for (int i = 0; i < n && i < 3; ++i) {
    printf("The %s: %.*s\n", town[i].who, (int)town[i].length, town[i].line);
  }
  report();
  for (int i = 0; i < n; ++i) {
    krafla_session_free(town[i].mind);
    krafla_sampler_free(town[i].mood);
  }
  krafla_session_free(base);
  krafla_model_free(model);
  krafla_runtime_free(runtime);
  return 0;
}
