// A driver for oracle.py: JSON lines on stdin and stdout, as `ml_eval tokenize` speaks them, with
// pieces and timing on top.
//   tokenize_lines --json tokenizer.json [tokenizer_config.json]
//   tokenize_lines --gguf dump.json        GgufTokenizerData as JSON
// {"text", "special": false, "parse_special": false} gives {"ids"}, and so does
// {"pieces": [["text", true], ...]}; {"decode": [ids]} gives {"hex"}; an error gives {"error"}.
#include <fmt/format.h>
#include <simdjson.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>

#include "lib/convert/tokenizer_gguf.h"
#include "lib/convert/tokenizer_json.h"
#include "lib/tokenizer/table.h"
#include "lib/tokenizer/tokenizer.h"
#include "tests/tokenizer/opened.h"

namespace krafla {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;

std::string ReadAll(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <typename T>
std::optional<T> Optional(const element& e, std::string_view key) {
  T value;
  if (e[key].get(value) != simdjson::SUCCESS) return std::nullopt;
  return value;
}

StatusOr<TokenizerSpec> ReadDump(const std::string& text) {
  simdjson::dom::parser parser;
  element root;
  if (parser.parse(text).get(root) != simdjson::SUCCESS) return ArgumentError("bad dump");
  GgufTokenizerData data;
  data.model = Optional<std::string_view>(root, "model").value_or("");
  data.pre = Optional<std::string_view>(root, "pre").value_or("");
  for (element e : array(root["tokens"])) data.tokens.emplace_back(std::string_view(e));
  for (element e : array(root["token_types"])) {
    data.token_types.push_back(static_cast<int32_t>(int64_t(e)));
  }
  array list;
  if (root["merges"].get(list) == simdjson::SUCCESS) {
    for (element e : list) data.merges.emplace_back(std::string_view(e));
  }
  if (root["scores"].get(list) == simdjson::SUCCESS) {
    for (element e : list) data.scores.push_back(static_cast<float>(double(e)));
  }
  data.bos_id = Optional<int64_t>(root, "bos_id");
  data.eos_id = Optional<int64_t>(root, "eos_id");
  data.unk_id = Optional<int64_t>(root, "unk_id");
  data.add_eos = Optional<bool>(root, "add_eos");
  data.add_bos = Optional<bool>(root, "add_bos");
  data.add_space_prefix = Optional<bool>(root, "add_space_prefix");
  return TokenizerSpecFromGguf(data);
}

std::string Answer(const Tokenizer& tokenizer, const element& line) {
  std::vector<int32_t> ids;
  array list;
  Status status;
  const std::clock_t start = std::clock();
  if (line["decode"].get(list) == simdjson::SUCCESS) {
    for (element e : list) ids.push_back(static_cast<int32_t>(int64_t(e)));
    std::string text;
    status = tokenizer.Decode(ids, false, &text);
    if (status.ok()) {
      std::string hex;
      for (unsigned char c : text) fmt::format_to(std::back_inserter(hex), "{:02x}", c);
      return "{\"hex\":\"" + hex + "\"}";
    }
  } else if (line["pieces"].get(list) == simdjson::SUCCESS) {
    std::vector<TextPiece> pieces;
    for (element e : list) pieces.push_back({std::string_view(e.at(0)), bool(e.at(1))});
    status = tokenizer.EncodePieces(pieces, Optional<bool>(line, "special").value_or(false), &ids);
  } else {
    status = tokenizer.Encode(Optional<std::string_view>(line, "text").value_or(""),
                              Optional<bool>(line, "special").value_or(false),
                              Optional<bool>(line, "parse_special").value_or(false), &ids);
  }
  if (!status.ok()) return fmt::format("{{\"error\":\"{}\"}}", Message(status));
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  std::string out = fmt::format("{{\"seconds\":{:.6f},\"ids\":[", seconds);
  for (size_t i = 0; i < ids.size(); ++i) {
    fmt::format_to(std::back_inserter(out), "{}{}", i == 0 ? "" : ",", ids[i]);
  }
  return out + "]}";
}

int Run(int argc, char** argv) {
  if (argc != 3 && argc != 4) return 2;
  const std::string text = ReadAll(argv[2]), config = argc == 4 ? ReadAll(argv[3]) : "";
  StatusOr<TokenizerSpec> spec =
      std::strcmp(argv[1], "--gguf") == 0 ? ReadDump(text) : TokenizerSpecFromJson(text, config);
  StatusOr<std::string> table = spec.ok() ? WriteTokenizerTable(*spec) : spec.status();
  if (!table.ok()) {
    fmt::print(stderr, "{}\n", Message(table.status()));
    return 1;
  }
  const TableMemory memory(*table);
  const std::clock_t start = std::clock();
  auto tokenizer = Tokenizer::Open(memory.view());
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  if (!tokenizer.ok()) {
    fmt::print(stderr, "{}\n", Message(tokenizer.status()));
    return 1;
  }
  fmt::print(stderr, "table of {} bytes, opened in {:.2f} ms\n", table->size(), 1e3 * seconds);
  simdjson::dom::parser parser;
  for (std::string line; std::getline(std::cin, line);) {
    element e;
    if (parser.parse(line).get(e) != simdjson::SUCCESS) {
      fmt::print("{{\"error\":\"not JSON\"}}\n");
    } else {
      fmt::print("{}\n", Answer(**tokenizer, e));
    }
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace krafla

int main(int argc, char** argv) { return krafla::Run(argc, argv); }
