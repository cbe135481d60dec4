// Test models: the checkpoints of tests/data/models read without the converter, in any weight
// format.
#ifndef KRAFLA_TESTS_MODEL_TINY_MODEL_H_
#define KRAFLA_TESTS_MODEL_TINY_MODEL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/file/key_values.h"
#include "lib/model/model.h"

namespace krafla::test {

// A config.json given as text.
class JsonValues final : public KeyValues {
 public:
  explicit JsonValues(const std::string& json);
  ~JsonValues() override;
  std::optional<int64_t> Integer(std::string_view key) const override;
  std::optional<double> Number(std::string_view key) const override;
  std::optional<bool> Bool(std::string_view key) const override;
  std::optional<std::string> String(std::string_view key) const override;
  std::optional<std::vector<double>> Numbers(std::string_view key) const override;
  bool Has(std::string_view key) const override;

 private:
  struct Document;
  std::unique_ptr<Document> document_;
};

// Tensors of a .safetensors file by name; BF16 and F32 as floats, I64 as numbers.
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
// Writes it as a .mlb.
void WriteTiny(const std::string& name, Format format, const std::string& path);

}  // namespace krafla::test

#endif  // KRAFLA_TESTS_MODEL_TINY_MODEL_H_
