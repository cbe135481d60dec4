// The table of a tokenizer that a checkpoint describes, known to open: every form of input makes
// it here, so that no conversion writes a tokenizer that no program can use.
#ifndef KRAFLA_LIB_CONVERT_TOKENIZER_TABLE_H_
#define KRAFLA_LIB_CONVERT_TOKENIZER_TABLE_H_

#include <string>

#include "lib/base/status.h"
#include "lib/tokenizer/spec.h"

namespace krafla {

// Errors: those of WriteTokenizerTable and of Tokenizer::Open.
StatusOr<std::string> MakeTokenizerTable(const TokenizerSpec& spec);

}  // namespace krafla

#endif  // KRAFLA_LIB_CONVERT_TOKENIZER_TABLE_H_
