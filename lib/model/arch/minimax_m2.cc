// MiniMax-M2: every layer attends with norms of whole rows of queries and keys, half of each head
// rotates; the router scores each expert by a sigmoid and chooses with a bias.
#include "lib/model/arch/decoder.h"
#include "lib/model/arch/keys.h"

namespace krafla {
namespace {

constexpr DecoderFamily kFamily = {.name = "minimax_m2",
                                   .gguf_name = "minimax-m2",
                                   .qk_norm = QkNorm::kRow,
                                   .partial_rotary = true,
                                   .experts = true,
                                   .router = Router::kSigmoid,
                                   .router_bias = true};
constexpr std::string_view kHfNames[] = {"MiniMaxM2ForCausalLM"};
constexpr std::string_view kGgufNames[] = {"minimax-m2"};

Status ConfigFromHf(const KeyValues& values, Config* config) {
  config->head_dim = 128;
  config->n_kv_heads = 8;
  config->max_positions = 196608;
  config->norm_eps = 1e-6;
  config->rope.theta = 5e6;
  config->n_experts = 256;
  config->n_experts_used = 8;
  KRAFLA_RETURN_IF_ERROR(ReadHfDecoder(values, kFamily, config));
  KRAFLA_RETURN_IF_ERROR(ReadHfExperts(values, config));
  config->n_ff_expert = config->n_ff;
  // Published files say how much of a head rotates in a key of their own.
  return config->n_rot != 0 ? OkStatus() : ReadInteger(values, "rotary_dim", &config->n_rot);
}

Status ConfigFromGguf(const KeyValues& values, Config* config) {
  KRAFLA_RETURN_IF_ERROR(ReadGgufDecoder(values, kFamily, config));
  return ReadGgufExperts(values, kFamily, config);
}

}  // namespace

extern const Arch kMiniMaxM2Arch;
const Arch kMiniMaxM2Arch =
    DecoderArch<kFamily>(kHfNames, kGgufNames, ConfigFromHf, ConfigFromGguf);

}  // namespace krafla
