// The Unicode forms NFC, NFD, NFKC and NFKD, as Hugging Face's tables (Unicode 9) have them.
#ifndef KRAFLA_LIB_TOKENIZER_NORMALIZER_FORMS_H_
#define KRAFLA_LIB_TOKENIZER_NORMALIZER_FORMS_H_

#include "lib/tokenizer/spec.h"
#include "lib/tokenizer/trusted_text.h"

namespace krafla {

// form: kNfc, kNfd, kNfkc or kNfkd. Appends to *out.
void NormalizeForm(StepKind form, const TrustedText& in, TrustedText* out);

}  // namespace krafla

#endif  // KRAFLA_LIB_TOKENIZER_NORMALIZER_FORMS_H_
