// Configurations: keys of both checkpoint forms, defaults, refusals that name the field, and the
// way through the metadata of a file.
#include "lib/model/config.h"

#include "lib/convert/json_values.h"
#include "lib/model/arch.h"
#include "tests/model/tiny_model.h"
#include "tests/support/catch.h"
#include "tests/support/temp_folder.h"

namespace krafla {
namespace {

Status FromHf(const std::string& json, Config* config, const char* arch = "LlamaForCausalLM") {
  const auto values = JsonValues::Parse(json, "config.json");
  REQUIRE(values.ok());
  return FindHfArch(arch)->config_from_hf(*values, config);
}

std::string Hf(const std::string& more) {
  return R"({"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
             "intermediate_size": 128, "vocab_size": 512)" +
         more + "}";
}

TEST_CASE("registry finds architectures by each of their names") {
  REQUIRE(FindArch("llama") != nullptr);
  CHECK(FindHfArch("LlamaForCausalLM") == FindArch("llama"));
  CHECK(FindGgufArch("llama") == FindArch("llama"));
  CHECK(FindArch("LlamaForCausalLM") == nullptr);
  CHECK(FindHfArch("NoSuchModel") == nullptr);
  CHECK(AllArchs().size() >= 1);
}

TEST_CASE("a sparse config.json takes the family's defaults") {
  Config config;
  REQUIRE(FromHf(Hf(R"(, "head_dim": null, "rope_scaling": null)"), &config).ok());
  CHECK(config.n_kv_heads == 4);
  CHECK(config.head_dim == 16);
  CHECK(config.max_positions == 2048);
  CHECK(config.norm_eps == 1e-6);
  CHECK(config.rope.kind == "default");
  CHECK(config.rope.theta == 10000);
  CHECK(!config.tied_head);
  CHECK(config.bos_id == -1);
  CHECK(ValidateConfig(config).ok());
}

TEST_CASE("rope keys are found in the old and in the new place") {
  const char* const forms[] = {
      R"(, "rope_theta": 5e5, "rope_scaling": {"rope_type": "llama3", "factor": 32.0,
          "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64})",
      R"(, "rope_parameters": {"rope_theta": 5e5, "rope_type": "llama3", "factor": 32.0,
          "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64})"};
  for (const char* form : forms) {
    Config config;
    REQUIRE(FromHf(Hf(form), &config).ok());
    CHECK(config.rope.kind == "llama3");
    CHECK(config.rope.theta == 5e5);
    CHECK(config.rope.factor == 32);
    CHECK(config.rope.high_freq_factor == 4);
    CHECK(config.rope.original_max_positions == 64);
    CHECK(ValidateConfig(config).ok());
  }
  Config config;
  REQUIRE(FromHf(Hf(R"(, "rope_scaling": {"type": "linear", "factor": 2})"), &config).ok());
  CHECK(config.rope.kind == "linear");
  CHECK(config.rope.factor == 2);
}

TEST_CASE("token ids may be one or a list") {
  Config config;
  REQUIRE(FromHf(Hf(R"(, "bos_token_id": 1, "eos_token_id": [2, 7])"), &config).ok());
  CHECK(config.bos_id == 1);
  CHECK(config.end_ids == std::vector<int64_t>{2, 7});
  REQUIRE(FromHf(Hf(R"(, "eos_token_id": 3)"), &config).ok());
  CHECK(config.end_ids == std::vector<int64_t>{3});
  CHECK(!FromHf(Hf(R"(, "eos_token_id": [1e300])"), &config).ok());
}

TEST_CASE("what cannot be run is refused by name") {
  const std::pair<const char*, const char*> refused[] = {
      {R"(, "hidden_act": "gelu")", "gelu"},
      {R"(, "rope_parameters": {"partial_rotary_factor": 0.5})", "partial_rotary_factor"},
      {R"(, "num_key_value_heads": "4")", "num_key_value_heads"},
      {R"(, "rms_norm_eps": "small")", "rms_norm_eps"},
  };
  for (const auto& [json, name] : refused) {
    Config config;
    const Status status = FromHf(Hf(json), &config);
    CHECK(!status.ok());
    CHECK_THAT(std::string(Message(status)), Catch::Contains(name));
  }
  Config config;
  REQUIRE(FromHf(Hf(R"(, "rope_scaling": {"rope_type": "dynamic", "factor": 4})"), &config).ok());
  CHECK_THAT(std::string(Message(ValidateConfig(config))), Catch::Contains("dynamic"));
  Config fresh;
  CHECK_THAT(std::string(Message(FromHf(R"({"hidden_size": 64})", &fresh))),
             Catch::Contains("num_hidden_layers"));
}

// Not a default in its place: each of these once went unread.
TEST_CASE("a value of another kind is refused wherever a key is read") {
  const std::pair<const char*, const char*> refused[] = {
      {R"(, "head_dim": ["16"])", "head_dim"},
      {R"(, "num_key_value_heads": {"a": 4})", "num_key_value_heads"},
      {R"(, "tie_word_embeddings": ["yes"])", "tie_word_embeddings"},
      {R"(, "hidden_act": 7)", "hidden_act"},
      {R"(, "eos_token_id": [2, "a"])", "eos_token_id"},
      {R"(, "bos_token_id": [[1]])", "bos_token_id"},
      {R"(, "rope_scaling": "yarn")", "rope_scaling"},
      {R"(, "rope_scaling": [1])", "rope_scaling"},
      {R"(, "rope_parameters": true)", "rope_parameters"},
      {R"(, "rope_scaling": {"type": 7, "factor": 2})", "rope_scaling.type"},
      {R"(, "rope_scaling": {"type": "linear", "factor": {}})", "rope_scaling.factor"},
      {R"(, "layer_types": "full_attention")", "layer_types"},
      {R"(, "layer_types": [1, 2])", "layer_types"},
      {R"(, "layer_types": ["full_attention"])", "layer_types"},
      {R"(, "layer_types": ["full_attention", "linear_attention"])", "linear_attention"},
  };
  for (const auto& [json, name] : refused) {
    Config config;
    CAPTURE(json);
    CHECK_THAT(std::string(Message(FromHf(Hf(json), &config))), Catch::Contains(name));
  }
}

TEST_CASE("a scaled rope without its factor is refused") {
  for (const char* kind : {"linear", "llama3"}) {
    Config config;
    const std::string scaling = FormatText(R"(, "rope_scaling": {{"rope_type": "{}"}})", kind);
    CHECK_THAT(std::string(Message(FromHf(Hf(scaling), &config))), Catch::Contains("factor"));
  }
  Config config;  // 0 is not absent
  REQUIRE(FromHf(Hf(R"(, "rope_scaling": {"type": "linear", "factor": 0})"), &config).ok());
  CHECK_THAT(std::string(Message(ValidateConfig(config))), Catch::Contains("factor"));
}

TEST_CASE("fields outside their range are refused by name") {
  const auto check = [](const char* name, auto change) {
    Config config;
    REQUIRE(FromHf(Hf(""), &config).ok());
    change(config);
    const Status status = ValidateConfig(config);
    INFO(name);
    CHECK(!status.ok());
    CHECK_THAT(std::string(Message(status)), Catch::Contains(name));
  };
  check("n_layers", [](Config& c) { c.n_layers = 0; });
  check("n_layers", [](Config& c) { c.n_layers = 1000000000; });
  check("n_heads", [](Config& c) { c.n_heads = 0; });
  check("n_kv_heads", [](Config& c) { c.n_kv_heads = 0; });
  check("n_kv_heads", [](Config& c) { c.n_kv_heads = 3; });
  check("n_kv_heads", [](Config& c) { c.n_kv_heads = 8; });
  check("head_dim", [](Config& c) { c.head_dim = 17; });
  check("head_dim", [](Config& c) { c.head_dim = 2048; });
  check("n_embd", [](Config& c) { c.n_embd = -64; });
  check("n_ff", [](Config& c) { c.n_ff = int64_t{1} << 40; });
  check("n_vocab", [](Config& c) { c.n_vocab = int64_t{1} << 31; });
  check("max_positions", [](Config& c) { c.max_positions = 0; });
  check("norm_eps", [](Config& c) { c.norm_eps = 0; });
  check("norm_eps", [](Config& c) { c.norm_eps = std::numeric_limits<double>::quiet_NaN(); });
  check("rope.theta", [](Config& c) { c.rope.theta = -1; });
  check("rope.theta", [](Config& c) { c.rope.theta = std::numeric_limits<double>::infinity(); });
  check("rope.factor", [](Config& c) { c.rope.factor = 0; });
  check("bos_id", [](Config& c) { c.bos_id = 512; });
  check("end_ids", [](Config& c) { c.end_ids = {-1}; });
  check("original_max_positions", [](Config& c) { c.rope.kind = "llama3"; });
  check("original_max_positions", [](Config& c) { c.rope.kind = "yarn"; });
  check("short_factors", [](Config& c) {
    c.rope.kind = "longrope";
    c.rope.original_max_positions = 64;
  });
  check("n_rot", [](Config& c) { c.n_rot = 18; });
  check("n_rot", [](Config& c) { c.n_rot = 7; });
  check("attention_softcap", [](Config& c) { c.attention_softcap = 1e-300; });
  check("final_softcap", [](Config& c) { c.final_softcap = 1e-40; });
  check("windows", [](Config& c) { c.windows = {4}; });
  check("windows", [](Config& c) { c.windows = {4, -1}; });
  check("ropes", [](Config& c) { c.ropes = {0, 2}; });
  check("local_rope.kind", [](Config& c) {
    c.ropes = {0, 1};
    c.local_rope.kind = "other";
  });
  check("high_freq_factor", [](Config& c) {
    c.rope.kind = "llama3";
    c.rope.original_max_positions = 64;
  });
}

class GgufValues final : public KeyValues {
 public:
  std::map<std::string, double, std::less<>> numbers;
  std::map<std::string, std::string, std::less<>> strings;
  std::optional<int64_t> Integer(std::string_view key) const override {
    const auto number = Number(key);
    if (!number || *number != static_cast<double>(static_cast<int64_t>(*number))) return {};
    return static_cast<int64_t>(*number);
  }
  std::optional<double> Number(std::string_view key) const override {
    const auto at = numbers.find(key);
    return at == numbers.end() ? std::nullopt : std::optional(at->second);
  }
  std::optional<bool> Bool(std::string_view) const override { return {}; }
  std::optional<std::string> String(std::string_view key) const override {
    const auto at = strings.find(key);
    return at == strings.end() ? std::nullopt : std::optional(at->second);
  }
  std::optional<std::vector<double>> Numbers(std::string_view) const override { return {}; }
  bool Has(std::string_view key) const override {
    return Number(key).has_value() || String(key).has_value();
  }
};

GgufValues SmallGguf() {
  GgufValues values;
  values.numbers = {
      {"llama.embedding_length", 64},     {"llama.block_count", 2},
      {"llama.attention.head_count", 4},  {"llama.attention.head_count_kv", 2},
      {"llama.feed_forward_length", 128}, {"llama.attention.layer_norm_rms_epsilon", 1e-5},
      {"llama.context_length", 2048},     {"llama.rope.dimension_count", 16},
      {"llama.rope.freq_base", 100000},   {"tokenizer.ggml.tokens.length", 512},
      {"tokenizer.ggml.bos_token_id", 1}, {"tokenizer.ggml.eos_token_id", 2},
      {"tokenizer.ggml.eot_token_id", 2}};
  values.strings = {{"general.name", "small"}};
  return values;
}

TEST_CASE("a GGUF header gives the same fields") {
  const Arch* arch = FindGgufArch("llama");
  GgufValues values = SmallGguf();
  Config config;
  REQUIRE(arch->config_from_gguf(values, &config).ok());
  CHECK(ValidateConfig(config).ok());
  CHECK(config.name == "small");
  CHECK(config.head_dim == 16);
  CHECK(config.n_kv_heads == 2);
  CHECK(config.n_vocab == 512);
  CHECK(config.rope.theta == 100000);
  CHECK(config.end_ids == std::vector<int64_t>{2});

  values.numbers["llama.rope.dimension_count"] = 8;
  CHECK_THAT(std::string(Message(arch->config_from_gguf(values, &config))),
             Catch::Contains("llama.rope.dimension_count"));
  values = SmallGguf();
  values.numbers.erase("llama.block_count");
  Config fresh;
  CHECK_THAT(std::string(Message(arch->config_from_gguf(values, &fresh))),
             Catch::Contains("llama.block_count"));
  values = SmallGguf();
  values.strings["llama.rope.scaling.type"] = "linear";
  values.numbers["llama.rope.scaling.factor"] = 4;
  REQUIRE(arch->config_from_gguf(values, &config).ok());
  CHECK(config.rope.kind == "linear");
  CHECK(config.rope.factor == 4);
}

TEST_CASE("tensor lists name shapes and permutations") {
  const Config config = test::ReadConfig("llama3");
  const auto specs = FindArch("llama")->tensors(config);
  REQUIRE(specs.size() == 1 + 2 * 9 + 1);  // tied: no head
  CHECK(specs[0].gguf[0].name == "token_embd.weight");
  CHECK(specs[2].name == "layers.0.wq");
  CHECK(specs[2].gguf_permuted_heads == 4);
  CHECK(specs[3].gguf[0].name == "blk.0.attn_k.weight");
  CHECK(specs[3].gguf_permuted_heads == 2);
  CHECK(specs[3].rows == 32);
  CHECK(specs[4].gguf_permuted_heads == 0);
  CHECK(specs[6].rows == 0);
  CHECK(specs[6].hf[0].name == "model.layers.0.post_attention_layernorm.weight");
}

TEST_CASE("a configuration survives the file") {
  Config config = test::ReadConfig("llama3");
  const TempFolder folder;
  test::WriteTiny("llama3", Format::kF32, folder / "model.mlb");
  auto file = MlbFile::Open(*OpenMapped(folder / "model.mlb"));
  REQUIRE(file.ok());
  const auto read = ConfigFromMetadata(**file);
  REQUIRE(read.ok());
  CHECK(read->arch == "llama");
  CHECK(read->n_layers == config.n_layers);
  CHECK(read->n_kv_heads == config.n_kv_heads);
  CHECK(read->norm_eps == config.norm_eps);
  CHECK(read->rope.kind == "llama3");
  CHECK(read->rope.factor == 32);
  CHECK(read->rope.original_max_positions == 64);
  CHECK(read->tied_head);
  CHECK(read->end_ids == config.end_ids);
  CHECK(read->bos_id == 1);
}

}  // namespace
}  // namespace krafla
