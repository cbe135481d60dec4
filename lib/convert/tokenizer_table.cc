// Opens what was made before anything is written: a table may be sound while this build cannot run
// it (a pattern that it does not compile), and that is an error of the conversion, not of each
// load.
#include "lib/convert/tokenizer_table.h"

#include <cstring>
#include <memory>
#include <new>

#include "lib/tokenizer/table.h"
#include "lib/tokenizer/tokenizer.h"

namespace krafla {
namespace {

constexpr std::align_val_t kAlignment{kTokenizerTableAlignment};

struct FreeAligned {
  void operator()(char* memory) const { ::operator delete(memory, kAlignment); }
};

}  // namespace

StatusOr<std::string> MakeTokenizerTable(const TokenizerSpec& spec) {
  KRAFLA_ASSIGN_OR_RETURN(std::string table, WriteTokenizerTable(spec));
  const std::unique_ptr<char, FreeAligned> memory(
      static_cast<char*>(::operator new(table.size(), kAlignment)));
  std::memcpy(memory.get(), table.data(), table.size());
  KRAFLA_RETURN_IF_ERROR(Tokenizer::Open({memory.get(), table.size()}).status());
  return table;
}

}  // namespace krafla
