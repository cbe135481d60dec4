// Names that come from the published checkpoints of the supported families.
#include "lib/convert/published.h"

#include <charconv>

#include "lib/base/status.h"

namespace krafla {
namespace {

constexpr std::string_view kOtherParts[] = {
    "vision_tower.", "vision_model.",       "vision_embed_tokens.",
    "visual.",       "model.visual.",       "model.vision_tower.",
    "audio_tower.",  "model.audio_tower.",  "multi_modal_projector.",
    "image_newline", "model.image_newline", "model.multi_modal_projector.",
    "mtp.",          "model.mtp.",
};

}  // namespace

std::string PublishedConfig::Place(std::string_view key) const {
  if (nested_) {
    std::string inner = FormatText("text_config.{}", key);
    if (values_.Has(inner)) return inner;
  }
  return std::string(key);
}

std::optional<int64_t> PublishedConfig::Integer(std::string_view key) const {
  return values_.Integer(Place(key));
}
std::optional<double> PublishedConfig::Number(std::string_view key) const {
  return values_.Number(Place(key));
}
std::optional<bool> PublishedConfig::Bool(std::string_view key) const {
  return values_.Bool(Place(key));
}
std::optional<std::string> PublishedConfig::String(std::string_view key) const {
  return values_.String(Place(key));
}
std::optional<std::vector<double>> PublishedConfig::Numbers(std::string_view key) const {
  return values_.Numbers(Place(key));
}
std::optional<std::vector<std::string>> PublishedConfig::StringList(std::string_view key) const {
  return values_.StringList(Place(key));
}
bool PublishedConfig::Has(std::string_view key) const { return values_.Has(Place(key)); }
bool PublishedConfig::HasValue(std::string_view key) const { return values_.HasValue(Place(key)); }
bool PublishedConfig::IsObject(std::string_view key) const { return values_.IsObject(Place(key)); }

const Arch* FindPublishedArch(const PublishedConfig& config, std::string_view class_name) {
  const Arch* arch = FindHfArch(class_name);
  if (arch != nullptr || !config.nested()) return arch;
  std::string kind = config.String("model_type").value_or("");
  constexpr std::string_view kEnd = "_text";
  if (kind.ends_with(kEnd)) kind.resize(kind.size() - kEnd.size());
  return FindArch(kind);
}

std::string TextTensorName(std::string_view name) {
  constexpr std::string_view kOuter = "language_model.";
  constexpr std::string_view kInner = "model.language_model.";
  if (name.starts_with("language_model.model.") || name.starts_with("language_model.lm_head.")) {
    return std::string(name.substr(kOuter.size()));
  }
  if (name.starts_with(kInner)) return FormatText("model.{}", name.substr(kInner.size()));
  return std::string(name);
}

std::string_view OtherPart(std::string_view name, const Config& config) {
  for (const std::string_view layers : {"model.layers.", "blk."}) {
    if (!name.starts_with(layers)) continue;
    int64_t layer = -1;
    std::from_chars(name.data() + layers.size(), name.data() + name.size(), layer);
    const int64_t draft = layer - config.n_layers;
    return draft >= 0 && draft < config.n_draft_layers ? "draft layers" : std::string_view();
  }
  for (const std::string_view part : kOtherParts) {
    if (name.starts_with(part)) return part;
  }
  return {};
}

}  // namespace krafla
