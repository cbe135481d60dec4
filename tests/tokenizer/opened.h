// A tokenizer together with the aligned memory its table lies in, from the files in
// tests/data/tokenizer.
#ifndef KRAFLA_TESTS_TOKENIZER_OPENED_H_
#define KRAFLA_TESTS_TOKENIZER_OPENED_H_

#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "lib/tokenizer/table.h"
#include "lib/tokenizer/tokenizer.h"

namespace krafla {

// Exactly the table's bytes, so that a read beyond them is seen by AddressSanitizer.
class TableMemory {
 public:
  explicit TableMemory(std::string_view table) : size_(table.size()) {
    memory_.reset(static_cast<char*>(::operator new(size_, kAlignment)));
    std::memcpy(memory_.get(), table.data(), size_);
  }
  char* data() { return memory_.get(); }
  std::string_view view() const { return {memory_.get(), size_}; }

 private:
  static constexpr std::align_val_t kAlignment{kTokenizerTableAlignment};
  struct Free {
    void operator()(char* p) const { ::operator delete(p, kAlignment); }
  };
  size_t size_;
  std::unique_ptr<char, Free> memory_;
};

struct Opened {
  TableMemory memory;
  std::unique_ptr<Tokenizer> tokenizer;

  std::vector<int32_t> Encode(std::string_view text, bool add_special = false,
                              bool parse_special = false) const {
    std::vector<int32_t> ids;
    const Status status = tokenizer->Encode(text, add_special, parse_special, &ids);
    if (!status.ok()) ids = {-1};
    return ids;
  }
  std::string Decode(const std::vector<int32_t>& ids, bool skip_special = false) const {
    std::string text;
    const Status status = tokenizer->Decode(ids, skip_special, &text);
    return status.ok() ? text : "<error>";
  }
};

std::string ReadData(const std::string& name);  // a file of tests/data/tokenizer
Opened OpenSpec(const TokenizerSpec& spec);     // fails the test where that fails
Opened OpenData(const std::string& name);       // "kjv" -> kjv.json

}  // namespace krafla

#endif  // KRAFLA_TESTS_TOKENIZER_OPENED_H_
