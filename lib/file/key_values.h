// Named values of a checkpoint's configuration, whatever its format: a config.json (nested objects
// are reached by dots: "rope_parameters.rope_theta") or a GGUF header ("llama.block_count").
#ifndef KRAFLA_LIB_FILE_KEY_VALUES_H_
#define KRAFLA_LIB_FILE_KEY_VALUES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace krafla {

class KeyValues {
 public:
  virtual ~KeyValues() = default;
  // Absent, null or of another kind: nullopt. A number that is not integral has no Integer.
  virtual std::optional<int64_t> Integer(std::string_view key) const = 0;
  virtual std::optional<double> Number(std::string_view key) const = 0;
  virtual std::optional<bool> Bool(std::string_view key) const = 0;
  virtual std::optional<std::string> String(std::string_view key) const = 0;
  virtual std::optional<std::vector<double>> Numbers(std::string_view key) const = 0;
  virtual std::optional<std::vector<std::string>> StringList(std::string_view) const { return {}; }
  virtual bool Has(std::string_view key) const = 0;  // also where its value is null
  virtual bool HasValue(std::string_view key) const { return Has(key); }  // not where it is null
  virtual bool IsObject(std::string_view) const { return false; }
};

}  // namespace krafla

#endif  // KRAFLA_LIB_FILE_KEY_VALUES_H_
