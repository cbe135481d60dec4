// Test models: the checkpoints of tests/data/models, converted to any weight format.
#ifndef KRAFLA_TESTS_MODEL_TINY_MODEL_H_
#define KRAFLA_TESTS_MODEL_TINY_MODEL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/model/model.h"

namespace krafla::test {

// Tensors of a .safetensors file by name; BF16, F16 and F32 as floats, I64 as numbers.
struct Tensor {
  std::vector<int64_t> shape;
  std::vector<double> values;
};
std::map<std::string, Tensor> ReadSafetensors(const std::string& path);

std::string DataPath(const std::string& name);  // tests/data/models/<name>
Config ReadConfig(const std::string& name);

std::shared_ptr<Runtime> MakeRuntime(int32_t threads, uint64_t budget = kNoBudget);
// With every matrix in this format.
std::shared_ptr<const Model> OpenTiny(const std::string& name, Format format,
                                      std::shared_ptr<Runtime> runtime);
// Writes it as a .mlb. A name that ends in .gguf is a file, others are folders.
void WriteTiny(const std::string& name, Format format, const std::string& path);

}  // namespace krafla::test

#endif  // KRAFLA_TESTS_MODEL_TINY_MODEL_H_
