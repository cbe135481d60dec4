// GGUF files to .mlb: values, formats, un-permuted rows, and the refusals that need the
// architecture.
#include <filesystem>
#include <functional>
#include <limits>

#include "lib/convert/checkpoint.h"
#include "lib/convert/convert.h"
#include "lib/model/config.h"
#include "tests/convert/craft.h"
#include "tests/convert/read_mlb.h"
#include "tests/support/catch.h"
#include "tests/support/temp_folder.h"

namespace krafla {
namespace {

ConvertOptions Options(const TempFolder& folder, Format wtype = Format::kF32) {
  ConvertOptions options;
  options.kind = ConvertKind::kGguf;
  options.in = folder / "a.gguf";
  options.out = folder / "a.mlb";
  options.wtype = wtype;
  return options;
}

Status ConvertCraft(const GgufCraft& gguf, const TempFolder& folder, Format wtype = Format::kF32) {
  WriteWholeFile(folder / "a.gguf", gguf.Bytes());
  return Convert(Options(folder, wtype));
}

// The source's rows as f32.
std::vector<float> Decode(const GgufCraft& gguf, std::string_view name) {
  const std::string bytes = gguf.Bytes();
  Checkpoint checkpoint;
  REQUIRE(GgufFile::Open(OpenMemory(bytes.data(), bytes.size()), &checkpoint).ok());
  REQUIRE(checkpoint.Finish().ok());
  const CheckpointTensor* tensor = checkpoint.Find(name);
  const uint64_t rows = tensor->shape.size() == 2 ? tensor->shape[0] : 1;
  std::vector<char> raw(tensor->bytes);
  std::vector<float> values(rows * tensor->cols());
  REQUIRE(ReadRawRows(*tensor, 0, rows, raw.data()).ok());
  DecodeRows(*tensor, raw.data(), rows, values.data());
  return values;
}

// Not an expression that a failing CHECK would print, element by element.
bool Same(const std::vector<float>& a, const std::vector<float>& b) { return a == b; }

TEST_CASE("each GGUF type converts to f32 exactly", "[convert]") {
  for (const uint32_t type : {0, 1, 30, 8, 2, 3}) {
    CAPTURE(type);
    TempFolder folder;
    const GgufCraft gguf = LlamaGguf(type);
    const Status status = ConvertCraft(gguf, folder);
    CAPTURE(std::string(Message(status)));
    REQUIRE(status.ok());
    REQUIRE(CheckFile(folder / "a.mlb", nullptr, nullptr).ok());
    const auto file = OpenMlb(folder / "a.mlb");
    const std::pair<const char*, const char*> same[] = {
        {"embed", "token_embd.weight"},
        {"norm", "output_norm.weight"},
        {"head", "output.weight"},
        {"layers.1.wv", "blk.1.attn_v.weight"},
        {"layers.0.wo", "blk.0.attn_output.weight"},
        {"layers.1.w_down", "blk.1.ffn_down.weight"}};
    for (const auto& [ours, theirs] : same) {
      CAPTURE(ours);
      CHECK(Same(ReadTensor(*file, ours), Decode(gguf, theirs)));
    }
    // Rows of q and k: 4 and 2 heads of 8, halves interleaved in the GGUF.
    for (const auto& [ours, theirs] : {std::pair{"layers.1.wq", "blk.1.attn_q.weight"},
                                       std::pair{"layers.1.wk", "blk.1.attn_k.weight"}}) {
      const std::vector<float> got = ReadTensor(*file, ours);
      const std::vector<float> source = Decode(gguf, theirs);
      for (size_t row = 0; row < got.size() / 32; row++) {
        const size_t j = row % 8;
        const size_t from = row - j + (j < 4 ? 2 * j : 2 * (j - 4) + 1);
        for (size_t k = 0; k < 32; k++) REQUIRE(got[row * 32 + k] == source[from * 32 + k]);
      }
    }
  }
}

TEST_CASE("values of the same kind are taken as they are", "[convert]") {
  for (const auto& [type, format] :
       {std::pair{8u, Format::kQ8}, std::pair{2u, Format::kQ4}, std::pair{30u, Format::kBF16},
        std::pair{1u, Format::kF16}, std::pair{2u, Format::kQ4A}, std::pair{3u, Format::kQ4A},
        std::pair{6u, Format::kQ6A}, std::pair{7u, Format::kQ6A}, std::pair{3u, Format::kQ6A}}) {
    TempFolder folder;
    const GgufCraft gguf = LlamaGguf(type);
    REQUIRE(ConvertCraft(gguf, folder, format).ok());
    const auto file = OpenMlb(folder / "a.mlb");
    CHECK(Same(ReadTensor(*file, "layers.0.w_up"), Decode(gguf, "blk.0.ffn_up.weight")));
    CHECK(Same(ReadTensor(*file, "embed"), Decode(gguf, "token_embd.weight")));
  }
}

TEST_CASE("exceptions from the format are by class", "[convert]") {
  TempFolder folder;
  WriteWholeFile(folder / "a.gguf", LlamaGguf().Bytes());
  ConvertOptions options = Options(folder, Format::kQ4);
  options.q8 = *ParseClassList("v,down,head");
  REQUIRE(Convert(options).ok());
  const auto file = OpenMlb(folder / "a.mlb");
  const auto type = [&](std::string_view name) { return file->Tensor(name)->type; };
  CHECK(type("layers.0.wv") == 3);
  CHECK(type("layers.1.w_down") == 3);
  CHECK(type("head") == 3);
  CHECK(type("embed") == 4);
  CHECK(type("layers.0.wq") == 4);
  CHECK(type("norm") == 0);
  CHECK(Message(ParseClassList("v,x").status()).find("q k v o gate") != std::string_view::npos);
  CHECK(ParseClassList("")->empty());
}

TEST_CASE("a head equal to the embedding, or absent, is stored once", "[convert]") {
  for (const bool absent : {false, true}) {
    TempFolder folder;
    GgufCraft gguf = LlamaGguf();
    if (absent) {
      std::erase_if(gguf.tensors, [](const auto& t) { return t.name == "output.weight"; });
    } else {
      gguf.Find("output.weight")->data = gguf.Find("token_embd.weight")->data;
    }
    REQUIRE(ConvertCraft(gguf, folder).ok());
    const auto file = OpenMlb(folder / "a.mlb");
    CHECK(file->Tensor("head") == nullptr);
    CHECK(ConfigFromMetadata(*file)->tied_head);
    CHECK(CheckFile(folder / "a.mlb", nullptr, nullptr).ok());
  }
}

TEST_CASE("a GGUF that does not fit its architecture is refused by name", "[convert]") {
  struct Case {
    const char* message;
    std::function<void(GgufCraft*)> change;
  };
  const auto set = [](const char* key, uint32_t value) {
    return [=](GgufCraft* f) { f->SetU32(key, value); };
  };
  const auto experts = [](uint32_t n, uint32_t used) {
    return [=](GgufCraft* f) {
      f->SetU32("llama.expert_count", n);
      f->SetU32("llama.expert_used_count", used);
    };
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Case cases[] = {
      {"general.architecture: absent", [](GgufCraft* f) { f->Remove("general.architecture"); }},
      {"architecture rwkv", [](GgufCraft* f) { f->SetString("general.architecture", "rwkv"); }},
      {"a.gguf: llama.attention.head_count: got 0", set("llama.attention.head_count", 0)},
      {"a.gguf: llama.attention.head_count_kv: got 0", set("llama.attention.head_count_kv", 0)},
      {"a.gguf: llama.attention.head_count_kv: got 8", set("llama.attention.head_count_kv", 8)},
      {"a.gguf: llama.attention.head_count_kv: got 3", set("llama.attention.head_count_kv", 3)},
      {"a.gguf: llama.block_count: got 0", set("llama.block_count", 0)},
      {"a.gguf: llama.block_count: got 1000000000", set("llama.block_count", 1000000000)},
      {"missing tensors for llama: blk.2.", set("llama.block_count", 3)},
      {"missing tensors for llama: blk.2.", set("llama.block_count", 4096)},
      {"unexpected tensors for llama: blk.1.", set("llama.block_count", 1)},
      {"token_embd.weight: 40x32, want 41x32", set("llama.vocab_size", 41)},
      {"want 40x48", set("llama.embedding_length", 48)},
      {"ffn_gate.weight: 64x32, want 65x32", set("llama.feed_forward_length", 65)},
      {"a.gguf: llama.expert_used_count: got 0", set("llama.expert_count", 8)},
      {"a.gguf: llama.expert_used_count: got 0, want 1 to 8", experts(8, 0)},
      {"a.gguf: llama.expert_used_count: got 9, want 1 to 8", experts(8, 9)},
      {"a.gguf: llama.expert_used_count: got 257", experts(4096, 257)},
      {"a.gguf: llama.expert_used_count: got 4294967295", experts(8, 4294967295)},
      {"a.gguf: llama.expert_count: got 4097", experts(4097, 2)},
      {"missing tensors for llama: blk.0.ffn_gate_inp.weight", experts(8, 8)},
      {"tokenizer.ggml.eos_token_id: got 40", set("tokenizer.ggml.eos_token_id", 40)},
      {"tokenizer.ggml.tokens has 41",
       [](GgufCraft* f) {
         std::string tokens;
         for (int i = 0; i < 41; i++) tokens += GgufString(std::to_string(i));
         f->SetString("tokenizer.ggml.model", "gpt2");
         f->SetArray("tokenizer.ggml.tokens", GgufType::kString, 41, tokens);
       }},
      {"tokenizer.ggml.token_type: got",
       [](GgufCraft* f) {
         f->SetString("tokenizer.ggml.model", "gpt2");
         f->SetArray("tokenizer.ggml.tokens", GgufType::kString, 1, GgufString("a"));
         f->SetArray("tokenizer.ggml.token_type", GgufType::kInt8, 1, "\x01");
       }},
      {"chat_template: not UTF-8",
       [](GgufCraft* f) { f->SetString("tokenizer.chat_template", "\xff"); }},
      {"1 missing tensors for llama: blk.0.attn_q.weight",
       [](GgufCraft* f) { f->Find("blk.0.attn_q.weight")->name = "x"; }},
      {"model.layers.0",
       [](GgufCraft* f) {  // the other convention's names
         for (auto& t : f->tensors) t.name = "model.layers.0." + t.name;
       }},
      {"blk.0.attn_v.weight: 32x16, want 16x32",
       [](GgufCraft* f) {
         f->Find("blk.0.attn_v.weight")->dims = {16, 32};
       }},
      {"blk.0.attn_v.weight: rows from 0: row 0, column 3: nan",
       [=](GgufCraft* f) { memcpy(&f->Find("blk.0.attn_v.weight")->data[12], &nan, 4); }},
      {"blk.1.attn_norm.weight: element 2: nan",
       [=](GgufCraft* f) { memcpy(&f->Find("blk.1.attn_norm.weight")->data[8], &nan, 4); }},
      {"rope_freqs.weight",
       [](GgufCraft* f) { f->Add("rope_freqs.weight", {4}, 0, std::string(16, '\x41')); }},
  };
  for (const Case& c : cases) {
    TempFolder folder;
    GgufCraft gguf = LlamaGguf();
    c.change(&gguf);
    const Status status = ConvertCraft(gguf, folder);
    CAPTURE(c.message, std::string(Message(status)));
    CHECK(!status.ok());
    if (std::string_view(c.message) != "model.layers.0") {
      CHECK(Message(status).find(c.message) != std::string_view::npos);
    }
    size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      files += entry.exists();
    }
    CHECK(files == 1);  // the input: neither an output nor a temporary
  }
}

// Half of it, times the bytes of a float, is 0 in 64 bits.
TEST_CASE("an absurd head size does not fit longrope's factors", "[convert]") {
  TempFolder folder;
  GgufCraft gguf = LlamaGguf();
  gguf.Set("llama.attention.key_length", GgufType::kInt64, std::numeric_limits<int64_t>::min());
  gguf.Add("rope_factors_long.weight", {0}, 0, "");
  const Status status = ConvertCraft(gguf, folder);
  CAPTURE(std::string(Message(status)));
  CHECK(Message(status).find("rope_factors_long.weight: F32 0, want F32") !=
        std::string_view::npos);
}

TEST_CASE("a GGUF with the other convention's names lists what is missing", "[convert]") {
  TempFolder folder;
  GgufCraft gguf = LlamaGguf();
  for (auto& tensor : gguf.tensors) tensor.name = "model." + tensor.name;
  const Status status = ConvertCraft(gguf, folder);
  CAPTURE(std::string(Message(status)));
  CHECK(status.code() == absl::StatusCode::kDataLoss);
  CHECK(Message(status).find("missing tensors for llama: token_embd.weight") !=
        std::string_view::npos);
}

TEST_CASE("files cut at any page are refused, mapped and read", "[convert]") {
  TempFolder folder;
  const std::string gguf = LlamaGguf().Bytes();
  REQUIRE(ConvertCraft(LlamaGguf(), folder).ok());
  const std::string mlb = ReadWholeFile(folder / "a.mlb");
  for (size_t n = 4096; n < std::max(mlb.size(), gguf.size()); n += 4096) {
    if (n < mlb.size()) {
      WriteWholeFile(folder / "cut.mlb", mlb.substr(0, n));
      REQUIRE(!MlbFile::Open(*OpenMapped(folder / "cut.mlb")).ok());
      REQUIRE(!MlbFile::Open(*OpenForReading(folder / "cut.mlb")).ok());
    }
    if (n >= gguf.size()) continue;
    WriteWholeFile(folder / "a.gguf", gguf.substr(0, n));
    REQUIRE(!Convert(Options(folder)).ok());
  }
}

TEST_CASE("llama3's rope factors give its parameters back", "[convert]") {
  TempFolder folder;
  GgufCraft gguf = LlamaGguf();
  // Wavelengths of theta 10000 and head size 8: 6.3, 63, 628, 6283; original 8192, low 1, high 4.
  std::string factors;
  const double smooth = (8192 / (2 * 3.14159265358979 * 1000) - 1) / 3;
  for (const double factor : {1.0, 1.0, 1.0, 1 / ((1 - smooth) / 8 + smooth)}) {
    AppendRaw(&factors, static_cast<float>(factor));
  }
  gguf.Set("llama.rope.freq_base", GgufType::kFloat32, 10000.0f);
  gguf.Add("rope_freqs.weight", {4}, 0, factors);
  // The largest factor here is not the scale itself, so the rule cannot be recovered: refused.
  CHECK(!ConvertCraft(gguf, folder).ok());
  gguf.Set("llama.rope.freq_base", GgufType::kFloat32, 1e6f);  // 6.3, 199, 6283, 198692
  factors.clear();
  for (const double factor : {1.0, 1.0, 1 / ((1 - smooth) / 8 + smooth), 8.0}) {
    AppendRaw(&factors, static_cast<float>(factor));
  }
  gguf.Find("rope_freqs.weight")->data = factors;
  const Status status = ConvertCraft(gguf, folder);
  CAPTURE(std::string(Message(status)));
  REQUIRE(status.ok());
  const auto config = ConfigFromMetadata(*OpenMlb(folder / "a.mlb"));
  REQUIRE(config.ok());
  CHECK(config->rope.kind == "llama3");
  CHECK(config->rope.factor == 8);
  CHECK(config->rope.original_max_positions == 8192);
}

TEST_CASE("a stopped conversion leaves nothing", "[convert]") {
  TempFolder folder;
  WriteWholeFile(folder / "a.gguf", LlamaGguf().Bytes());
  WriteWholeFile(folder / "a.mlb", "old");
  ConvertOptions options = Options(folder);
  int calls = 0;
  options.user = &calls;
  options.progress = [](void* user, uint64_t done, uint64_t total) {
    CHECK(done <= total);
    return ++*static_cast<int*>(user) == 5 ? 1 : 0;
  };
  CHECK(Convert(options).code() == absl::StatusCode::kAborted);
  CHECK(calls == 5);
  CHECK(ReadWholeFile(folder / "a.mlb") == "old");
  REQUIRE(Convert(options).ok());  // the fifth call was the last one that says stop
  CHECK(CheckFile(folder / "a.mlb", nullptr, nullptr).ok());
}

TEST_CASE("an output that is the input is refused", "[convert]") {
  TempFolder folder;
  const std::string bytes = LlamaGguf().Bytes();
  WriteWholeFile(folder / "a.gguf", bytes);
#if defined(_WIN32)  // where links need a privilege
  const std::vector<std::string> names = {folder / "a.gguf", folder / "hard", folder / "./a.gguf"};
#else
  std::filesystem::create_symlink(folder / "a.gguf", folder / "symbolic");
  const std::vector<std::string> names = {folder / "a.gguf", folder / "symbolic", folder / "hard",
                                          folder / "./a.gguf"};
#endif
  std::filesystem::create_hard_link(folder / "a.gguf", folder / "hard");
  ConvertOptions options = Options(folder);
  for (const std::string& out : names) {
    options.out = out;
    CHECK(Convert(options).code() == absl::StatusCode::kInvalidArgument);
    CHECK(ReadWholeFile(folder / "a.gguf") == bytes);
  }
  options.out = folder / "no/such/folder.mlb";
  CHECK(Convert(options).code() == absl::StatusCode::kNotFound);
  const Status space = CheckDiskSpace(folder / "a.mlb", uint64_t{1} << 60);
  CHECK(space.code() == absl::StatusCode::kUnavailable);
  CHECK(Message(space).find("needs 1152921504606846976 bytes") != std::string_view::npos);
}

}  // namespace
}  // namespace krafla
