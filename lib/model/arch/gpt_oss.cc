// gpt-oss: experts with biases and a clamped SwiGLU, attention with a sink for each head and a
// window in every other layer. Published as 4-bit floats (MXFP4).
#include "lib/model/arch/decoder.h"
#include "lib/model/arch/keys.h"

namespace krafla {
namespace {

constexpr DecoderFamily kFamily = {.name = "gpt_oss",
                                   .gguf_name = "gpt-oss",
                                   .sinks = true,
                                   .experts = true,
                                   .router = Router::kSoftmaxOfTop,
                                   .router_bias = true,
                                   .expert_biases = true};
constexpr std::string_view kHfNames[] = {"GptOssForCausalLM"};
constexpr std::string_view kGgufNames[] = {"gpt-oss"};
constexpr int64_t kPeriod = 2;

void SetDefaults(Config* config) {
  config->swiglu_alpha = 1.702;
  config->swiglu_limit = 7;
  config->rope.theta = 150000;
  config->rope.truncate = false;
}

Status ConfigFromHf(const KeyValues& values, Config* config) {
  SetDefaults(config);
  config->head_dim = 64;
  config->n_kv_heads = 8;
  config->max_positions = 131072;
  config->qkv_bias = true;
  config->n_experts = 128;
  config->n_experts_used = 4;
  if (!values.HasValue("rope_parameters") && !values.HasValue("rope_scaling")) {
    config->rope.kind = "yarn";
    config->rope.original_max_positions = 4096;
  }
  KRAFLA_RETURN_IF_ERROR(ReadHfDecoder(values, kFamily, config));
  KRAFLA_RETURN_IF_ERROR(ReadHfExperts(values, config));
  config->n_ff_expert = config->n_ff;
  KRAFLA_RETURN_IF_ERROR(ReadNumber(values, "swiglu_alpha", &config->swiglu_alpha));
  KRAFLA_RETURN_IF_ERROR(ReadNumber(values, "swiglu_limit", &config->swiglu_limit));
  int64_t window = 128;
  KRAFLA_RETURN_IF_ERROR(ReadHfWindowSize(values, &window));
  return ReadHfWindows(values, window, AllButEveryNth, kPeriod, config);
}

Status ConfigFromGguf(const KeyValues& values, Config* config) {
  SetDefaults(config);
  KRAFLA_RETURN_IF_ERROR(ReadInteger(values, "gpt-oss.expert_feed_forward_length", &config->n_ff));
  KRAFLA_RETURN_IF_ERROR(ReadGgufDecoder(values, kFamily, config));
  KRAFLA_RETURN_IF_ERROR(ReadGgufExperts(values, kFamily, config));
  int64_t window = 128;
  KRAFLA_RETURN_IF_ERROR(ReadInteger(values, "gpt-oss.attention.sliding_window", &window));
  SetWindows(window, AllButEveryNth, kPeriod, config);
  return OkStatus();
}

}  // namespace

extern const Arch kGptOssArch;
const Arch kGptOssArch = DecoderArch<kFamily>(kHfNames, kGgufNames, ConfigFromHf, ConfigFromGguf);

}  // namespace krafla
