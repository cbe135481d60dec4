/* Krafla: faster decoding. Speculation, where a text can be guessed: several tokens are read in one
 * pass. Part of the stable C ABI (krafla.h says what holds everywhere).
 *
 * Output never depends on it: tokens, text and random numbers are those of plain decoding. */
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

#ifdef __cplusplus
}
#endif

#endif /* KRAFLA_KRAFLA_BATCH_H_ */
