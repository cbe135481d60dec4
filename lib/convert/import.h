// What a conversion needs from its input, whatever the input is: the tensors, the architecture and
// its configuration, the tokenizer's table and the chat template.
#ifndef KRAFLA_LIB_CONVERT_IMPORT_H_
#define KRAFLA_LIB_CONVERT_IMPORT_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/convert/checkpoint.h"
#include "lib/model/arch.h"
#include "lib/model/config.h"

namespace krafla {

struct Import {
  bool gguf = false;  // which of a TensorSpec's names are meant; also names the format in messages
  Checkpoint checkpoint;
  const Arch* arch = nullptr;
  Config config;                     // validated; tied_head as the input says
  std::string tokenizer_table;       // empty: none
  std::string chat_template;         // empty: none
  std::vector<std::string> inputs;   // every file that was read
  std::vector<std::string> skipped;  // parts of the checkpoint that are not the text model

  std::string_view format() const { return gguf ? "gguf" : "hf"; }
};

// A folder with config.json, model.safetensors (or shards and their index) and, where present,
// tokenizer.json, tokenizer_config.json, generation_config.json, chat_template.jinja.
Status ImportHf(const std::string& folder, Import* import);
// Of a split GGUF `path` is the first part. A source of another kind than a file has one part.
Status ImportGguf(const std::string& path, Import* import);
Status ImportGguf(std::unique_ptr<FileSource> source, Import* import);
// tokenizer.json and, beside it, what else a folder has for the template.
Status ImportTokenizer(const std::string& path, Import* import);

// The file's bytes; an absent file is a NotFoundError.
StatusOr<std::string> ReadTextFile(const std::string& path, uint64_t limit);

}  // namespace krafla

#endif  // KRAFLA_LIB_CONVERT_IMPORT_H_
