// A crafted GGUF lays its tensors out as a right file would; what is wrong comes from its fields.
#include "tests/convert/craft.h"

#include <algorithm>
#include <random>

#include "lib/quant/half.h"

namespace krafla {
namespace {

constexpr uint64_t kEmbd = 32, kFf = 64, kVocab = 40, kHeads = 4, kKvHeads = 2, kLayers = 2;

std::string RandomData(uint64_t elements, uint32_t type, std::mt19937* random) {
  std::string data;
  const auto value = [&] { return static_cast<float>((*random)() % 2001) / 4000.0f - 0.25f; };
  const auto code = [&] { return static_cast<char>((*random)() % 256); };
  for (uint64_t i = 0; i < elements;) {
    if (type == 0) {
      AppendRaw(&data, value());
      i++;
    } else if (type == 1 || type == 30) {
      AppendRaw(&data, type == 1 ? F32ToF16(value()) : F32ToBf16(value()));
      i++;
    } else {
      AppendRaw(&data, F32ToF16(0.01f + value() * value()));
      if (type == 3 || type == 7) AppendRaw(&data, F32ToF16(value()));
      for (int j = 0; j < (type == 6 || type == 7 ? 4 : 0); j++) data.push_back(code());
      for (int j = 0; j < (type == 8 ? 32 : 16); j++) data.push_back(code());
      i += 32;
    }
  }
  return data;
}

}  // namespace

std::string GgufString(std::string_view text) {
  std::string out;
  AppendRaw(&out, static_cast<uint64_t>(text.size()));
  out += text;
  return out;
}

void GgufCraft::SetArray(std::string key, GgufType element, uint64_t count,
                         std::string_view elements) {
  std::string bytes;
  AppendRaw(&bytes, element);
  AppendRaw(&bytes, count);
  bytes += elements;
  SetBytes(std::move(key), GgufType::kArray, std::move(bytes));
}

void GgufCraft::SetBytes(std::string key, GgufType type, std::string bytes) {
  Remove(key);
  values.push_back({std::move(key), static_cast<uint32_t>(type), std::move(bytes)});
}

void GgufCraft::Remove(std::string_view key) {
  std::erase_if(values, [&](const Value& value) { return value.key == key; });
}

GgufCraft::Tensor* GgufCraft::Find(std::string_view name) {
  const auto at = std::find_if(tensors.begin(), tensors.end(),
                               [&](const Tensor& tensor) { return tensor.name == name; });
  return at == tensors.end() ? nullptr : &*at;
}

void GgufCraft::Add(std::string name, std::vector<uint64_t> dims, uint32_t type, std::string data) {
  const auto n = static_cast<uint32_t>(dims.size());
  tensors.push_back({std::move(name), n, std::move(dims), type, std::move(data)});
}

std::string GgufCraft::Bytes() const {
  std::string out = magic;
  AppendRaw(&out, version);
  AppendRaw(&out, tensors.size() + extra_tensors);
  AppendRaw(&out, values.size() + extra_values);
  for (const Value& value : values) {
    out += GgufString(value.key);
    AppendRaw(&out, value.type);
    out += value.bytes;
  }
  std::string data;
  for (const Tensor& tensor : tensors) {
    out += GgufString(tensor.name);
    AppendRaw(&out, tensor.n_dims);
    for (const uint64_t dim : tensor.dims) AppendRaw(&out, dim);
    AppendRaw(&out, tensor.type);
    data.resize((data.size() + alignment - 1) / alignment * alignment, '\0');
    AppendRaw(&out, data.size() + static_cast<uint64_t>(tensor.offset_shift));
    data += tensor.data;
  }
  out.resize((out.size() + alignment - 1) / alignment * alignment, '\0');
  return out + data;
}

GgufCraft LlamaGguf(uint32_t matrix_type) {
  std::mt19937 random(7);
  GgufCraft gguf;
  gguf.SetString("general.architecture", "llama");
  gguf.SetString("general.name", "tiny");
  gguf.SetU32("llama.block_count", kLayers);
  gguf.SetU32("llama.context_length", 128);
  gguf.SetU32("llama.embedding_length", kEmbd);
  gguf.SetU32("llama.feed_forward_length", kFf);
  gguf.SetU32("llama.attention.head_count", kHeads);
  gguf.SetU32("llama.attention.head_count_kv", kKvHeads);
  gguf.Set("llama.attention.layer_norm_rms_epsilon", GgufType::kFloat32, 1e-5f);
  gguf.SetU32("llama.vocab_size", kVocab);
  gguf.SetU32("tokenizer.ggml.eos_token_id", 2);
  const auto matrix = [&](std::string name, uint64_t rows, uint64_t cols) {
    gguf.Add(std::move(name), {cols, rows}, matrix_type,
             RandomData(rows * cols, matrix_type, &random));
  };
  const auto vector = [&](std::string name) {
    gguf.Add(std::move(name), {kEmbd}, 0, RandomData(kEmbd, 0, &random));
  };
  const uint64_t kv = kKvHeads * kEmbd / kHeads;
  matrix("token_embd.weight", kVocab, kEmbd);
  for (uint64_t i = 0; i < kLayers; i++) {
    const std::string layer = "blk." + std::to_string(i) + ".";
    vector(layer + "attn_norm.weight");
    matrix(layer + "attn_q.weight", kEmbd, kEmbd);
    matrix(layer + "attn_k.weight", kv, kEmbd);
    matrix(layer + "attn_v.weight", kv, kEmbd);
    matrix(layer + "attn_output.weight", kEmbd, kEmbd);
    vector(layer + "ffn_norm.weight");
    matrix(layer + "ffn_gate.weight", kFf, kEmbd);
    matrix(layer + "ffn_up.weight", kFf, kEmbd);
    matrix(layer + "ffn_down.weight", kEmbd, kFf);
  }
  vector("output_norm.weight");
  matrix("output.weight", kVocab, kEmbd);
  return gguf;
}

std::string SafetensorsWithLength(uint64_t length, std::string_view header, std::string_view data) {
  std::string out;
  AppendRaw(&out, length);
  out += header;
  out += data;
  return out;
}

std::string Safetensors(std::string_view header, std::string_view data) {
  return SafetensorsWithLength(header.size(), header, data);
}

}  // namespace krafla
