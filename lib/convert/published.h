// The forms in which Hugging Face checkpoints of language models are published: on their own, or as
// the text part of a multimodal model, with its configuration nested, its tensors under a prefix,
// and other parts' tensors beside them.
#ifndef KRAFLA_LIB_CONVERT_PUBLISHED_H_
#define KRAFLA_LIB_CONVERT_PUBLISHED_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/file/key_values.h"
#include "lib/model/arch.h"
#include "lib/model/config.h"

namespace krafla {

// A config.json whose "text_config", where there is one, goes before its other keys.
class PublishedConfig final : public KeyValues {
 public:
  explicit PublishedConfig(const KeyValues& values)
      : values_(values), nested_(values.Has("text_config")) {}

  bool nested() const { return nested_; }
  std::optional<int64_t> Integer(std::string_view key) const override;
  std::optional<double> Number(std::string_view key) const override;
  std::optional<bool> Bool(std::string_view key) const override;
  std::optional<std::string> String(std::string_view key) const override;
  std::optional<std::vector<double>> Numbers(std::string_view key) const override;
  std::optional<std::vector<std::string>> StringList(std::string_view key) const override;
  bool Has(std::string_view key) const override;
  bool HasValue(std::string_view key) const override;
  bool IsObject(std::string_view key) const override;

 private:
  std::string Place(std::string_view key) const;
  const KeyValues& values_;
  bool nested_;
};

// By the class in "architectures", else by the kind of the text part: any model around a Llama is
// run as a Llama. Null: unknown.
const Arch* FindPublishedArch(const PublishedConfig& config, std::string_view class_name);

// "language_model.model.x" and "model.language_model.x" are "model.x", "language_model.lm_head.x"
// is "lm_head.x"; other names stay.
std::string TextTensorName(std::string_view name);

// The part of the model that a tensor belongs to where that is not the text model: "vision_tower.",
// "mtp.". Empty: the text model, or an unknown part.
std::string_view OtherPart(std::string_view name, const Config& config);

}  // namespace krafla

#endif  // KRAFLA_LIB_CONVERT_PUBLISHED_H_
