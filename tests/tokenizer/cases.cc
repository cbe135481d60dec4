// Texts that broke programs of this kind, each a kind of its own: markers, flags of added tokens,
// word marks behind special tokens, normalisers, runs of white space, unknown characters, line
// ends, bytes that are no text. That the ids are Hugging Face's is goldens.cc's business.
#include "tests/support/catch.h"
#include "tests/tokenizer/opened.h"

namespace krafla {
namespace {

using Ids = std::vector<int32_t>;

int32_t Find(const Opened& o, std::string_view text) { return o.tokenizer->FindToken(text); }

}  // namespace

TEST_CASE("a marker is text where special tokens are not parsed") {
  for (const char* name : {"kjv", "llama3", "flags", "sentencepiece", "unigram"}) {
    const Opened o = OpenData(name);
    for (int32_t id = 0; id < o.tokenizer->vocab_size(); ++id) {
      if (!o.tokenizer->IsSpecial(id)) continue;
      const std::string marker(*o.tokenizer->TokenText(id));
      INFO(name << " " << marker);
      for (const std::string& text : {marker, "a" + marker + "b", marker + marker}) {
        for (int32_t got : o.Encode(text)) {
          const bool is_unknown = got == o.tokenizer->unk_id();
          CHECK((is_unknown || !o.tokenizer->IsSpecial(got)));
        }
      }
    }
  }
}

TEST_CASE("added tokens keep to their flags") {
  const Opened o = OpenData("flags_nfkc");
  const auto encode = [&](std::string_view text) { return o.Encode(text, false, true); };
  // lstrip and rstrip take the white space beside them; single_word wants none of \w beside it.
  CHECK(encode("a <|left|> b") == Ids{Find(o, "a"), Find(o, "<|left|>"), Find(o, "\u0120b")});
  CHECK(encode("a <|both|>\n b") == Ids{Find(o, "a"), Find(o, "<|both|>"), Find(o, "b")});
  CHECK(encode("word")[0] == Find(o, "word"));
  CHECK(encode("xword")[0] != Find(o, "word"));
  CHECK(encode("sword").back() != Find(o, "word"));
  // normalized: found in the normalised text, here NFKC's of a ligature.
  CHECK(encode("fin") == Ids{Find(o, "\ufb01n")});
}

TEST_CASE("text behind a special token gets its word mark") {
  const Opened o = OpenData("sentencepiece");
  const int32_t mark = Find(o, "\u2581");
  REQUIRE(mark >= 0);
  // The prefix is put in front of each stretch; the text's own space comes on top of it.
  const Ids ids = o.Encode("q</s> q", false, true);
  CHECK(ids == Ids{mark, Find(o, "q"), 2, mark, mark, Find(o, "q")});
  CHECK(o.Encode("q</s>q", false, true) == Ids{mark, Find(o, "q"), 2, mark, Find(o, "q")});
}

TEST_CASE("full-width letters and halves are what NFKC makes of them") {
  const Opened o = OpenData("flags_nfkc");
  CHECK(o.Encode("\uff21\u00bd") == o.Encode("A1\u20442"));
  const Opened c = OpenData("kjv");  // NFC keeps them and composes
  CHECK(c.Encode("e\u0301") == c.Encode("\u00e9"));
}

TEST_CASE("runs of no-break spaces end, whole and in any order") {
  for (const char* name : {"kjv", "llama3", "tekken", "sentencepiece", "unigram_bytes"}) {
    const Opened o = OpenData(name);
    std::string text = "\u2026";
    for (int i = 0; i < 2000; ++i) text += i % 7 == 0 ? "\u00a0 " : "\u00a0\u00a0";
    CHECK(o.Encode(text).size() > 100);
  }
}

TEST_CASE("a character of no token becomes bytes or the unknown token") {
  const Opened bytes = OpenData("sentencepiece"), unknown = OpenData("metaspace");
  const Ids fallback = bytes.Encode("\u00fc");
  CHECK(fallback == Ids{Find(bytes, "\u2581"), Find(bytes, "<0xC3>"), Find(bytes, "<0xBC>")});
  CHECK(bytes.Decode(fallback) == "\u00fc");
  CHECK(unknown.Encode("\u00fc").back() == unknown.tokenizer->unk_id());
}

TEST_CASE("line ends are kept as they are") {
  const Opened o = OpenData("llama3");
  for (const char* text : {"a\r\nb\r\n", "\r", "\n\r\n\r", "a\nb"}) {
    CHECK(o.Decode(o.Encode(text)) == text);
  }
  CHECK(o.Encode("a\r\nb") != o.Encode("a\nb"));
}

TEST_CASE("bytes that are not UTF-8 are refused where they stand") {
  const Opened o = OpenData("kjv");
  const std::pair<std::string, int> cases[] = {
      {"ab\xff", 2},           {"\xc0\x80", 0},  {"a\xed\xa0\x80", 1},  // an overlong, a surrogate
      {"\xf4\x90\x80\x80", 0}, {"x\xe2\x82", 1}, {"\x80", 0},
  };
  for (const auto& [text, offset] : cases) {
    Ids ids = {7};
    const Status status = o.tokenizer->Encode(text, false, true, &ids);
    CHECK(absl::IsInvalidArgument(status));
    CHECK(Message(status).find("byte " + std::to_string(offset)) != std::string_view::npos);
    CHECK(ids == Ids{7});
  }
}

}  // namespace krafla
