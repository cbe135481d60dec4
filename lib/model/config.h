// The hyper-parameters of a model, as the .mlb's metadata stores them (keys "model.<field>"). One
// table in config.cc lists the fields; reading, writing and range checks all walk it.
#ifndef KRAFLA_LIB_MODEL_CONFIG_H_
#define KRAFLA_LIB_MODEL_CONFIG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/file/mlb.h"

namespace krafla {

// Rotary position embedding. kind: "default", "linear", "llama3" (Hugging Face's rope_type).
struct RopeConfig {
  std::string kind = "default";
  double theta = 10000;
  double factor = 1;
  double low_freq_factor = 1;
  double high_freq_factor = 1;
  int64_t original_max_positions = 0;
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
  bool tied_head = false;        // the head is the embedding
  std::vector<int64_t> end_ids;  // tokens that end a reply (eos_token_id, generation_config.json)
  int64_t bos_id = -1;           // -1: none
};

// Range and consistency checks, the same for a conversion and for a load (FileError names the
// field).
Status ValidateConfig(const Config& config);

std::vector<MetaEntry> ConfigToMetadata(const Config& config);
StatusOr<Config> ConfigFromMetadata(const MlbFile& file);  // validated

}  // namespace krafla

#endif  // KRAFLA_LIB_MODEL_CONFIG_H_
