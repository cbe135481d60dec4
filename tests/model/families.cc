// What the families' configurations say and leave out: windows, ropes, defaults, constants.
#include "lib/convert/json_values.h"
#include "lib/convert/published.h"
#include "lib/model/arch.h"
#include "lib/model/config.h"
#include "tests/model/tiny_model.h"
#include "tests/support/catch.h"
#include "tests/support/temp_folder.h"

namespace krafla {
namespace {

constexpr const char* kSizes = R"("hidden_size": 64, "num_hidden_layers": 4,
    "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 512)";

Status Read(const char* arch, const std::string& json, Config* config) {
  const auto values = JsonValues::Parse(json, "config.json");
  REQUIRE(values.ok());
  const PublishedConfig published(*values);
  const Status status = FindPublishedArch(published, arch)->config_from_hf(published, config);
  if (!status.ok()) return status;
  return ValidateConfig(*config);
}

Config Good(const char* arch, const std::string& more) {
  Config config;
  const Status status = Read(arch, FormatText("{{{}{}}}", kSizes, more), &config);
  INFO(Message(status));
  REQUIRE(status.ok());
  return config;
}

std::string Refusal(const char* arch, const std::string& more) {
  Config config;
  return std::string(Message(Read(arch, FormatText("{{{}{}}}", kSizes, more), &config)));
}

TEST_CASE("Mistral's window is 4096 where the key is absent, none where it is null") {
  using Windows = std::vector<int64_t>;
  CHECK(Good("MistralForCausalLM", "").windows == Windows(4, 4096));
  CHECK(Good("MistralForCausalLM", R"(, "sliding_window": null)").windows.empty());
  CHECK(Good("MistralForCausalLM", R"(, "sliding_window": 5)").windows == Windows(4, 5));
  CHECK_THAT(Refusal("MistralForCausalLM", R"(, "sliding_window": -5)"),
             Catch::Contains("windows"));
}

TEST_CASE("Qwen's windows count from max_window_layers on, and only where they are used") {
  using Windows = std::vector<int64_t>;
  const std::string window = R"(, "sliding_window": 8, "max_window_layers": 3)";
  for (const char* arch : {"Qwen2ForCausalLM", "Qwen3ForCausalLM"}) {
    CHECK(Good(arch, window).windows.empty());
    CHECK(Good(arch, window + R"(, "use_sliding_window": true)").windows == Windows{0, 0, 0, 8});
  }
  const std::string kinds = R"(, "use_sliding_window": true, "layer_types": ["sliding_attention",
      "full_attention", "full_attention", "sliding_attention"])";
  CHECK(Good("Qwen2ForCausalLM", window + kinds).windows == Windows{8, 0, 0, 8});
  CHECK_THAT(Refusal("Qwen2ForCausalLM", window + R"(, "use_sliding_window": true,
      "layer_types": ["sliding_attention"])"),
             Catch::Contains("layer_types"));
  CHECK_THAT(Refusal("Qwen2ForCausalLM", window + R"(, "use_sliding_window": true,
      "layer_types": ["linear_attention", "full_attention", "full_attention", "full_attention"])"),
             Catch::Contains("linear_attention"));
}

TEST_CASE("biases follow the family and its keys") {
  CHECK(Good("Qwen2ForCausalLM", "").qkv_bias);
  CHECK(!Good("Qwen2ForCausalLM", "").o_bias);
  const Config llama = Good("LlamaForCausalLM", R"(, "attention_bias": true, "mlp_bias": true)");
  CHECK(llama.qkv_bias);
  CHECK(llama.o_bias);
  CHECK(llama.ffn_bias);
  CHECK(!Good("Qwen3ForCausalLM", "").qkv_bias);
  CHECK(Good("Qwen3ForCausalLM", "").head_dim == 128);
}

// The 4B model's text_config as it is published.
TEST_CASE("a sparse Gemma 3 configuration is completed by the family") {
  Config config;
  REQUIRE(Read("Gemma3ForConditionalGeneration", R"({
    "architectures": ["Gemma3ForConditionalGeneration"], "eos_token_id": [1, 106],
    "model_type": "gemma3", "text_config": {"hidden_size": 2560, "intermediate_size": 10240,
    "model_type": "gemma3_text", "num_hidden_layers": 34, "rope_scaling": {"factor": 8.0,
    "rope_type": "linear"}, "sliding_window": 1024}, "torch_dtype": "bfloat16",
    "vision_config": {"hidden_size": 1152}})",
               &config)
              .ok());
  CHECK(config.n_vocab == 262208);
  CHECK(config.n_heads == 8);
  CHECK(config.n_kv_heads == 4);
  CHECK(config.head_dim == 256);
  CHECK(config.max_positions == 131072);
  CHECK(config.tied_head);
  CHECK(config.end_ids == std::vector<int64_t>{1, 106});
  CHECK(config.attention_scale == 1.0 / 16);
  CHECK(config.rope.kind == "linear");
  CHECK(config.rope.theta == 1e6);
  CHECK(config.local_rope.kind == "default");
  CHECK(config.local_rope.theta == 1e4);
  for (int64_t i = 0; i < 34; ++i) {
    CHECK(config.window(i) == (i % 6 == 5 ? 0 : 1024));
    CHECK(config.rope_of(i) == (i % 6 == 5 ? 0 : 1));
  }
}

TEST_CASE("what a family cannot be here is refused by name") {
  CHECK_THAT(Refusal("LlamaForCausalLM", R"(, "rope_scaling": {"type": "dynamic", "factor": 2})"),
             Catch::Contains("dynamic"));
  CHECK_THAT(Refusal("Gemma2ForCausalLM", R"(, "hidden_activation": "gelu")"),
             Catch::Contains("hidden_activation"));
  CHECK_THAT(Refusal("Gemma3ForCausalLM", R"(, "use_bidirectional_attention": true)"),
             Catch::Contains("use_bidirectional_attention"));
  CHECK_THAT(Refusal("Gemma3ForCausalLM", R"(, "sliding_window_pattern": 0)"),
             Catch::Contains("sliding_window_pattern"));
  CHECK_THAT(Refusal("SmolLM3ForCausalLM", R"(, "use_sliding_window": true)"),
             Catch::Contains("use_sliding_window"));
  CHECK_THAT(Refusal("SmolLM3ForCausalLM", R"(, "no_rope_layers": [1, 0])"),
             Catch::Contains("no_rope_layers"));
  CHECK_THAT(Refusal("SmolLM3ForCausalLM", R"(, "no_rope_layers": [])"),
             Catch::Contains("no_rope_layers"));
  CHECK_THAT(Refusal("SmolLM3ForCausalLM", R"(, "no_rope_layers": [true, true])"),
             Catch::Contains("no_rope_layers"));
  CHECK_THAT(Refusal("Gemma3ForCausalLM", R"(, "final_logit_softcapping": "30")"),
             Catch::Contains("final_logit_softcapping"));
  CHECK_THAT(Refusal("Gemma3ForCausalLM", R"(, "use_bidirectional_attention": "yes")"),
             Catch::Contains("use_bidirectional_attention"));
  CHECK_THAT(Refusal("Phi3ForCausalLM", R"(, "partial_rotary_factor": 1e-9)"),
             Catch::Contains("partial_rotary_factor"));
  CHECK_THAT(Refusal("GraniteForCausalLM", R"(, "attention_multiplier": 0)"),
             Catch::Contains("attention_multiplier"));
  CHECK_THAT(Refusal("GraniteForCausalLM", R"(, "logits_scaling": 0)"),
             Catch::Contains("logits_scaling"));
  CHECK_THAT(Refusal("Phi3ForCausalLM", R"(, "rope_scaling": {"type": "longrope",
      "short_factor": [1, 2], "long_factor": [1, 2]})"),
             Catch::Contains("short_factors"));
}

TEST_CASE("the weights of a token's experts sum to 1 unless a family or a file says otherwise") {
  const std::string no = R"(, "norm_topk_prob": false)";
  for (const char* arch :
       {"Qwen3MoeForCausalLM", "Qwen3_5MoeForCausalLM", "Qwen3NextForCausalLM"}) {
    CHECK(Good(arch, "").norm_topk);
    CHECK(!Good(arch, no).norm_topk);
  }
  CHECK(Good("MixtralForCausalLM", "").norm_topk);
  CHECK(!Good("Qwen2MoeForCausalLM", "").norm_topk);
  CHECK(Good("Qwen2MoeForCausalLM", R"(, "norm_topk_prob": true)").norm_topk);
}

TEST_CASE("which layers have experts") {
  const auto dense = [](const std::string& more) {
    return Good("Qwen3MoeForCausalLM", more).dense_layers;
  };
  using Layers = std::vector<int64_t>;
  CHECK(dense("").empty());
  CHECK(dense(R"(, "decoder_sparse_step": 2)") == Layers{0, 2});
  CHECK(dense(R"(, "mlp_only_layers": [3])") == Layers{3});
  CHECK_THAT(Refusal("Qwen3MoeForCausalLM", R"(, "decoder_sparse_step": 0)"),
             Catch::Contains("decoder_sparse_step"));
  CHECK_THAT(Refusal("Qwen3MoeForCausalLM", R"(, "num_experts": 4, "num_experts_per_tok": 5)"),
             Catch::Contains("n_experts_used"));
}

TEST_CASE("Qwen 3.5 rotates a quarter of a head, split in halves, whatever its sections say") {
  const Config config = Good("Qwen3_5ForCausalLM", R"(, "rope_parameters": {"rope_type": "default",
      "rope_theta": 10000000, "mrope_section": [11, 11, 10], "mrope_interleaved": true})");
  CHECK(config.head_dim == 256);
  CHECK(config.rotated_dims() == 64);
  CHECK(config.attention_gate);
  using Mixers = std::vector<int64_t>;
  CHECK(config.mixers == Mixers{1, 1, 1, 0});
  CHECK(Good("Qwen3_5ForCausalLM", R"(, "full_attention_interval": 2)").mixers ==
        Mixers{1, 0, 1, 0});
  CHECK(Good("Qwen3_5ForCausalLM", R"(, "partial_rotary_factor": 1.0)").rotated_dims() == 256);
  CHECK_THAT(Refusal("Qwen3_5ForCausalLM", R"(, "linear_num_key_heads": 5)"),
             Catch::Contains("delta_v_heads"));
  CHECK_THAT(Refusal("Qwen3_5ForCausalLM", R"(, "linear_conv_kernel_dim": 9)"),
             Catch::Contains("delta_taps"));
  CHECK_THAT(Refusal("Qwen3_5ForCausalLM", R"(, "attention_bias": true)"),
             Catch::Contains("attention_bias"));
}

TEST_CASE("gpt-oss without rope keys has the family's yarn, not rounded to whole frequencies") {
  const Config config = Good("GptOssForCausalLM", "");
  CHECK(config.rope.kind == "yarn");
  CHECK(config.rope.factor == 32);
  CHECK(!config.rope.truncate);
  CHECK(config.windows == std::vector<int64_t>{128, 0, 128, 0});
  CHECK(config.qkv_bias);
  CHECK(config.o_bias);
  CHECK(config.n_ff_expert == 128);
  CHECK(config.swiglu_limit == 7);
}

TEST_CASE("attention factors of yarn and longrope") {
  const auto yarn = [](const std::string& more) {
    return Good("Qwen2ForCausalLM", R"(, "rope_scaling": {"type": "yarn", "factor": 4.0,
        "original_max_position_embeddings": 32768)" +
                                        more + "}")
        .rope.attention_factor;
  };
  CHECK(std::abs(yarn("") - 1.1386294361119891) < 1e-12);  // 0.1 log 4 + 1
  CHECK(yarn(R"(, "attention_factor": 0.75)") == 0.75);
  CHECK(yarn(R"(, "mscale": 1, "mscale_all_dim": 1)") == 1);
  const Config phi = Good("Phi3ForCausalLM", R"(, "max_position_embeddings": 131072,
      "original_max_position_embeddings": 4096, "rope_scaling": {"type": "su",
      "short_factor": [1, 1, 1, 1, 1, 1, 1, 1], "long_factor": [2, 2, 2, 2, 2, 2, 2, 2]})");
  CHECK(phi.rope.kind == "longrope");
  CHECK(std::abs(phi.rope.attention_factor - 1.190238071423808) < 1e-12);
}

TEST_CASE("a model around a known text model is that model") {
  Config config;
  REQUIRE(Read("LlavaForConditionalGeneration",
               FormatText(R"({{"text_config": {{"model_type": "llama", {}}}}})", kSizes), &config)
              .ok());
  CHECK(config.arch == "llama");
}

TEST_CASE("names of published tensors") {
  CHECK(TextTensorName("language_model.model.norm.weight") == "model.norm.weight");
  CHECK(TextTensorName("model.language_model.norm.weight") == "model.norm.weight");
  CHECK(TextTensorName("language_model.lm_head.weight") == "lm_head.weight");
  CHECK(TextTensorName("model.norm.weight") == "model.norm.weight");
  Config config;
  config.n_layers = 2;
  config.n_draft_layers = 1;
  CHECK(OtherPart("mtp.layers.0.norm.weight", config) == "mtp.");
  CHECK(OtherPart("model.visual.blocks.0.norm.weight", config) == "model.visual.");
  CHECK(OtherPart("model.layers.1.extra.weight", config).empty());
  CHECK(OtherPart("model.layers.2.norm.weight", config) == "draft layers");
  CHECK(OtherPart("blk.1.attn_q.weight", config).empty());
  CHECK(OtherPart("blk.2.nextn.eh_proj.weight", config) == "draft layers");
  CHECK(OtherPart("blk.3.attn_q.weight", config).empty());
}

TEST_CASE("parts that are not the text model are left out and noted") {
  const TempFolder folder;
  const auto skipped = [&](const char* name) {
    test::WriteTiny(name, Format::kQ8, folder / "model.mlb");
    const auto file = MlbFile::Open(*OpenMapped(folder / "model.mlb"));
    REQUIRE(file.ok());
    const MetaValue* value = (*file)->Meta("convert.skipped");
    return value == nullptr ? std::vector<std::string>()
                            : std::get<std::vector<std::string>>(*value);
  };
  using Parts = std::vector<std::string>;
  CHECK(skipped("variants/qwen3_published") == Parts{"model.visual.", "mtp."});
  CHECK(skipped("variants/mistral_published") == Parts{"vision_tower."});
  CHECK(skipped("variants/gemma3_published") == Parts{"multi_modal_projector."});
  CHECK(skipped("qwen3_5_published") == Parts{"model.visual.", "mtp."});
  CHECK(skipped("variants/qwen3_moe_fused") == Parts{"draft layers", "model.visual."});
  CHECK(skipped("qwen3").empty());
}

}  // namespace
}  // namespace krafla
