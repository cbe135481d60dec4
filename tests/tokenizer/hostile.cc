// Tables that are broken in every byte, or cut anywhere: an error or a tokenizer that works within
// its table's bounds, nothing else. Run under AddressSanitizer this shows every unchecked offset.
#include "lib/tokenizer/charsmap.h"
#include "tests/support/catch.h"
#include "tests/tokenizer/opened.h"

namespace krafla {
namespace {

// Keys "e" (to "E"), "ab" (to "X") and nothing else: root, three nodes, three values, the texts.
std::string SmallCharsmap() {
  // Offsets are xor-ed with the byte, so that a child of the root lies at 512 ^ byte.
  std::vector<uint32_t> units(1536, 0);
  const auto node = [](uint32_t byte, uint32_t offset, bool has_value) {
    return offset << 10 | (has_value ? 1u << 8 : 0) | byte;
  };
  units[0] = node(0, 512, false);
  const uint32_t e = 512 ^ 'e', a = 512 ^ 'a', e_value = 768, a_children = 1024;
  units[e] = node('e', e ^ e_value, true);
  units[e_value] = 1u << 31 | 0;
  units[a] = node('a', a ^ a_children, false);
  const uint32_t b = a_children ^ 'b', b_value = 1300;
  units[b] = node('b', b ^ b_value, true);
  units[b_value] = 1u << 31 | 2;
  const auto bytes = static_cast<uint32_t>(units.size() * sizeof(units[0]));
  std::string map(reinterpret_cast<const char*>(&bytes), sizeof(bytes));
  map.append(reinterpret_cast<const char*>(units.data()), bytes);
  return map.append("E\0X\0", 4);
}

// Small, with every section filled and a step of nearly every kind.
TokenizerSpec SmallSpec(bool bytes, bool unigram = false) {
  TokenizerSpec spec;
  for (const char* text : {"a", "b", "ab", "\u2581", "<0x41>", "<unk>", "<s>", "x y", "\u00e9"}) {
    spec.tokens.push_back({text, true, true});
  }
  spec.tokens.push_back({});
  spec.merges = {{0, 1, 2}, {2, 2, 2}, {3, 0, 3}};
  spec.added.push_back({6, "<s>", true, false, true, true, false});
  spec.added.push_back({7, "x y", false, true, false, false, true});
  spec.added.push_back({8, "\u00e9", false, true, false, true, false});
  spec.unk_id = 5;
  spec.bos_id = 6;
  spec.byte_fallback = true;
  spec.normalizer = {{StepKind::kNfkc, 0, 0, "", ""},
                     {StepKind::kReplace, 0, 0, "q", "abab"},
                     {StepKind::kStrip, 3, 0, "", ""},
                     {StepKind::kPrepend, 0, 0, " ", ""}};
  spec.pre_tokenizer = {{StepKind::kDigits, 1, 0, "", ""},
                        {StepKind::kSplitRegex, 0, 1, R"(\s+(?!\S)|[ab]+)", ""},
                        {StepKind::kSplitLiteral, 0, 2, ".", ""}};
  if (bytes) {
    spec.pre_tokenizer.push_back({StepKind::kByteLevel, kAddPrefixSpace, 0, "", ""});
    spec.decoder = {{StepKind::kDecodeByteLevel, 0, 0, "", ""}};
  } else {
    spec.pre_tokenizer.push_back({StepKind::kMetaspace, 1, 2, "\u2581", ""});
    spec.decoder = {{StepKind::kDecodeReplace, 0, 0, "\u2581", " "},
                    {StepKind::kDecodeByteFallback, 0, 0, "", ""},
                    {StepKind::kDecodeFuse, 0, 0, "", ""},
                    {StepKind::kDecodeStrip, 0, 1, " ", ""}};
  }
  spec.post_processor = {{StepKind::kAddBefore, 0, 6, "", ""}, {StepKind::kAddAfter, 0, 2, "", ""}};
  if (unigram) {
    spec.is_unigram = true;
    spec.merges.clear();
    for (size_t id = 0; id < spec.tokens.size(); ++id) {
      spec.tokens[id].score = -1 - static_cast<double>(id % 3);
    }
    spec.charsmap = SmallCharsmap();
    spec.normalizer = {{StepKind::kPrecompiled, 0, 0, "", ""},
                       {StepKind::kReplaceRegex, 0, 0, "q+|$", "ab"},
                       {StepKind::kLowercase, 0, 0, "", ""},
                       {StepKind::kStripAccents, 0, 0, "", ""},
                       {StepKind::kNmt, 0, 0, "", ""}};
    spec.pre_tokenizer = {{StepKind::kWhitespaceSplit, 0, 0, "", ""},
                          {StepKind::kPunctuation, 0, 3, "", ""},
                          {StepKind::kWhitespace, 0, 0, "", ""}};
  }
  return spec;
}

// Uses the tokenizer the way a program would; true if it opened.
bool Exercise(std::string_view table) {
  auto opened = Tokenizer::Open(table);
  if (!opened.ok()) {
    REQUIRE_FALSE(opened.status().message().empty());
    return false;
  }
  const Tokenizer& t = **opened;
  std::vector<int32_t> ids;
  std::string text;
  for (bool special : {false, true}) {
    Status ignored =
        t.Encode("  abab.ab 12 x y\u00e9 <s> \u4e2d q\n\uff21", special, special, &ids);
    ignored = t.Decode(ids, special, &text);
    ignored =
        t.EncodePieces(std::vector<TextPiece>{{"a<s", false}, {">b<s>", true}}, special, &ids);
  }
  for (int32_t id = -1; id <= std::min(t.vocab_size(), 64); ++id) {
    if (t.TokenBytes(id).ok()) text = *t.TokenBytes(id);
    if (t.TokenText(id).ok()) ids = {t.FindToken(*t.TokenText(id))};
  }
  return true;
}

}  // namespace

TEST_CASE("a table with any byte changed is refused or works within bounds") {
  for (int kind = 0; kind < 3; ++kind) {
    const std::string good = *WriteTokenizerTable(SmallSpec(kind == 1, kind == 2));
    TableMemory memory(good);
    REQUIRE(Exercise(memory.view()));
    size_t tried = 0, opened = 0;
    for (size_t at = 0; at < good.size(); ++at) {
      // Of the map's thousands of zeros a few are enough.
      if (kind == 2 && good[at] == 0 && at % 7 != 0) continue;
      for (int mask : {0x01, 0x80, 0xFF, 0x10}) {
        memory.data()[at] = static_cast<char>(good[at] ^ mask);
        opened += Exercise(memory.view());
        ++tried;
      }
      memory.data()[at] = good[at];
    }
    INFO(good.size() << " bytes, " << opened << " of " << tried << " changes opened");
    REQUIRE(opened < tried);
  }
}

TEST_CASE("a table with a word set to a limit is refused or works within bounds") {
  const std::string good = *WriteTokenizerTable(SmallSpec(true));
  TableMemory memory(good);
  for (size_t at = 0; at + 4 <= good.size(); at += 4) {
    for (uint32_t value : {0u, 1u, 0x7FFFFFFFu, 0x80000000u, 0xFFFFFFFFu, 0xFFFFFFC0u,
                           static_cast<uint32_t>(good.size())}) {
      std::memcpy(memory.data() + at, &value, 4);
      Exercise(memory.view());
    }
    std::memcpy(memory.data() + at, good.data() + at, 4);
  }
}

TEST_CASE("a map of characters replaces the shortest key it finds") {
  const std::string blob = SmallCharsmap();
  const Charsmap map = *Charsmap::Open(blob);
  const auto apply = [&](std::string text) {
    TrustedText in{std::move(text), {}}, out;
    REQUIRE(map.Apply(in, &out).ok());
    return out.text;
  };
  REQUIRE(apply("hello abab") == "hEllo abab");  // characters one by one: "ab" is two
  REQUIRE(apply("e\u0301a") == "Ea");            // one grapheme, looked up whole
  REQUIRE(apply("") == "");
  for (size_t size = 1; size < blob.size(); size += 101) {
    const auto cut = Charsmap::Open(std::string_view(blob).substr(0, size));
    TrustedText out;
    if (cut.ok()) REQUIRE(cut->Apply({"eabe\u0301", {}}, &out).ok());
  }
  REQUIRE_FALSE(Charsmap::Open("\x05\0\0\0abcde").ok());
  REQUIRE_FALSE(Charsmap::Open("abc").ok());
}

TEST_CASE("a table that is cut or longer is refused") {
  const std::string good = *WriteTokenizerTable(SmallSpec(true));
  for (size_t size = 0; size < good.size(); ++size) {
    REQUIRE_FALSE(Exercise(TableMemory(good.substr(0, size)).view()));
  }
  REQUIRE_FALSE(Exercise(TableMemory(good + std::string(64, '\0')).view()));
}

TEST_CASE("unknown features and kinds are refused as such") {
  std::string table = *WriteTokenizerTable(SmallSpec(true));
  table[12] = 4;
  REQUIRE(absl::IsUnimplemented(Tokenizer::Open(TableMemory(table).view()).status()));
  TokenizerSpec spec = SmallSpec(true);
  spec.normalizer[0].kind = static_cast<StepKind>(31);
  // The writer has no name for it either, but a later writer will.
  const StatusOr<std::string> later = WriteTokenizerTable(spec);
  if (later.ok()) {
    const Status status = Tokenizer::Open(TableMemory(*later).view()).status();
    REQUIRE(absl::IsUnimplemented(status));
    REQUIRE(Message(status).find("31") != std::string_view::npos);
  }
}

TEST_CASE("a spec that breaks the rules makes no table") {
  const auto refused = [](TokenizerSpec spec) {
    return absl::IsDataLoss(WriteTokenizerTable(spec).status());
  };
  TokenizerSpec spec = SmallSpec(true);
  REQUIRE_FALSE(refused(spec));
  spec.merges.push_back({0, 1, 9});  // a hole
  REQUIRE(refused(spec));
  spec = SmallSpec(true);
  spec.merges.push_back({0, 1, 10});
  REQUIRE(refused(spec));
  spec = SmallSpec(true);
  spec.tokens[1].text = spec.tokens[0].text;
  REQUIRE(refused(spec));
  spec = SmallSpec(true);
  spec.tokens[1].text.assign(1, '\xff');
  REQUIRE(refused(spec));
  spec = SmallSpec(true);
  spec.eos_id = 10;
  REQUIRE(refused(spec));
  spec = SmallSpec(true);
  spec.added[0].id = 9;
  REQUIRE(refused(spec));
  spec = SmallSpec(true);
  spec.post_processor[0].arg = 10;
  REQUIRE(refused(spec));
  REQUIRE(refused(TokenizerSpec()));
}

}  // namespace krafla
