// The hyper-parameters of a model, as the .mlb's metadata stores them (keys "model.<field>").
// Tables in config.cc and config_rope.cc list the fields; reading, writing and range checks all
// walk them.
#ifndef KRAFLA_LIB_MODEL_CONFIG_H_
#define KRAFLA_LIB_MODEL_CONFIG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/file/mlb.h"

namespace krafla {

// Rotary position embedding. kind: Hugging Face's rope_type.
struct RopeConfig {
  std::string kind = "default";  // "default", "linear", "llama3", "yarn", "longrope"
  double theta = 10000;
  double factor = 1;
  double low_freq_factor = 1;  // these two: llama3
  double high_freq_factor = 1;
  int64_t original_max_positions = 0;
  double beta_fast = 32;  // yarn: turns within the original length where its ramp begins and ends
  double beta_slow = 1;
  bool truncate = true;               // yarn: the ramp's ends are rounded to whole frequencies
  double attention_factor = 1;        // multiplies cos and sin: yarn, longrope
  std::vector<double> short_factors;  // longrope: by frequency, in a context up to the original
  std::vector<double> long_factors;   // and in a longer one
};

struct Config {
  std::string arch;  // registry name: "llama"
  std::string name;  // the model's own name, may be empty
  int64_t n_layers = 0;
  int64_t n_embd = 0;  // hidden_size
  int64_t n_heads = 0;
  int64_t n_kv_heads = 0;
  int64_t head_dim = 0;
  int64_t n_ff = 0;  // intermediate_size
  int64_t n_vocab = 0;
  int64_t max_positions = 0;  // max_position_embeddings
  double norm_eps = 1e-5;
  RopeConfig rope;
  RopeConfig local_rope;         // of the layers whose `ropes` entry is 1
  bool tied_head = false;        // the head is the embedding
  std::vector<int64_t> end_ids;  // tokens that end a reply (eos_token_id, generation_config.json)
  int64_t bos_id = -1;           // -1: none

  // What only some families have; a field is stored where it differs from this default.
  int64_t n_rot = 0;             // rotated entries of a head, 0: all
  std::vector<int64_t> windows;  // by layer: positions that a query sees, itself included; 0: all
  std::vector<int64_t> ropes;    // by layer: 0 rope, 1 local_rope, -1 none
  bool qkv_bias = false;
  bool o_bias = false;
  bool ffn_bias = false;
  bool attention_gate = false;   // what attention gives is multiplied by a sigmoid
  double attention_scale = 0;    // multiplies q k; 0: 1 / sqrt(head_dim)
  double attention_softcap = 0;  // c > 0: c tanh(score / c)
  double final_softcap = 0;      // likewise for logits
  double embed_scale = 1;
  double residual_scale = 1;  // multiplies what a block adds to the residual stream
  double logit_scale = 1;
  double swiglu_alpha = 0;  // > 0: a clamped SwiGLU in the experts
  double swiglu_limit = 0;

  int64_t n_experts = 0;              // of a layer; 0: none
  int64_t n_experts_used = 0;         // by a token
  int64_t n_ff_expert = 0;            // moe_intermediate_size
  int64_t n_ff_shared = 0;            // of the expert that every token uses; 0: none
  bool norm_topk = true;              // the weights of a token's experts sum to 1
  std::vector<int64_t> dense_layers;  // whose feed-forward has no experts, ascending

  int64_t n_draft_layers = 0;  // behind the last one in the checkpoint, left out; not stored

  std::vector<int64_t> mixers;  // by layer: 0 attention, 1 gated delta net; empty: attention
  int64_t delta_k_heads = 0;
  int64_t delta_v_heads = 0;  // a multiple of delta_k_heads
  int64_t delta_k_dim = 0;    // of a head
  int64_t delta_v_dim = 0;
  int64_t delta_taps = 0;    // of the convolution before it
  bool delta_tiled = false;  // v head i has the q and k of head i % delta_k_heads; else of the
                             // i / (delta_v_heads / delta_k_heads)th

  int64_t window(int64_t layer) const { return windows.empty() ? 0 : windows[size_t(layer)]; }
  int64_t rope_of(int64_t layer) const { return ropes.empty() ? 0 : ropes[size_t(layer)]; }
  bool has_experts(int64_t layer) const;
  bool is_delta(int64_t layer) const { return !mixers.empty() && mixers[size_t(layer)] == 1; }
  int64_t n_delta_layers() const;
  bool uses_local_rope() const;
  int64_t rotated_dims() const { return n_rot == 0 ? head_dim : n_rot; }  // of each head
};

// Range and consistency checks, the same for a conversion and for a load (FileError names the
// field).
Status ValidateConfig(const Config& config);

std::vector<MetaEntry> ConfigToMetadata(const Config& config);
StatusOr<Config> ConfigFromMetadata(const MlbFile& file);  // validated

}  // namespace krafla

#endif  // KRAFLA_LIB_MODEL_CONFIG_H_
