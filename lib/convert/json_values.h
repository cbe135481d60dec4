// KeyValues over a JSON text (config.json, generation_config.json, tokenizer_config.json): "a.b" is
// member b of the object a.
#ifndef KRAFLA_LIB_CONVERT_JSON_VALUES_H_
#define KRAFLA_LIB_CONVERT_JSON_VALUES_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/status.h"
#include "lib/file/key_values.h"

namespace krafla {

class JsonValues final : public KeyValues {
 public:
  // `file` is for messages. The text must be one object; nesting is limited to 64.
  static StatusOr<JsonValues> Parse(std::string_view text, std::string_view file);
  JsonValues(JsonValues&&) noexcept;
  JsonValues& operator=(JsonValues&&) noexcept;
  ~JsonValues() override;

  std::optional<int64_t> Integer(std::string_view key) const override;
  std::optional<double> Number(std::string_view key) const override;
  std::optional<bool> Bool(std::string_view key) const override;
  std::optional<std::string> String(std::string_view key) const override;
  std::optional<std::vector<double>> Numbers(std::string_view key) const override;
  std::optional<std::vector<std::string>> StringList(std::string_view key) const override;
  bool Has(std::string_view key) const override;
  bool HasValue(std::string_view key) const override;
  bool IsObject(std::string_view key) const override;
  bool IsArray(std::string_view key) const;

  // The member `want` of the object in the list `key` whose member `by` is `value`:
  // chat_template: [{"name": "default", "template": "..."}].
  std::optional<std::string> StringInList(std::string_view key, std::string_view by,
                                          std::string_view value, std::string_view want) const;
  // All members of the object at `key` that are strings, in the file's order.
  std::vector<std::pair<std::string, std::string>> StringMembers(std::string_view key) const;

 private:
  struct Document;
  explicit JsonValues(std::unique_ptr<Document> document);
  std::unique_ptr<Document> document_;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_CONVERT_JSON_VALUES_H_
