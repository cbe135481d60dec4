// Hugging Face folders and tokenizers: golden round trips, shards, what is beside the weights.
#include <filesystem>

#include "lib/convert/convert.h"
#include "lib/convert/import.h"
#include "lib/file/mlb_writer.h"
#include "lib/model/config.h"
#include "tests/convert/craft.h"
#include "tests/convert/read_mlb.h"
#include "tests/support/catch.h"
#include "tests/support/temp_folder.h"

namespace krafla {
namespace {

const std::string kModels = std::string(KRAFLA_TEST_DATA) + "/models/";

Status ConvertFolder(const std::string& in, const std::string& out, Format wtype = Format::kF32) {
  ConvertOptions options;
  options.kind = ConvertKind::kHf;
  options.in = in;
  options.out = out;
  options.wtype = wtype;
  return Convert(options);
}

void CopyModel(const std::string& name, const TempFolder& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(kModels + name)) {
    std::filesystem::copy_file(entry.path(), folder / entry.path().filename().string());
  }
}

void Replace(const std::string& path, std::string_view from, std::string_view to) {
  std::string text = ReadWholeFile(path);
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  WriteWholeFile(path, text.replace(at, from.size(), to));
}

TEST_CASE("checkpoints round-trip through f32", "[convert]") {
  for (const char* name : {"llama2", "llama3", "llama_odd", "smollm2"}) {
    CAPTURE(name);
    TempFolder folder;
    const Status status = ConvertFolder(kModels + name, folder / "a.mlb");
    CAPTURE(std::string(Message(status)));
    REQUIRE(status.ok());
    REQUIRE(CheckFile(folder / "a.mlb", nullptr, nullptr).ok());
    const auto file = OpenMlb(folder / "a.mlb");
    Import import;
    REQUIRE(ImportHf(kModels + name, &import).ok());
    CHECK(import.inputs.size() == 2);
    size_t compared = 0;
    for (const TensorSpec& spec : import.arch->tensors(import.config)) {
      const CheckpointTensor* source = import.checkpoint.Find(spec.hf[0].name);
      REQUIRE(source != nullptr);
      const uint64_t rows = spec.rows == 0 ? 1 : static_cast<uint64_t>(spec.rows);
      std::vector<char> raw(source->bytes);
      std::vector<float> want(rows * source->cols());
      REQUIRE(ReadRawRows(*source, 0, rows, raw.data()).ok());
      DecodeRows(*source, raw.data(), rows, want.data());
      const std::vector<float> got = ReadTensor(*file, spec.name);
      CAPTURE(spec.name, got.size(), want.size());
      const bool equal = got == want;
      CHECK(equal);
      compared++;
    }
    CHECK(compared == file->tensors().size());
    for (const Format format : {Format::kF16, Format::kBF16, Format::kQ8, Format::kQ4}) {
      REQUIRE(ConvertFolder(kModels + name, folder / "b.mlb", format).ok());
      CHECK(CheckFile(folder / "b.mlb", nullptr, nullptr).ok());
    }
    // Equal input gives an equal file.
    REQUIRE(ConvertFolder(kModels + name, folder / "c.mlb").ok());
    CHECK(ReadWholeFile(folder / "a.mlb") == ReadWholeFile(folder / "c.mlb"));
  }
}

TEST_CASE("a folder's tokenizer, template and end ids are taken", "[convert]") {
  TempFolder folder;
  CopyModel("tiny-chat", folder);
  WriteWholeFile(folder / "generation_config.json", R"({"eos_token_id": [2, 0, 7]})");
  REQUIRE(ConvertFolder(folder.path(), folder / "a.mlb", Format::kQ8).ok());
  REQUIRE(CheckFile(folder / "a.mlb", nullptr, nullptr).ok());
  const auto file = OpenMlb(folder / "a.mlb");
  CHECK(!file->Section("tokenizer")->empty());
  CHECK(file->Section("template")->starts_with("{% for message in messages %}"));
  CHECK(ConfigFromMetadata(*file)->end_ids == std::vector<int64_t>{2, 0, 7});
  // Several templates: the one named default; a chat_template.jinja wins, its CRLF is LF.
  WriteWholeFile(folder / "tokenizer_config.json",
                 R"({"chat_template": [{"name": "tool_use", "template": "T"},
                                       {"name": "default", "template": "D"}]})");
  ConvertOptions options;
  options.kind = ConvertKind::kTokenizer;
  options.in = folder / "tokenizer.json";
  options.out = folder / "a.mlt";
  REQUIRE(Convert(options).ok());
  REQUIRE(CheckFile(folder / "a.mlt", nullptr, nullptr).ok());
  CHECK(*OpenMlb(folder / "a.mlt")->Section("template") == "D");
  // tokenizer_config.json goes before chat_template.json, which is read where that has none.
  WriteWholeFile(folder / "chat_template.json", R"({"chat_template": "J"})");
  REQUIRE(Convert(options).ok());
  CHECK(*OpenMlb(folder / "a.mlt")->Section("template") == "D");
  WriteWholeFile(folder / "tokenizer_config.json", "{}");
  REQUIRE(Convert(options).ok());
  CHECK(*OpenMlb(folder / "a.mlt")->Section("template") == "J");
  WriteWholeFile(folder / "chat_template.jinja", "a\r\nb\rc\n");
  REQUIRE(Convert(options).ok());
  const auto tokenizer = OpenMlb(folder / "a.mlt");
  CHECK(*tokenizer->Section("template") == "a\nb\rc\n");
  CHECK(tokenizer->tensors().empty());
  options.out = folder / "tokenizer_config.json";
  CHECK(Convert(options).code() == absl::StatusCode::kInvalidArgument);
  std::filesystem::remove(folder / "chat_template.jinja");
  WriteWholeFile(folder / "tokenizer_config.json", R"({"chat_template": 5})");
  options.out = folder / "a.mlt";
  CHECK_THAT(std::string(Message(Convert(options))), Catch::Contains("chat_template: of another"));
}

TEST_CASE("the tokenizer's end token ends replies, too", "[convert]") {
  TempFolder folder;
  CopyModel("tiny-chat", folder);
  const auto ends = [&] {
    REQUIRE(ConvertFolder(folder.path(), folder / "a.mlb").ok());
    return ConfigFromMetadata(*OpenMlb(folder / "a.mlb"))->end_ids;
  };
  using Ids = std::vector<int64_t>;
  const std::string config = folder / "config.json";
  CHECK(ends() == Ids{2});  // "<|im_end|>" is 2
  Replace(config, "\"eos_token_id\": 2", "\"eos_token_id\": 0");
  CHECK(ends() == Ids{0, 2});
  const std::string generation = folder / "generation_config.json";
  WriteWholeFile(generation, R"({"temperature": 1})");
  CHECK(ends() == Ids{0, 2});
  WriteWholeFile(generation, R"({"eos_token_id": [0, 7]})");  // which says it all
  CHECK(ends() == Ids{0, 7});
  std::filesystem::remove(generation);
  Replace(config, "\"eos_token_id\": 0", "\"eos_token_id\": null");
  CHECK(ends() == Ids{2});
  Replace(folder / "tokenizer_config.json", "\"eos_token\": \"<|im_end|>\"",
          "\"eos_token\": {\"content\": \"<|endoftext|>\"}");
  CHECK(ends() == Ids{0});
  Replace(folder / "tokenizer_config.json", "<|endoftext|>", "<|nowhere|>");
  CHECK(ends() == Ids{});
  std::filesystem::remove(folder / "tokenizer_config.json");
  CHECK(ends() == Ids{});
}

TEST_CASE("a head that is absent and not said to be the embedding is refused", "[convert]") {
  TempFolder folder;
  CopyModel("smollm2", folder);  // which is tied
  const std::string config = folder / "config.json";
  REQUIRE(ConvertFolder(folder.path(), folder / "a.mlb").ok());
  std::filesystem::remove(folder / "a.mlb");
  for (const auto& [from, to] :
       {std::pair{"\"tie_word_embeddings\": true", "\"tie_word_embeddings\": false"},
        std::pair{"\"tie_word_embeddings\": false", "\"was\": false"}}) {
    Replace(config, from, to);
    const Status status = ConvertFolder(folder.path(), folder / "a.mlb");
    CHECK_THAT(std::string(Message(status)),
               Catch::Contains("1 missing tensors for llama: lm_head.weight"));
    CHECK(!std::filesystem::exists(folder / "a.mlb"));
  }
}

TEST_CASE("a tokenizer that would not open is not written", "[convert]") {
  TempFolder folder;
  ConvertOptions options;
  options.kind = ConvertKind::kTokenizer;
  options.in = folder / "tokenizer.json";
  options.out = folder / "a.mlt";
  for (const char* pattern : {"[", "(?<=a*)b", "\\\\p{Foo}", "a{99999}"}) {
    WriteWholeFile(options.in, ReadWholeFile(kModels + "tiny-chat/tokenizer.json"));
    const std::string text = ReadWholeFile(options.in);
    const size_t at = text.find("\"pre_tokenizer\":");
    REQUIRE(at != std::string::npos);
    const std::string split = FormatText(
        R"("pre_tokenizer": {{"type": "Split", "pattern": {{"Regex": "{}"}}, "behavior": "Isolated", "invert": false}}, "was":)",
        pattern);
    WriteWholeFile(options.in, text.substr(0, at) + split + text.substr(at + 16));
    CHECK_THAT(std::string(Message(Convert(options))), Catch::Contains("pattern"));
    CHECK(!std::filesystem::exists(options.out));
  }
}

TEST_CASE("shards read like one file", "[convert]") {
  TempFolder folder;
  WriteWholeFile(folder / "config.json", ReadWholeFile(kModels + "llama3/config.json"));
  // Splits the fixture: every second tensor into its own shard.
  Import import;
  REQUIRE(ImportHf(kModels + "llama3", &import).ok());
  std::string headers[2], data[2], map;
  size_t i = 0;
  for (const CheckpointTensor& tensor : import.checkpoint.tensors()) {
    const size_t s = i++ % 2;
    std::string raw(tensor.bytes, '\0');
    REQUIRE(tensor.file->ReadAt(tensor.offset, raw.data(), raw.size()).ok());
    std::string shape;
    for (const uint64_t dim : tensor.shape)
      shape += fmt::format("{}{}", shape.empty() ? "" : ",", dim);
    headers[s] += fmt::format(R"({}"{}":{{"dtype":"BF16","shape":[{}],"data_offsets":[{},{}]}})",
                              headers[s].empty() ? "{" : ",", tensor.name, shape, data[s].size(),
                              data[s].size() + raw.size());
    data[s] += raw;
    map += fmt::format(R"({}"{}":"shard-{}.safetensors")", map.empty() ? "" : ",", tensor.name, s);
  }
  const std::string index = folder / "model.safetensors.index.json";
  const std::string good = R"({"metadata":{},"weight_map":{)" + map + "}}";
  const auto restore = [&] {
    for (size_t s = 0; s < 2; s++) {
      WriteWholeFile(folder / ("shard-" + std::to_string(s) + ".safetensors"),
                     Safetensors(headers[s] + "}", data[s]));
    }
    WriteWholeFile(index, good);
  };
  restore();
  REQUIRE(ConvertFolder(folder.path(), folder / "a.mlb").ok());
  REQUIRE(ConvertFolder(kModels + "llama3", folder / "b.mlb").ok());
  CHECK(ReadWholeFile(folder / "a.mlb") == ReadWholeFile(folder / "b.mlb"));

  const auto refused = [&](std::string_view message) {
    const Status status = ConvertFolder(folder.path(), folder / "c.mlb");
    CAPTURE(std::string(Message(status)));
    CHECK(Message(status).find(message) != std::string_view::npos);
    CHECK(!std::filesystem::exists(folder / "c.mlb"));
    restore();
  };
  std::filesystem::remove(folder / "shard-1.safetensors");
  refused("names shard shard-1.safetensors, which is missing");
  Replace(index, "weight_map\":{", "weight_map\":{\"extra\":\"shard-0.safetensors\",");
  refused("tensor extra is not in shard shard-0.safetensors");
  Replace(index, "shard-0.safetensors", "../shard-0.safetensors");
  refused("is not a file name");
  Replace(index, "weight_map", "weight_mop");
  refused("no weight_map");
  WriteWholeFile(index, std::string(100, '['));
  refused("index.json:");
  WriteWholeFile(folder / "shard-1.safetensors", "version https://git-lfs.github.com/spec/v1\n");
  refused("shard-1.safetensors: is a Git LFS pointer");
  WriteWholeFile(folder / "shard-1.safetensors",
                 Safetensors(headers[1] + "}", data[1].substr(0, 1000)));
  refused("shard-1.safetensors: the tensors end at");
  WriteWholeFile(folder / "shard-1.safetensors", Safetensors(headers[0] + "}", data[0]));
  refused("comes twice");
  Replace(folder / "shard-0.safetensors", "\"BF16\"", "\"I16\" ");
  refused("I16 cannot be a weight");
}

TEST_CASE("a folder that is not a model is refused by name", "[convert]") {
  TempFolder folder;
  const auto refused = [&](std::string_view message) {
    const Status status = ConvertFolder(folder.path(), folder / "a.mlb");
    CAPTURE(std::string(Message(status)));
    CHECK(Message(status).find(message) != std::string_view::npos);
  };
  refused("config.json: no such file");
  CopyModel("llama2", folder);
  const std::string config = folder / "config.json";
  const std::string good = ReadWholeFile(config);
  Replace(config, "LlamaForCausalLM", "RwkvForCausalLM");
  refused("architecture RwkvForCausalLM");
  WriteWholeFile(config, "{\"architectures\": 5}");
  refused("architectures");
  WriteWholeFile(config, "[]");
  refused("not a JSON object");
  WriteWholeFile(config, good.substr(0, 100));
  refused("config.json:");
  WriteWholeFile(config, good);
  Replace(config, "\"num_attention_heads\": ", "\"num_attention_heads\": 0, \"was\": ");
  refused("config.json: num_attention_heads: got 0, want 1 to");
  WriteWholeFile(config, good);
  WriteWholeFile(config, ReadWholeFile(kModels + "qwen3_moe/config.json"));
  Replace(config, "\"num_experts_per_tok\": ", "\"num_experts_per_tok\": 1000, \"was\": ");
  refused("config.json: num_experts_per_tok: got 1000, want");
  WriteWholeFile(config, good);
  Replace(config, "\"hidden_size\": ", "\"hidden_size\": \"wide\", \"was\": ");
  refused("config.json: hidden_size: of another kind");
  WriteWholeFile(config, good);
  Replace(config, "\"tie_word_embeddings\": false", "\"tie_word_embeddings\": true ");
  CHECK(ConvertFolder(folder.path(), folder / "a.mlb").ok());  // the flag rules over the tensor
  CHECK(OpenMlb(folder / "a.mlb")->Tensor("head") == nullptr);
  WriteWholeFile(config, good);
  WriteWholeFile(folder / "generation_config.json", R"({"eos_token_id": 1e9})");
  refused("generation_config.json: eos_token_id: got 1000000000");
  WriteWholeFile(folder / "generation_config.json", R"({"eos_token_id": [2, "a"]})");
  refused("generation_config.json: eos_token_id: of another kind");
  std::filesystem::remove(folder / "generation_config.json");
  Replace(config, "\"hidden_size\": ", "\"text_config\": 5, \"hidden_size\": ");
  refused("config.json: text_config: of another kind");
  WriteWholeFile(config, good);
  std::filesystem::remove(folder / "model.safetensors");
  refused("neither model.safetensors nor");
  // The empty name would stand for the root folder.
  CHECK(ConvertFolder("", folder / "a.mlb").code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("check finds what a header cannot show", "[convert]") {
  TempFolder folder;
  REQUIRE(ConvertFolder(kModels + "llama2", folder / "a.mlb").ok());
  std::string bytes = ReadWholeFile(folder / "a.mlb");
  bytes[bytes.size() - 5] = static_cast<char>(bytes[bytes.size() - 5] ^ 1);
  WriteWholeFile(folder / "a.mlb", bytes);
  CHECK(Message(CheckFile(folder / "a.mlb", nullptr, nullptr)).find("checksum") !=
        std::string_view::npos);
  MlbWriter empty;
  CHECK(CheckFile(folder / "absent", nullptr, nullptr).code() == absl::StatusCode::kNotFound);
  REQUIRE(empty.Begin(folder / "b.mlb").ok());
  REQUIRE(empty.Finish().ok());
  CHECK(Message(CheckFile(folder / "b.mlb", nullptr, nullptr)).find("neither a model") !=
        std::string_view::npos);
}

// MLX moves the taps of a convolution and stores norms as 1 + w: the shape tells.
TEST_CASE("a checkpoint that MLX has saved again is refused, not garbled", "[convert]") {
  TempFolder folder;
  CopyModel("qwen3_5", folder);
  REQUIRE(ConvertFolder(folder.path(), folder / "a.mlb").ok());
  Replace(folder / "model.safetensors", "[128,1,4]", "[128,4,1]");
  const Status status = ConvertFolder(folder.path(), folder / "b.mlb");
  CHECK_THAT(std::string(Message(status)), Catch::Contains("conv1d"));
  CHECK_THAT(std::string(Message(status)), Catch::Contains("128x4x1, want 128x1x4"));
}

TEST_CASE("each expert is one contiguous piece at a page", "[convert]") {
  TempFolder folder;
  REQUIRE(ConvertFolder(kModels + "qwen3_moe_odd", folder / "a.mlb", Format::kQ4).ok());
  REQUIRE(CheckFile(folder / "a.mlb", nullptr, nullptr).ok());
  const auto file = OpenMlb(folder / "a.mlb");
  const MlbTensor* gate = file->Tensor("layers.1.experts.w_gate");
  const MlbTensor* up = file->Tensor("layers.1.experts.w_up");
  const MlbTensor* down = file->Tensor("layers.1.experts.w_down");
  REQUIRE(gate != nullptr);
  CHECK(gate->dims == std::array<uint64_t, 4>{5, 24, 80, 0});
  CHECK(down->dims == std::array<uint64_t, 4>{5, 80, 24, 0});
  const auto pages = [](uint64_t bytes) { return (bytes + 4095) / 4096 * 4096; };
  CHECK(gate->offset % 4096 == 0);
  CHECK(up->offset == gate->offset + pages(gate->bytes / 5));
  CHECK(down->offset == up->offset + pages(up->bytes / 5));
  CHECK(gate->slice_stride == down->offset - gate->offset + pages(down->bytes / 5));
  CHECK(down->slice_stride == gate->slice_stride);
  CHECK(file->Tensor("layers.1.router")->type == static_cast<uint32_t>(Format::kF32));
}

}  // namespace
}  // namespace krafla
