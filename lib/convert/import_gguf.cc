// A GGUF file, or the several files of a split one. Two things it does not say are found out here:
// that the head is the embedding (its tensor is absent), and the parameters of llama3's rope
// scaling (it has their result, one factor a frequency).
#include <cmath>
#include <numbers>
#include <utility>

#include "lib/base/math.h"
#include "lib/base/utf8.h"
#include "lib/convert/config_error.h"
#include "lib/convert/gguf.h"
#include "lib/convert/gguf_split.h"
#include "lib/convert/import.h"
#include "lib/convert/tokenizer_gguf.h"
#include "lib/convert/tokenizer_table.h"

namespace krafla {
namespace {

constexpr const char* kRopeFactors = "rope_freqs.weight";
constexpr const char* kLongFactors = "rope_factors_long.weight";
constexpr const char* kShortFactors = "rope_factors_short.weight";
constexpr const char* kHead = "output.weight";

// llama3's factor of frequency i, as Hugging Face computes it.
double Llama3Factor(const RopeConfig& rope, int64_t head_dim, size_t i) {
  const double exponent = 2.0 * static_cast<double>(i) / static_cast<double>(head_dim);
  const double wavelength = 2 * std::numbers::pi * Pow(rope.theta, exponent);
  const auto original = static_cast<double>(rope.original_max_positions);
  if (wavelength < original / rope.high_freq_factor) return 1;
  if (wavelength > original / rope.low_freq_factor) return rope.factor;
  const double smooth = (original / wavelength - rope.low_freq_factor) /
                        (rope.high_freq_factor - rope.low_freq_factor);
  return 1 / ((1 - smooth) / rope.factor + smooth);
}

// One factor for each of n frequencies. The file's bytes are what is divided: n is not checked yet.
StatusOr<std::vector<float>> ReadFactors(const Checkpoint& checkpoint, std::string_view name,
                                         size_t n) {
  const CheckpointTensor* tensor = checkpoint.Find(name);
  if (tensor == nullptr) return FileError("gguf: tensor {}: absent, want F32 {}", name, n);
  if (tensor->type != SourceType::kF32 || tensor->bytes / sizeof(float) != n) {
    return FileError("gguf: tensor {}: {} {}, want F32 {}", name, tensor->type_name,
                     ShapeText(tensor->shape), n);
  }
  std::vector<float> factors(n);
  KRAFLA_RETURN_IF_ERROR(tensor->file->ReadAt(tensor->offset, factors.data(), tensor->bytes));
  return factors;
}

// Every published llama3 checkpoint has these three; `factor` is the largest one of the tensor. The
// parameters are taken only where they give the file's own factors back.
Status RopeFromFactors(const Checkpoint& checkpoint, Config* config) {
  if (checkpoint.Find(kRopeFactors) == nullptr) return OkStatus();
  const auto n = static_cast<size_t>(config->head_dim / 2);
  KRAFLA_ASSIGN_OR_RETURN(const std::vector<float> factors,
                          ReadFactors(checkpoint, kRopeFactors, n));
  RopeConfig rope = config->rope;
  rope.kind = "llama3";
  rope.factor = 1;
  rope.low_freq_factor = 1;
  rope.high_freq_factor = 4;
  rope.original_max_positions = 8192;
  for (const float factor : factors) rope.factor = factor > rope.factor ? factor : rope.factor;
  for (size_t i = 0; i < n; i++) {
    const double want = Llama3Factor(rope, config->head_dim, i);
    if (!(std::fabs(factors[i] - want) <= 1e-4 * want)) {
      return UnsupportedError("gguf: tensor {}: factor {} is {}, llama3's rule gives {}",
                              kRopeFactors, i, factors[i], want);
    }
  }
  if (rope.factor == 1) return OkStatus();
  if (config->rope.kind != "default" && config->rope.kind != "llama3") {
    return FileError("gguf: tensor {} beside rope kind {}", kRopeFactors, config->rope.kind);
  }
  config->rope = rope;
  return OkStatus();
}

// longrope's factors, which a GGUF keeps as tensors.
Status LongRopeFromFactors(const GgufFile& gguf, std::string_view arch,
                           const Checkpoint& checkpoint, Config* config) {
  if (checkpoint.Find(kLongFactors) == nullptr) return OkStatus();
  const auto n = static_cast<size_t>(config->rotated_dims() / 2);
  KRAFLA_ASSIGN_OR_RETURN(const std::vector<float> longer,
                          ReadFactors(checkpoint, kLongFactors, n));
  KRAFLA_ASSIGN_OR_RETURN(const std::vector<float> shorter,
                          ReadFactors(checkpoint, kShortFactors, n));
  RopeConfig& rope = config->rope;
  rope.long_factors.assign(longer.begin(), longer.end());
  rope.short_factors.assign(shorter.begin(), shorter.end());
  rope.kind = "longrope";
  rope.original_max_positions =
      gguf.Integer(FormatText("{}.rope.scaling.original_context_length", arch)).value_or(0);
  rope.attention_factor = gguf.Number(FormatText("{}.rope.scaling.attn_factor", arch)).value_or(1);
  return OkStatus();
}

// A header does not tell which layers have biases; the tensors of the first do.
void BiasesFromTensors(const Checkpoint& checkpoint, Config* config) {
  const auto has = [&](const char* name) { return checkpoint.Find(name) != nullptr; };
  config->qkv_bias |= has("blk.0.attn_q.bias");
  config->o_bias |= has("blk.0.attn_output.bias");
  config->ffn_bias |= has("blk.0.ffn_gate.bias");
}

StatusOr<GgufTokenizerData> TokenizerData(const GgufFile& gguf) {
  GgufTokenizerData data;
  const std::string prefix = "tokenizer.ggml.";
  data.model = gguf.String(prefix + "model").value_or("");
  data.pre = gguf.String(prefix + "pre").value_or("");
  KRAFLA_ASSIGN_OR_RETURN(data.tokens, gguf.Strings(prefix + "tokens"));
  KRAFLA_ASSIGN_OR_RETURN(data.token_types, gguf.Int32s(prefix + "token_type"));
  KRAFLA_ASSIGN_OR_RETURN(data.scores, gguf.Floats(prefix + "scores"));
  KRAFLA_ASSIGN_OR_RETURN(data.merges, gguf.Strings(prefix + "merges"));
  data.bos_id = gguf.Integer(prefix + "bos_token_id");
  data.eos_id = gguf.Integer(prefix + "eos_token_id");
  data.unk_id = gguf.Integer(prefix + "unknown_token_id");
  data.pad_id = gguf.Integer(prefix + "padding_token_id");
  data.add_bos = gguf.Bool(prefix + "add_bos_token");
  data.add_eos = gguf.Bool(prefix + "add_eos_token");
  data.add_space_prefix = gguf.Bool(prefix + "add_space_prefix");
  return data;
}

Status ReadTokenizer(const GgufFile& gguf, Import* import) {
  if (gguf.Has("tokenizer.ggml.model")) {
    KRAFLA_ASSIGN_OR_RETURN(GgufTokenizerData data, TokenizerData(gguf));
    if (data.tokens.size() > static_cast<uint64_t>(import->config.n_vocab)) {
      return FileError("gguf: tokenizer.ggml.tokens has {} tokens, the vocabulary {}",
                       data.tokens.size(), import->config.n_vocab);
    }
    KRAFLA_ASSIGN_OR_RETURN(const TokenizerSpec spec, TokenizerSpecFromGguf(std::move(data)));
    KRAFLA_ASSIGN_OR_RETURN(import->tokenizer_table, MakeTokenizerTable(spec));
  }
  import->chat_template = gguf.String("tokenizer.chat_template").value_or("");
  if (import->chat_template.empty() && gguf.Has("tokenizer.chat_template") &&
      !gguf.String("tokenizer.chat_template")) {
    return FileError("gguf: tokenizer.chat_template: of another kind, want a string");
  }
  if (ValidUtf8Prefix(import->chat_template) != import->chat_template.size()) {
    return FileError("gguf: tokenizer.chat_template: not UTF-8");
  }
  return OkStatus();
}

}  // namespace

Status ImportGguf(std::unique_ptr<FileSource> source, Import* import) {
  import->gguf = true;
  const std::string path = source->name();
  KRAFLA_ASSIGN_OR_RETURN(const GgufFile gguf,
                          GgufFile::Open(std::move(source), &import->checkpoint));
  KRAFLA_RETURN_IF_ERROR(OpenGgufParts(gguf, path, &import->checkpoint, &import->inputs));
  KRAFLA_RETURN_IF_ERROR(import->checkpoint.Finish());
  const auto name = gguf.String("general.architecture");
  if (!name) return FileError("{}: general.architecture: absent", path);
  import->arch = FindGgufArch(*name);
  if (import->arch == nullptr) {
    return UnsupportedError("{}: architecture {} is not built here", path, *name);
  }
  Status config = import->arch->config_from_gguf(gguf, &import->config);
  if (import->checkpoint.Find(kHead) == nullptr) import->config.tied_head = true;
  BiasesFromTensors(import->checkpoint, &import->config);
  if (config.ok()) {
    config = LongRopeFromFactors(gguf, *name, import->checkpoint, &import->config);
  }
  if (config.ok()) config = ValidateConfig(import->config);
  KRAFLA_RETURN_IF_ERROR(InConfigFile(config, path, true, *name));
  KRAFLA_RETURN_IF_ERROR(RopeFromFactors(import->checkpoint, &import->config));
  return ReadTokenizer(gguf, import);
}

Status ImportGguf(const std::string& path, Import* import) {
  KRAFLA_ASSIGN_OR_RETURN(auto source, OpenForReading(path));
  import->inputs.push_back(path);
  return ImportGguf(std::move(source), import);
}

}  // namespace krafla
