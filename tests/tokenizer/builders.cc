// The importers: what they refuse and what they say, the pre-tokenizer names of GGUF, the flags of
// tokenizer_config.json.
#include <cstdio>

#include "lib/convert/tokenizer_gguf.h"
#include "lib/convert/tokenizer_json.h"
#include "tests/support/catch.h"
#include "tests/tokenizer/opened.h"

namespace krafla {
namespace {

GgufTokenizerData SmallGguf() {
  GgufTokenizerData data;
  data.model = "gpt2";
  data.pre = "smollm";
  data.tokens = {"<|end|>", "a", "b", "\u0120", "ab", "\u0120ab", "1", "[PAD]", "user"};
  data.token_types = {3, 1, 1, 1, 1, 1, 1, 5, 4};
  data.merges = {"a b", "\u0120 ab"};
  data.bos_id = 0;
  return data;
}

// Scores alone: "ab" before "bc", the word mark before either; ids 3 to 258 are the bytes.
GgufTokenizerData SmallSentencePiece() {
  GgufTokenizerData data;
  data.model = "llama";
  const auto add = [&](const std::string& text, int32_t type, float score) {
    data.tokens.push_back(text);
    data.token_types.push_back(type);
    data.scores.push_back(score);
  };
  add("<unk>", 2, 0);
  add("<s>", 3, 0);
  add("</s>", 3, 0);
  for (int b = 0; b < 256; ++b) {
    char text[8];
    std::snprintf(text, sizeof(text), "<0x%02X>", b);
    add(text, 6, 0);
  }
  for (const char* text : {"\u2581ab", "ab", "bc", "\u2581", "a", "b", "c"}) {
    add(text, 1, -static_cast<float>(data.tokens.size()));
  }
  add("  ", 4, -1000);
  add("<tool>", 4, 0);
  add("bca", 5, 1);
  return data;
}

std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string MessageOf(const Status& status) { return std::string(Message(status)); }

}  // namespace

TEST_CASE("GGUF metadata become a tokenizer") {
  GgufTokenizerData data = SmallGguf();
  Opened o = OpenSpec(*TokenizerSpecFromGguf(data));
  REQUIRE(o.Encode("ab ab11") == std::vector<int32_t>{4, 5, 6, 6});
  REQUIRE(o.Encode("a<|end|>", true, true) == std::vector<int32_t>{1, 0});
  REQUIRE(o.Encode("auser") == std::vector<int32_t>{1, 8});
  REQUIRE(o.Decode({5, 0, 1}) == " ab<|end|>a");
  REQUIRE(o.tokenizer->bos_id() == 0);
  data.add_bos = true;
  o = OpenSpec(*TokenizerSpecFromGguf(data));
  REQUIRE(o.Encode("a", true) == std::vector<int32_t>{0, 1});
  REQUIRE(o.tokenizer->adds_bos());
  for (const char* pre :
       {"", "default", "gpt-2", "llama-bpe", "qwen2", "qwen35", "tekken", "gpt-4o", "falcon",
        "deepseek-v3", "deepseek-coder", "command-r", "bloom"}) {
    data.pre = pre;
    INFO(pre);
    REQUIRE(OpenSpec(*TokenizerSpecFromGguf(data)).Encode("ab ab") == std::vector<int32_t>{4, 5});
  }
}

TEST_CASE("a GGUF with scores becomes a SentencePiece tokenizer") {
  GgufTokenizerData data = SmallSentencePiece();
  const int32_t mark_ab = 259, ab = 260, mark = 262, a = 263, c = 265, marks = 266, tool = 267;
  Opened o = OpenSpec(*TokenizerSpecFromGguf(data));
  using Ids = std::vector<int32_t>;
  // "bc" comes behind "ab"; an unused token is never made; BOS is 1 and added without a word.
  REQUIRE(o.Encode("abc") == Ids{mark_ab, c});
  REQUIRE(o.Encode("abca", true) == Ids{1, mark_ab, c, a});
  REQUIRE(o.Encode("\u00e9") == Ids{mark, 3 + 0xC3, 3 + 0xA9});
  REQUIRE(o.Encode("  ab") == Ids{marks, mark_ab});
  REQUIRE(o.Encode("</s>ab", false, true) == Ids{2, mark_ab});
  // A control token's marker in a user's text is text; a user-defined one is the token.
  REQUIRE(o.Encode("</s>") == Ids{mark, 3 + '<', 3 + '/', 3 + 's', 3 + '>'});
  REQUIRE(o.Encode("ab<tool> ab") == Ids{mark_ab, tool, marks, ab});
  REQUIRE(o.Decode({1, mark_ab, c, marks, ab, 3 + 0xC3, 3 + 0xA9}) == "<s> abc  ab\u00e9");
  REQUIRE(o.Decode({mark_ab, c}) == "abc");
  data.add_space_prefix = false;
  data.add_bos = false;
  data.add_eos = true;
  o = OpenSpec(*TokenizerSpecFromGguf(data));
  REQUIRE(o.Encode("ab ab", true) == Ids{ab, mark_ab, 2});
  REQUIRE(o.Encode("  ab") == Ids{marks, ab});  // the user-defined token before any other merge
  REQUIRE(o.Decode({mark_ab}) == " ab");
  data.scores.pop_back();
  REQUIRE(absl::IsDataLoss(TokenizerSpecFromGguf(data).status()));
  data.scores.clear();
  REQUIRE_THAT(MessageOf(TokenizerSpecFromGguf(data).status()),
               Catch::Matchers::Contains("scores"));
}

TEST_CASE("bad GGUF metadata are refused by name") {
  const auto error = [](auto change) {
    GgufTokenizerData data = SmallGguf();
    change(data);
    const Status status = TokenizerSpecFromGguf(data).status();
    INFO(Message(status));
    REQUIRE((absl::IsDataLoss(status) || absl::IsUnimplemented(status)));
    return MessageOf(status);
  };
  using Catch::Matchers::Contains;
  REQUIRE_THAT(error([](auto& d) { d.model = "t5"; }), Contains("t5"));
  REQUIRE_THAT(error([](auto& d) { d.pre = "nobody-knows"; }), Contains("nobody-knows"));
  REQUIRE_THAT(error([](auto& d) { d.token_types.pop_back(); }), Contains("token_type"));
  REQUIRE_THAT(error([](auto& d) { d.token_types[2] = 9; }), Contains("type 9"));
  REQUIRE_THAT(error([](auto& d) { d.scores = {1.0f}; }), Contains("scores"));
  REQUIRE_THAT(error([](auto& d) { d.tokens.clear(); }), Contains("0 tokens"));
  REQUIRE_THAT(error([](auto& d) { d.tokens[1] = "\xff"; }), Contains("UTF-8"));
  REQUIRE_THAT(error([](auto& d) { d.tokens[1] = "b"; }), Contains("both"));
  REQUIRE_THAT(error([](auto& d) { d.merges[0] = "a"; }), Contains("merge 0"));
  REQUIRE_THAT(error([](auto& d) { d.merges[0] = "a z"; }), Contains("no token"));
  REQUIRE_THAT(error([](auto& d) { d.merges[0] = ""; }), Contains("merge 0"));
  REQUIRE_THAT(error([](auto& d) { d.bos_id = 99; }), Contains("bos"));
  REQUIRE_THAT(error([](auto& d) { d.eos_id = -2; }), Contains("eos"));
  REQUIRE_THAT(error([](auto& d) { d.add_eos = true; }), Contains("add_eos"));
}

TEST_CASE("bad tokenizer.json files are refused by name") {
  const std::string good = ReadData("flags_nfkc.json");
  REQUIRE(TokenizerSpecFromJson(good, "").ok());
  const auto error = [&](std::string_view from, std::string_view to) {
    const Status status = TokenizerSpecFromJson(Replaced(good, from, to), "").status();
    INFO(Message(status));
    REQUIRE((absl::IsDataLoss(status) || absl::IsUnimplemented(status)));
    return MessageOf(status);
  };
  using Catch::Matchers::Contains;
  REQUIRE_THAT(error("\"BPE\"", "\"WordPiece\""), Contains("WordPiece"));
  REQUIRE_THAT(error("\"NFKC\"", "\"BertNormalizer\""), Contains("BertNormalizer"));
  REQUIRE_THAT(error("\"type\":\"ByteLevel\"", "\"type\":\"UnicodeScripts\""),
               Contains("UnicodeScripts"));
  REQUIRE_THAT(error("\"merges\":[[\"t\",\"h\"]", "\"merges\":[[\"t\",\"zz\"]"), Contains("zz"));
  REQUIRE_THAT(error("\"merges\":[[\"t\",\"h\"]", "\"merges\":[[\"t\"]"), Contains("merge 0"));
  REQUIRE_THAT(error("\"vocab\":{\"<|endoftext|>\":0", "\"vocab\":{\"<|endoftext|>\":1"),
               Contains("<|endoftext|>"));
  REQUIRE_THAT(error("\"vocab\":{\"<|endoftext|>\":0", "\"vocab\":{\"<|endoftext|>\":4194304"),
               Contains("4194304"));
  REQUIRE_THAT(error("\"dropout\":null", "\"dropout\":0.1"), Contains("dropout"));
  REQUIRE_THAT(error("\"end_of_word_suffix\":null", "\"end_of_word_suffix\":\"</w>\""),
               Contains("end_of_word_suffix"));
  REQUIRE_THAT(error("{\"type\":\"TemplateProcessing\"", "{\"type\":\"Odd\""), Contains("Odd"));
  for (size_t size = 0; size < good.size(); size += 97) {
    REQUIRE_FALSE(TokenizerSpecFromJson(good.substr(0, size), "").ok());
  }
  std::string deep(5000, '[');
  REQUIRE_FALSE(TokenizerSpecFromJson(deep, "").ok());
  for (const char* odd : {"null", "[]", "{}", "3", "{\"model\":3}", "{\"model\":{\"vocab\":[]}}"}) {
    REQUIRE(absl::IsDataLoss(TokenizerSpecFromJson(odd, "").status()));
  }
}

TEST_CASE("tokenizer_config.json names special tokens and adds BOS") {
  const std::string json = ReadData("llama3.json");
  TokenizerSpec spec = *TokenizerSpecFromJson(
      json, R"({"bos_token": {"content": "t"}, "eos_token": "h", "add_eos_token": true})");
  const Opened o = OpenSpec(spec);
  REQUIRE(o.tokenizer->bos_id() == o.tokenizer->FindToken("t"));
  REQUIRE(o.tokenizer->eos_id() == o.tokenizer->FindToken("h"));
  // The post-processor has its own BOS, the configuration adds the EOS.
  const auto ids = o.Encode("a", true);
  REQUIRE(ids == std::vector<int32_t>{0, o.tokenizer->FindToken("a"), o.tokenizer->eos_id()});
  // Tokens of its own: one that the vocabulary knows, one that tokenizer.json adds already, a new
  // one.
  const std::string n = std::to_string(spec.tokens.size());
  const Opened own = OpenSpec(*TokenizerSpecFromJson(
      json, R"({"added_tokens_decoder": {"77": {"content": "th", "special": false, "rstrip": true},
               "0": {"content": "<|endoftext|>", "special": false}, ")" +
                n + R"(": {"content": "<|new|>", "special": true}}, "eos_token": "<|new|>"})"));
  REQUIRE(own.Encode("th  a") ==
          std::vector<int32_t>{own.tokenizer->FindToken("th"), own.tokenizer->FindToken("a")});
  REQUIRE(own.Encode("<|new|>", false, true) == std::vector<int32_t>{std::stoi(n)});
  REQUIRE(own.tokenizer->eos_id() == std::stoi(n));
  REQUIRE(own.tokenizer->IsSpecial(0));
  REQUIRE(absl::IsDataLoss(
      TokenizerSpecFromJson(json, R"({"added_tokens_decoder": {"1": {"content": "<|new|>"}}})")
          .status()));
  // A number that Python writes and 64 bits do not hold is no reason to refuse the rest.
  REQUIRE(
      TokenizerSpecFromJson(json, R"({"model_max_length": 1000000000000000019884624838656})").ok());
  REQUIRE_FALSE(
      TokenizerSpecFromJson(json, R"({"model_max_length": 00000000000000000000001})").ok());
  REQUIRE(absl::IsDataLoss(TokenizerSpecFromJson(json, R"({"bos_token": 3})").status()));
  REQUIRE(absl::IsDataLoss(TokenizerSpecFromJson(json, "{").status()));
}

TEST_CASE("patterns that mean something else are translated or refused") {
  TokenizerSpec spec = *TokenizerSpecFromJson(ReadData("llama3.json"), "");
  for (const char* pattern : {"[a[b]]", "[a&&b]", "(?m:a)", "\\K", "\\p{", "[", "\\", "\\u12", "(",
                              "a)", "\\p{Nonsense}", "[\\P{L}]"}) {
    spec.pre_tokenizer[0].text = pattern;
    const TableMemory memory(*WriteTokenizerTable(spec));
    INFO(pattern);
    const Status status = Tokenizer::Open(memory.view()).status();
    REQUIRE((absl::IsDataLoss(status) || absl::IsUnimplemented(status)));
  }
}

TEST_CASE("a pattern that never ends gives up with an error") {
  TokenizerSpec spec = *TokenizerSpecFromJson(ReadData("llama3.json"), "");
  spec.pre_tokenizer[0].text = "(a|aa|a)+$|(a+)+b";
  const Opened o = OpenSpec(spec);
  std::vector<int32_t> ids;
  const Status status = o.tokenizer->Encode(std::string(200, 'a') + "c", false, false, &ids);
  INFO(Message(status));
  REQUIRE(absl::IsInvalidArgument(status));
}

}  // namespace krafla
