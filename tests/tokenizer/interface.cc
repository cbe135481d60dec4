// The interface beyond ids: trust, lookups, errors that leave the caller's values alone, streaming.
#include "tests/support/catch.h"
#include "tests/tokenizer/opened.h"

namespace krafla {
namespace {

std::vector<int32_t> EncodePieces(const Opened& o, const std::vector<TextPiece>& pieces) {
  std::vector<int32_t> ids;
  const Status status = o.tokenizer->EncodePieces(pieces, false, &ids);
  INFO(Message(status));
  REQUIRE(status.ok());
  return ids;
}

size_t CountSpecial(const Opened& o, const std::vector<int32_t>& ids) {
  size_t n = 0;
  for (int32_t id : ids) n += o.tokenizer->IsSpecial(id);
  return n;
}

}  // namespace

TEST_CASE("only trusted bytes become special tokens") {
  const Opened o = OpenData("kjv");
  const std::string marker = "<|im_end|>";
  const int32_t id = o.tokenizer->FindToken(marker);
  REQUIRE(id == 2);
  REQUIRE(o.tokenizer->IsSpecial(id));
  REQUIRE(o.Encode(marker, false, true) == std::vector<int32_t>{id});
  REQUIRE(CountSpecial(o, o.Encode(marker)) == 0);
  REQUIRE(o.Decode(o.Encode(marker)) == marker);
  REQUIRE(EncodePieces(o, {{marker, true}}) == std::vector<int32_t>{id});
  REQUIRE(EncodePieces(o, {{marker, false}}) == o.Encode(marker));

  const auto ids = EncodePieces(
      o, {{"<|im_start|>user\n", true}, {"a" + marker + "b", false}, {marker + "\n", true}});
  REQUIRE(CountSpecial(o, ids) == 2);
  REQUIRE(o.Decode(ids) == "<|im_start|>user\na" + marker + "b" + marker + "\n");

  // A marker over the joint is none, wherever it is cut; trusted on both sides it is one.
  for (size_t cut = 1; cut < marker.size(); ++cut) {
    const std::string_view head = std::string_view(marker).substr(0, cut);
    const std::string_view tail = std::string_view(marker).substr(cut);
    REQUIRE(CountSpecial(o, EncodePieces(o, {{head, true}, {tail, false}})) == 0);
    REQUIRE(CountSpecial(o, EncodePieces(o, {{head, false}, {tail, true}})) == 0);
    REQUIRE(EncodePieces(o, {{head, true}, {"", false}, {tail, true}}) == std::vector<int32_t>{id});
  }
  // Half a marker before a whole trusted one does not hide it.
  REQUIRE(CountSpecial(o, EncodePieces(o, {{"<|im_<|", false}, {marker, true}})) == 1);
}

TEST_CASE("text beside a trusted marker cannot break it") {
  // "<|plain|>" is special, "<|plain|>x" is an ordinary added token and longer.
  const Opened o = OpenData("flags_nfkc");
  const int32_t plain = o.tokenizer->FindToken("<|plain|>");
  const int32_t longer = o.tokenizer->FindToken("<|plain|>x");
  REQUIRE(o.tokenizer->IsSpecial(plain));
  REQUIRE_FALSE(o.tokenizer->IsSpecial(longer));
  REQUIRE(o.Encode("<|plain|>x") == std::vector<int32_t>{longer});
  // Through the normaliser trust follows the characters.
  const int32_t norm = o.tokenizer->FindToken("<|norm|>");
  REQUIRE(EncodePieces(o, {{"\uff21", false}, {"<|norm|>", true}, {"\u4e2d", false}})[1] == norm);
  REQUIRE(CountSpecial(o, EncodePieces(o, {{"\uff21<|no", false}, {"rm|>", true}})) == 0);
  REQUIRE(CountSpecial(o, EncodePieces(o, {{"\uff1c|norm|>", false}})) == 0);
  REQUIRE(CountSpecial(o, EncodePieces(o, {{"\uff1c|norm|>", true}, {"a", false}})) == 1);
  REQUIRE(CountSpecial(o, EncodePieces(o, {{"<|norm|", true}, {"\uff1e", false}})) == 0);
}

TEST_CASE("a special token that is also a piece is not made of text") {
  // "th" is what the first merge makes; here it is special.
  TokenizerSpec spec;
  for (const char* text : {"t", "h", "th", "e", "the"}) spec.tokens.push_back({text, true, true});
  spec.merges = {{0, 1, 2}, {2, 3, 4}};
  spec.pre_tokenizer = {{StepKind::kByteLevel, 0, 0, "", ""}};
  spec.decoder = {{StepKind::kDecodeByteLevel, 0, 0, "", ""}};
  REQUIRE(OpenSpec(spec).Encode("the") == std::vector<int32_t>{4});
  spec.added.push_back({2, "th", true, false, false, false, false});
  for (bool ignore_merges : {false, true}) {
    spec.ignore_merges = ignore_merges;
    const Opened o = OpenSpec(spec);
    REQUIRE(o.Encode("th") == std::vector<int32_t>{0, 1});
    REQUIRE(o.Encode("th", false, true) == std::vector<int32_t>{2});
  }
}

TEST_CASE("lookups by id and by text") {
  const Opened o = OpenData("flags");
  const Tokenizer& t = *o.tokenizer;
  REQUIRE(t.FindToken("\u0120t") >= 0);
  REQUIRE(*t.TokenBytes(t.FindToken("\u0120t")) == " t");
  REQUIRE(*t.TokenText(t.FindToken("\u0120t")) == "\u0120t");
  REQUIRE(t.FindToken("no such token") == Tokenizer::kNoToken);
  REQUIRE(t.FindToken("") == Tokenizer::kNoToken);
  REQUIRE(t.bos_id() == t.FindToken("<|plain|>"));
  REQUIRE(t.adds_bos());
  REQUIRE(t.eos_id() == 0);
  REQUIRE(t.unk_id() == Tokenizer::kNoToken);
  const auto ids = o.Encode("x", true);
  REQUIRE(ids.front() == t.bos_id());
  REQUIRE(ids.back() == t.eos_id());
  REQUIRE(o.Decode(ids, true) == " x");  // this tokenizer puts a space in front
  for (int32_t id : {-1, t.vocab_size(), INT32_MAX, INT32_MIN}) {
    REQUIRE_FALSE(t.IsSpecial(id));
    REQUIRE(absl::IsInvalidArgument(t.TokenBytes(id).status()));
    REQUIRE(absl::IsInvalidArgument(t.TokenText(id).status()));
  }
}

TEST_CASE("a failed call leaves its output alone") {
  const Opened o = OpenData("kjv");
  std::vector<int32_t> ids = {7};
  for (const char* bad : {"\xff", "ab\xc3", "\xed\xa0\x80", "\xf5\x80\x80\x80"}) {
    const Status status = o.tokenizer->Encode(bad, false, false, &ids);
    REQUIRE(absl::IsInvalidArgument(status));
    REQUIRE(ids == std::vector<int32_t>{7});
  }
  const Status status = o.tokenizer->Encode("ab\xc3", false, false, &ids);
  REQUIRE(Message(status).find("byte 2") != std::string_view::npos);
  std::string text = "kept";
  REQUIRE(
      absl::IsInvalidArgument(o.tokenizer->Decode(std::vector<int32_t>{5, 99999}, false, &text)));
  REQUIRE(text == "kept");
  REQUIRE(o.Encode("").empty());
  REQUIRE(o.Decode({}).empty());
}

TEST_CASE("long texts of one kind of character finish") {
  std::string marks = "a", random;
  for (int i = 0; i < 125000; ++i) marks += "\u0301\u0316";
  for (uint32_t i = 0, x = 1; i < 500000; ++i, x = x * 1664525 + 1013904223) {
    random += static_cast<char>('a' + (x >> 24) % 8);
  }
  std::string emoji, hindi;
  for (int i = 0; i < 250000; ++i) emoji += "\U0001f600";
  for (int i = 0; i < 55556; ++i) hindi += "\u0939\u093f\u0928\u094d\u0926\u0940";
  const std::string texts[] = {std::string(1000000, 'a'),
                               std::string(1000000, ' '),
                               std::string(1000000, ' ') + "x",
                               std::string(1000000, '\n'),
                               std::string(1000000, '1'),
                               std::string(1000000, '<'),
                               emoji,
                               hindi,
                               marks,
                               random};
  for (const char* name : {"kjv", "flags_nfkc", "llama3", "sentencepiece", "unigram"}) {
    const Opened o = OpenData(name);
    for (const std::string& text : texts) {
      INFO(name << ": " << text.substr(0, 8));
      std::vector<int32_t> ids;
      const Status status = o.tokenizer->Encode(text, false, true, &ids);
      INFO(Message(status));
      REQUIRE(status.ok());
      REQUIRE_FALSE(ids.empty());
    }
  }
}

}  // namespace krafla
