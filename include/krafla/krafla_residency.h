/* Krafla: models larger than memory. The experts of a mixture are read from the file as they are
 * wanted, into slots within a budget; all other weights are in memory. A model without experts has
 * its layers in their place: what is said of experts holds for them. Part of the stable C ABI
 * (krafla.h says what holds everywhere).
 *
 * Output never depends on it: logits and tokens are those of the whole model in memory, whatever
 * the budget, the reader and the time at which the slots become fewer. An expert that cannot be
 * read (KRAFLA_E_IO, KRAFLA_E_FILE: the message names it and its offset) fails the call that wanted
 * it and leaves the session as it was. */
#ifndef KRAFLA_KRAFLA_RESIDENCY_H_
#define KRAFLA_KRAFLA_RESIDENCY_H_

#include "krafla/krafla.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  KRAFLA_READ_AUTO =
      0, /* through the page cache where the file fits beside the slots, else past it */
  KRAFLA_READ_URING = 1,     /* io_uring, past the page cache (Linux) */
  KRAFLA_READ_POOL = 2,      /* threads, past the page cache */
  KRAFLA_READ_PAGE_CACHE = 3 /* threads, through the page cache */
};

/* For krafla_model_options.residency, of krafla_model_open_path and _fd; `load` is then ignored. */
typedef struct krafla_residency_options {
  size_t struct_size;
  /* Bytes of all weights in memory, and of what sessions take for scratch beyond 32 MiB each; 0:
   * what system and cgroup can spare. Less than the least (krafla_plan.least_budget) is
   * KRAFLA_E_BUDGET.
   */
  uint64_t budget;
  int32_t reader; /* KRAFLA_READ_*; one asked for by name that is not there: KRAFLA_E_UNSUPPORTED */
  /* Non-zero: the slots stay as many as they are when memory runs short; the host trims. */
  int32_t ignore_pressure;
  /* A file, best one for each model file, that keeps which experts are used most: read when the
   * model is opened, so that these are in memory first, written when it is closed. May be NULL. */
  const char *heat_map;
  size_t heat_map_length;
  /* After the slots have become fewer or more, in bytes; pressure: 1 where memory was short or is
   * no longer. From any thread; it must not call the library. May be NULL. */
  void (*on_resize)(void *user, uint64_t before, uint64_t after, int32_t pressure);
  void *user;
} krafla_residency_options;
#define KRAFLA_RESIDENCY_OPTIONS_INIT \
  { sizeof(krafla_residency_options), 0, 0, 0, NULL, 0, NULL, NULL }

typedef struct krafla_residency_info {
  size_t struct_size;
  int32_t reader;       /* KRAFLA_READ_* that is used */
  int32_t whole_layers; /* 1: the model has no experts, `experts` and `slots` count layers */
  uint64_t budget;
  uint64_t dense_bytes; /* of weights that are always in memory */
  uint64_t slab_bytes;  /* of the slots' memory */
  uint64_t slot_bytes;  /* of one */
  uint64_t slots;
  uint64_t resident;   /* experts in memory */
  uint64_t experts;    /* of all layers */
  uint64_t hits;       /* experts that a layer of a pass wanted and that were there */
  uint64_t misses;     /* and that had to be read */
  uint64_t prefetched; /* read before they were wanted */
  uint64_t evictions;
  uint64_t bytes_read;
  uint64_t read_ns;  /* in which something was being read */
  uint64_t stall_ns; /* in which a pass could do nothing but wait */
  uint64_t shrinks;  /* times that the slots became fewer */
  uint64_t grows;
  uint64_t errors; /* experts that could not be read */
  /* Absent experts that a layer was expected to want, and those of them that it did: where these
   * are few or the disk is busy, nothing is read ahead for a while. */
  uint64_t expected;
  uint64_t expected_right;
} krafla_residency_info;

/* KRAFLA_E_STATE where the model was opened without krafla_model_options.residency. since 1 */
KRAFLA_API int32_t krafla_model_get_residency(const krafla_model *model,
                                              krafla_residency_info *info);
/* From now on the slots have at most so many bytes (UINT64_MAX: what the budget allows), but no
 * fewer than a pass needs; *left (may be NULL): those that they have. Slots in use go back within
 * the millisecond that their use takes. From any thread. KRAFLA_E_STATE as above. since 1 */
KRAFLA_API int32_t krafla_model_trim(const krafla_model *model, uint64_t bytes, uint64_t *left);

#ifdef __cplusplus
}
#endif

#endif /* KRAFLA_KRAFLA_RESIDENCY_H_ */
