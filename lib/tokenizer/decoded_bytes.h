// What a token decodes to, worked out once, when the table is written, so that decoding a text only
// copies bytes.
#ifndef KRAFLA_LIB_TOKENIZER_DECODED_BYTES_H_
#define KRAFLA_LIB_TOKENIZER_DECODED_BYTES_H_

#include <span>
#include <string>

#include "lib/tokenizer/spec.h"

namespace krafla {

// The bytes of a token with this text after a decoder's steps, but for those that need the text
// around it.
std::string DecodedBytes(std::span<const Step> decoder, std::string text);

}  // namespace krafla

#endif  // KRAFLA_LIB_TOKENIZER_DECODED_BYTES_H_
