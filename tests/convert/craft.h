// Small GGUF and safetensors files whose every field can be a lie.
#ifndef KRAFLA_TESTS_CONVERT_CRAFT_H_
#define KRAFLA_TESTS_CONVERT_CRAFT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/convert/gguf.h"

namespace krafla {

template <typename T>
void AppendRaw(std::string* out, T value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}
std::string GgufString(std::string_view text);  // length and bytes

struct GgufCraft {
  struct Value {
    std::string key;
    uint32_t type;
    std::string bytes;
  };
  struct Tensor {
    std::string name;
    uint32_t n_dims;             // as written; dims.size() of them follow
    std::vector<uint64_t> dims;  // innermost first, as in the file
    uint32_t type;
    std::string data;
    int64_t offset_shift = 0;  // added to the right offset
  };
  std::string magic = "GGUF";
  uint32_t version = 3;
  uint64_t extra_tensors = 0;  // added to the right counts
  uint64_t extra_values = 0;
  uint64_t alignment = 32;
  std::vector<Value> values;
  std::vector<Tensor> tensors;

  template <typename T>
  void Set(std::string key, GgufType type, T value) {
    std::string bytes;
    AppendRaw(&bytes, value);
    SetBytes(std::move(key), type, std::move(bytes));
  }
  void SetU32(std::string key, uint32_t value) { Set(std::move(key), GgufType::kUint32, value); }
  void SetString(std::string key, std::string_view text) {
    SetBytes(std::move(key), GgufType::kString, GgufString(text));
  }
  void SetArray(std::string key, GgufType element, uint64_t count, std::string_view elements);
  void SetBytes(std::string key, GgufType type, std::string bytes);  // replaces
  void Remove(std::string_view key);
  Tensor* Find(std::string_view name);
  void Add(std::string name, std::vector<uint64_t> dims, uint32_t type, std::string data);
  std::string Bytes() const;
};

// A complete Llama of 2 layers, 4 heads of 8, 2 KV heads, vocabulary 40, no tokenizer; values are
// small random ones. F32 unless matrix_type says Q8_0 (8), Q4_0 (2), Q4_1 (3), F16 (1) or BF16
// (30).
GgufCraft LlamaGguf(uint32_t matrix_type = 0);

// header: JSON; the length before it is right unless given.
std::string Safetensors(std::string_view header, std::string_view data);
std::string SafetensorsWithLength(uint64_t length, std::string_view header, std::string_view data);

}  // namespace krafla

#endif  // KRAFLA_TESTS_CONVERT_CRAFT_H_
