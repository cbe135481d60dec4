// An architecture: how its configuration and tensors are called in Hugging Face folders and GGUF
// files, and the steps of its layers. One file each in arch/, one row each in arch/registry.cc; the
// converter and the runtime read the same description.
#ifndef KRAFLA_LIB_MODEL_ARCH_H_
#define KRAFLA_LIB_MODEL_ARCH_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/file/key_values.h"
#include "lib/model/config.h"

namespace krafla {

class Weights;
class Network;  // lib/model/network.h: the steps that the driver runs
struct NetworkShape;

// What a tensor is for: --q8 v,o,down chooses formats by it.
enum class TensorClass : uint8_t {
  kVector,
  kEmbed,
  kHead,
  kQ,
  kK,
  kV,
  kO,
  kGate,
  kUp,
  kDown,
  kControl,  // routers and other small matrices that steer: always f32
};

// One way in which checkpoints hold a tensor. Row i of ours is row
//   first + i / run * stride + i % run * step
// of theirs; rows of experts are counted through, elements of a vector are its rows.
struct TensorForm {
  std::string name;                  // "{}" in it is the expert's number: one tensor each
  std::vector<uint64_t> shape = {};  // empty: ours
  uint64_t first = 0;
  uint64_t run = 0;  // 0: all rows
  uint64_t stride = 0;
  uint64_t step = 1;
  bool transposed = false;  // [..., cols, rows]
  bool mxfp4 = false;       // two tensors, name + "_blocks" and name + "_scales"
};

// What an element of ours is of one of a Hugging Face checkpoint: norms that multiply by 1 + w and
// decays stored as logarithms are stored here as GGUF files have them.
enum class Derived : uint8_t { kSame, kOnePlus, kMinusExp };

struct TensorSpec {
  std::string name;              // in the .mlb: "layers.3.wq"
  std::vector<TensorForm> hf;    // "model.layers.3.self_attn.q_proj.weight"; the first one that a
  std::vector<TensorForm> gguf;  // checkpoint has is taken: "blk.3.attn_q.weight"
  TensorClass kind = TensorClass::kVector;
  int64_t rows = 0;  // 0 for a vector (stored as plain f32)
  int64_t cols = 0;
  int64_t experts = 0;  // > 0: so many matrices; specs of one `group` lie together expert by expert
  int64_t group = 0;
  // GGUF files of this architecture store each head's rows with the two rotary halves interleaved:
  // row 2j of a head is row j, row 2j + 1 is row j + head_dim / 2. 0: not permuted, else heads.
  int64_t gguf_permuted_heads = 0;
  Derived hf_derived = Derived::kSame;
};

struct Arch {
  std::string_view name;                         // "llama"
  std::span<const std::string_view> hf_names;    // config.json architectures[0]
  std::span<const std::string_view> gguf_names;  // general.architecture
  Status (*config_from_hf)(const KeyValues& values, Config* config);
  // A GGUF has no key for a tied head: the converter sets tied_head where the head's tensor is
  // absent. It gives an array's element count as Integer("<key>.length"), for
  // "tokenizer.ggml.tokens". Null where gguf_names is empty.
  Status (*config_from_gguf)(const KeyValues& values, Config* config);
  // For a validated config, like the two below. A tied head is absent.
  std::vector<TensorSpec> (*tensors)(const Config& config);
  NetworkShape (*shape)(const Config& config);
  StatusOr<std::unique_ptr<Network>> (*build)(const Config& config, const Weights& weights);
};

std::span<const Arch* const> AllArchs();
const Arch* FindArch(std::string_view name);  // null: unknown
const Arch* FindHfArch(std::string_view name);
const Arch* FindGgufArch(std::string_view name);

}  // namespace krafla

#endif  // KRAFLA_LIB_MODEL_ARCH_H_
