// A GGUF in several files, NAME-00001-of-00003.gguf and so on: the first has the key values, each
// has some of the tensors.
#ifndef KRAFLA_LIB_CONVERT_GGUF_SPLIT_H_
#define KRAFLA_LIB_CONVERT_GGUF_SPLIT_H_

#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/convert/checkpoint.h"
#include "lib/convert/gguf.h"

namespace krafla {

// Where `first`, opened from `path`, says that it is one of several, opens the others beside it;
// their tensors go into *checkpoint, their paths to the end of *inputs. FileError: not the first
// part, a part that is missing or says otherwise, a count of tensors that is wrong.
Status OpenGgufParts(const GgufFile& first, const std::string& path, Checkpoint* checkpoint,
                     std::vector<std::string>* inputs);

}  // namespace krafla

#endif  // KRAFLA_LIB_CONVERT_GGUF_SPLIT_H_
