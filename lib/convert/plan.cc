// A tensor that nobody asked for is an error like one that is missing: both mean that the file is
// not the model that its configuration describes. The exceptions are listed here.
#include "lib/convert/plan.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "lib/convert/published.h"

namespace krafla {
namespace {

struct ClassName {
  std::string_view name;
  TensorClass kind;
};
constexpr ClassName kClassNames[] = {
    {"q", TensorClass::kQ},       {"k", TensorClass::kK},         {"v", TensorClass::kV},
    {"o", TensorClass::kO},       {"gate", TensorClass::kGate},   {"up", TensorClass::kUp},
    {"down", TensorClass::kDown}, {"embed", TensorClass::kEmbed}, {"head", TensorClass::kHead},
};

constexpr size_t kNamesShown = 5;

std::string_view SourceName(const Import& import, const TensorSpec& spec) {
  return import.gguf ? spec.gguf_name : spec.hf_name;
}

// Derived from the configuration, so of no use: old Hugging Face files store the inverse
// frequencies, GGUF files llama3's factors (which import_gguf.cc has checked); longrope's are part
// of the configuration by now.
bool IsIgnored(const Import& import, std::string_view name) {
  if (import.gguf) return name == "rope_freqs.weight" || name.starts_with("rope_factors_");
  return name.ends_with(".rotary_emb.inv_freq") ||
         (import.config.tied_head && name == "lm_head.weight");
}

Status NamesError(const Import& import, std::string_view what,
                  const std::vector<std::string_view>& names) {
  std::string list;
  for (size_t i = 0; i < std::min(names.size(), kNamesShown); i++) {
    list += FormatText("{}{}", i == 0 ? "" : ", ", names[i]);
  }
  if (names.size() > kNamesShown) list += ", ...";
  return FileError("{}: {} {} tensors for {}: {}", import.format(), names.size(), what,
                   import.arch->name, list);
}

Status CheckShape(const Import& import, const TensorSpec& spec, const CheckpointTensor& tensor) {
  std::vector<uint64_t> want;
  const int64_t rows = spec.source_rows != 0 ? spec.source_rows : spec.rows;
  if (rows != 0) want.push_back(static_cast<uint64_t>(rows));
  want.push_back(static_cast<uint64_t>(spec.cols));
  if (tensor.shape != want) {
    return FileError("{}: tensor {}: {}, want {}", import.format(), tensor.name,
                     ShapeText(tensor.shape), ShapeText(want));
  }
  if (tensor.type == SourceType::kOther) {
    return UnsupportedError("{}: tensor {} in {}: {} cannot be a weight, want one of {}",
                            import.format(), tensor.name, tensor.file->name(), tensor.type_name,
                            import.gguf ? kGgufWeightTypes : kSafetensorsWeightTypes);
  }
  return OkStatus();
}

StatusOr<bool> EqualContent(const CheckpointTensor& a, const CheckpointTensor& b) {
  if (a.type != b.type || a.shape != b.shape || a.bytes != b.bytes) return false;
  std::vector<char> piece_a(1 << 20);
  std::vector<char> piece_b(1 << 20);
  for (uint64_t at = 0; at < a.bytes; at += piece_a.size()) {
    const auto n = static_cast<size_t>(std::min<uint64_t>(piece_a.size(), a.bytes - at));
    KRAFLA_RETURN_IF_ERROR(a.file->ReadAt(a.offset + at, piece_a.data(), n));
    KRAFLA_RETURN_IF_ERROR(b.file->ReadAt(b.offset + at, piece_b.data(), n));
    if (std::memcmp(piece_a.data(), piece_b.data(), n) != 0) return false;
  }
  return true;
}

// A head that repeats the embedding is not stored.
Status TieEqualHead(Import* import, const std::vector<TensorSpec>& specs) {
  const CheckpointTensor* embed = nullptr;
  const CheckpointTensor* head = nullptr;
  for (const TensorSpec& spec : specs) {
    if (spec.kind == TensorClass::kEmbed)
      embed = import->checkpoint.Find(SourceName(*import, spec));
    if (spec.kind == TensorClass::kHead) head = import->checkpoint.Find(SourceName(*import, spec));
  }
  if (embed == nullptr || head == nullptr) return OkStatus();
  KRAFLA_ASSIGN_OR_RETURN(import->config.tied_head, EqualContent(*embed, *head));
  return OkStatus();
}

void NoteSkipped(std::string_view part, std::vector<std::string>* skipped) {
  if (std::find(skipped->begin(), skipped->end(), part) == skipped->end()) {
    skipped->emplace_back(part);
  }
}

// Tensors of other parts (vision, draft layers) are noted, all else is an error.
Status CheckUnexpected(const std::vector<TensorSpec>& specs, Import* out) {
  const Import& import = *out;
  std::vector<std::string_view> wanted;
  for (const TensorSpec& spec : specs) wanted.push_back(SourceName(import, spec));
  std::sort(wanted.begin(), wanted.end());
  std::vector<std::string_view> unexpected;
  for (const CheckpointTensor& tensor : import.checkpoint.tensors()) {
    if (IsIgnored(import, tensor.name)) continue;
    if (std::binary_search(wanted.begin(), wanted.end(), tensor.name)) continue;
    const std::string_view part = import.gguf ? std::string_view() : OtherPart(tensor.name);
    if (part.empty()) {
      unexpected.push_back(tensor.name);
    } else {
      NoteSkipped(part, &out->skipped);
    }
  }
  if (!unexpected.empty()) return NamesError(import, "unexpected", unexpected);
  return OkStatus();
}

}  // namespace

uint64_t PlannedBytes(const PlannedTensor& planned) {
  const auto cols = static_cast<uint64_t>(planned.spec.cols);
  if (planned.is_vector()) return cols * sizeof(float);
  return MatrixBytes(planned.format, static_cast<uint64_t>(planned.spec.rows), cols);
}

StatusOr<TensorClass> ParseTensorClass(std::string_view name) {
  std::string names;
  for (const ClassName& row : kClassNames) {
    if (row.name == name) return row.kind;
    names += FormatText(" {}", row.name);
  }
  return ArgumentError("tensor class {}: not known, want one of{}", name, names);
}

std::string_view TensorClassName(TensorClass kind) {
  for (const ClassName& row : kClassNames) {
    if (row.kind == kind) return row.name;
  }
  return "vectors";
}

StatusOr<std::vector<PlannedTensor>> PlanTensors(Import* import, Format wtype,
                                                 const std::vector<ClassFormat>& exceptions) {
  const auto format_of = [&](TensorClass kind, Format standard) {
    for (const ClassFormat& exception : exceptions) {
      if (exception.kind == kind) standard = exception.format;
    }
    return standard;
  };
  std::vector<TensorSpec> specs = import->arch->tensors(import->config);
  std::vector<std::string_view> missing;
  for (const TensorSpec& spec : specs) {
    if (import->checkpoint.Find(SourceName(*import, spec)) == nullptr) {
      missing.push_back(SourceName(*import, spec));
    }
  }
  if (!missing.empty()) return NamesError(*import, "missing", missing);
  KRAFLA_RETURN_IF_ERROR(CheckUnexpected(specs, import));

  std::vector<PlannedTensor> plan;
  for (const TensorSpec& spec : specs) {
    PlannedTensor planned;
    planned.source = import->checkpoint.Find(SourceName(*import, spec));
    KRAFLA_RETURN_IF_ERROR(CheckShape(*import, spec, *planned.source));
    planned.spec = spec;
    if (!import->gguf) planned.spec.gguf_permuted_heads = 0;
    if (import->gguf) planned.spec.hf_plus_one = false;
    planned.format = format_of(spec.kind, wtype);
    plan.push_back(std::move(planned));
  }
  if (!import->config.tied_head) KRAFLA_RETURN_IF_ERROR(TieEqualHead(import, specs));
  if (import->config.tied_head) {
    std::erase_if(plan, [](const PlannedTensor& p) { return p.spec.kind == TensorClass::kHead; });
    for (PlannedTensor& planned : plan) {  // one matrix serves both
      if (planned.spec.kind == TensorClass::kEmbed) {
        planned.format = format_of(TensorClass::kHead, planned.format);
      }
    }
  }
  return plan;
}

}  // namespace krafla
