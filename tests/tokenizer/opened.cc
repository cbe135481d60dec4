// The way from a tokenizer.json in the test data to an open tokenizer.
#include "tests/tokenizer/opened.h"

#include <fstream>

#include "lib/convert/tokenizer_json.h"
#include "tests/support/catch.h"

namespace krafla {

std::string ReadData(const std::string& name) {
  std::ifstream file(std::string(KRAFLA_TEST_DATA) + "/tokenizer/" + name, std::ios::binary);
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}

Opened OpenSpec(const TokenizerSpec& spec) {
  StatusOr<std::string> table = WriteTokenizerTable(spec);
  INFO(Message(table.status()));
  REQUIRE(table.ok());
  Opened opened{TableMemory(*table), nullptr};
  auto tokenizer = Tokenizer::Open(opened.memory.view());
  INFO(Message(tokenizer.status()));
  REQUIRE(tokenizer.ok());
  opened.tokenizer = *std::move(tokenizer);
  return opened;
}

Opened OpenData(const std::string& name) {
  StatusOr<TokenizerSpec> spec = TokenizerSpecFromJson(ReadData(name + ".json"), "");
  INFO(name << ": " << Message(spec.status()));
  REQUIRE(spec.ok());
  return OpenSpec(*spec);
}

}  // namespace krafla
