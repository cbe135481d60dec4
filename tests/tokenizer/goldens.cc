// Ids and decoded text against Hugging Face's library: goldens.jsonl, written by make_goldens.py,
// holds fifty strings for each of twenty-one tokenizers, with special tokens read or not and added
// or not.
#include <simdjson.h>

#include <map>
#include <sstream>

#include "lib/base/utf8.h"
#include "tests/support/catch.h"
#include "tests/tokenizer/opened.h"

namespace krafla {
namespace {

using simdjson::dom::element;

struct Golden {
  std::string tokenizer, text, decoded;
  bool special, parse_special;
  std::vector<int32_t> ids;
};

std::vector<Golden> ReadGoldens() {
  std::vector<Golden> goldens;
  std::istringstream lines(ReadData("goldens.jsonl"));
  simdjson::dom::parser parser;
  for (std::string line; std::getline(lines, line);) {
    const element e = parser.parse(line);
    Golden g{std::string(std::string_view(e["tokenizer"])),
             std::string(std::string_view(e["text"])),
             std::string(std::string_view(e["decoded"])),
             bool(e["special"]),
             bool(e["parse_special"]),
             {}};
    for (element id : simdjson::dom::array(e["ids"])) {
      g.ids.push_back(static_cast<int32_t>(int64_t(id)));
    }
    goldens.push_back(std::move(g));
  }
  return goldens;
}

}  // namespace

TEST_CASE("ids and decoded text equal Hugging Face's") {
  std::map<std::string, Opened> opened;
  const std::vector<Golden> goldens = ReadGoldens();
  REQUIRE(goldens.size() == 1050);
  for (const Golden& g : goldens) {
    if (!opened.contains(g.tokenizer)) opened.emplace(g.tokenizer, OpenData(g.tokenizer));
    const Opened& o = opened.at(g.tokenizer);
    INFO(g.tokenizer << ": " << g.text);
    const std::vector<int32_t> ids = o.Encode(g.text, g.special, g.parse_special);
    REQUIRE(ids == g.ids);
    REQUIRE(ReplaceInvalidUtf8(o.Decode(ids)) == g.decoded);
    // One at a time gives the same bytes.
    StreamDecoder stream(o.tokenizer.get(), false);
    std::string streamed;
    for (int32_t id : ids) REQUIRE(stream.Push(id, &streamed).ok());
    REQUIRE(streamed == o.Decode(ids));
  }
}

TEST_CASE("byte-level tokenizers give back the text they were given") {
  const Opened llama3 = OpenData("llama3");
  const Opened falcon = OpenData("digits");
  for (const Golden& g : ReadGoldens()) {
    REQUIRE(llama3.Decode(llama3.Encode(g.text)) == g.text);
    // This one normalises, which the text may undergo first.
    const std::string once = falcon.Decode(falcon.Encode(g.text));
    REQUIRE(falcon.Decode(falcon.Encode(once)) == once);
  }
}

TEST_CASE("equal specs give equal tables") {
  for (const char* name : {"flags_nfkc", "sentencepiece"}) {
    const Opened a = OpenData(name), b = OpenData(name);
    REQUIRE(a.memory.view() == b.memory.view());
  }
}

}  // namespace krafla
