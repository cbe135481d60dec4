// A tensor that nobody asked for is an error like one that is missing: both mean that the file is
// not the model that its configuration describes. The exceptions are listed here.
#include "lib/convert/plan.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>
#include <utility>

#include "lib/convert/find_sources.h"
#include "lib/convert/published.h"

namespace krafla {
namespace {

struct ClassName {
  std::string_view name;
  TensorClass kind;
};
constexpr ClassName kClassNames[] = {
    {"q", TensorClass::kQ},         {"k", TensorClass::kK},
    {"v", TensorClass::kV},         {"o", TensorClass::kO},
    {"gate", TensorClass::kGate},   {"up", TensorClass::kUp},
    {"down", TensorClass::kDown},   {"router", TensorClass::kControl},
    {"embed", TensorClass::kEmbed}, {"head", TensorClass::kHead},
};

constexpr size_t kNamesShown = 5;

// Derived from the configuration, so of no use: old Hugging Face files store the inverse
// frequencies, GGUF files llama3's factors (which import_gguf.cc has checked); longrope's are part
// of the configuration by now.
bool IsIgnored(const Import& import, std::string_view name) {
  if (import.gguf) return name == "rope_freqs.weight" || name.starts_with("rope_factors_");
  return name.ends_with(".rotary_emb.inv_freq") ||
         (import.config.tied_head && name == "lm_head.weight");
}

Status NamesError(const Import& import, std::string_view what,
                  const std::vector<std::string>& names) {
  std::string list;
  for (size_t i = 0; i < std::min(names.size(), kNamesShown); i++) {
    list += FormatText("{}{}", i == 0 ? "" : ", ", names[i]);
  }
  if (names.size() > kNamesShown) list += ", ...";
  return FileError("{}: {} {} tensors for {}: {}", import.format(), names.size(), what,
                   import.arch->name, list);
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
Status TieEqualHead(Import* import, const std::vector<PlannedTensor>& plan) {
  const CheckpointTensor* embed = nullptr;
  const CheckpointTensor* head = nullptr;
  for (const PlannedTensor& planned : plan) {
    if (planned.spec.kind == TensorClass::kEmbed) embed = &planned.source();
    if (planned.spec.kind == TensorClass::kHead) head = &planned.source();
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
Status CheckUnexpected(const std::vector<PlannedTensor>& plan, Import* out) {
  const Import& import = *out;
  std::vector<const CheckpointTensor*> wanted;
  for (const PlannedTensor& planned : plan) {
    wanted.insert(wanted.end(), planned.sources.begin(), planned.sources.end());
  }
  std::sort(wanted.begin(), wanted.end(), std::less<>());
  std::vector<std::string> unexpected;
  for (const CheckpointTensor& tensor : import.checkpoint.tensors()) {
    if (IsIgnored(import, tensor.name)) continue;
    if (std::binary_search(wanted.begin(), wanted.end(), &tensor, std::less<>())) continue;
    const std::string_view part = OtherPart(tensor.name, import.config);
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
  return planned.experts() *
         MatrixBytes(planned.format, static_cast<uint64_t>(planned.spec.rows), cols);
}

uint64_t PlannedTensor::row_bytes() const {
  const SourceTypeSize size = SizeOf(type());
  return static_cast<uint64_t>(spec.cols) / size.block * size.block_bytes;
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
  std::vector<PlannedTensor> plan;
  std::vector<std::string> missing;
  for (const TensorSpec& spec : import->arch->tensors(import->config)) {
    PlannedTensor& planned = plan.emplace_back();
    KRAFLA_RETURN_IF_ERROR(FindSources(*import, spec, &planned, &missing));
    if (!import->gguf) planned.spec.gguf_permuted_heads = 0;
    if (import->gguf) planned.spec.hf_derived = Derived::kSame;
    planned.format = format_of(spec.kind, wtype);
    if (spec.kind == TensorClass::kControl) planned.format = Format::kF32;
  }
  if (!missing.empty()) return NamesError(*import, "missing", missing);
  KRAFLA_RETURN_IF_ERROR(CheckUnexpected(plan, import));
  if (!import->config.tied_head) KRAFLA_RETURN_IF_ERROR(TieEqualHead(import, plan));
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
