// Lines stand in the order in which the plan has a class for the first time.
#include "lib/convert/sizes.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "lib/weights/residency/residency.h"

namespace krafla {
namespace {

struct Line {
  std::string_view what;
  std::string_view format;
  uint64_t n_tensors;
  uint64_t bytes;
};

}  // namespace

Status TellSizes(const ConvertOptions& options, std::span<const PlannedTensor> plan,
                 uint64_t tokenizer_bytes, uint64_t template_bytes, const MlbWriter& writer) {
  std::vector<Line> lines;
  uint64_t total = 0;
  const auto add = [&](std::string_view what, std::string_view format, uint64_t n, uint64_t bytes) {
    total += bytes;
    for (Line& line : lines) {
      if (line.what != what || line.format != format) continue;
      line.n_tensors += n;
      line.bytes += bytes;
      return;
    }
    lines.push_back({what, format, n, bytes});
  };
  for (const PlannedTensor& planned : plan) {
    const bool vector = planned.is_vector();
    add(TensorClassName(vector ? TensorClass::kVector : planned.spec.kind),
        FormatName(vector ? Format::kF32 : planned.format), 1, PlannedBytes(planned));
  }
  if (tokenizer_bytes != 0) add("tokenizer", "", 0, tokenizer_bytes);
  if (template_bytes != 0) add("template", "", 0, template_bytes);
  add("header", "", 0, writer.file_bytes() - total);  // with the gaps of alignment
  lines.push_back({"file", "", plan.size(), writer.file_bytes()});
  for (const Line& line : lines) {
    if (options.sizes != nullptr &&
        options.sizes(options.user, line.what, line.format, line.n_tensors, line.bytes) != 0) {
      return CallbackError("convert: stopped by the sizes function");
    }
  }
  return OkStatus();
}

Status TellMemory(const ConvertOptions& options, size_t experts_used, const MlbWriter& writer) {
  const std::vector<MlbTensor> tensors = writer.declared();
  const uint64_t least = PlanResidency(tensors, ExpertLayout(tensors), experts_used, 1).least;
  if (options.sizes != nullptr && options.sizes(options.user, "least memory", "", 0, least) != 0) {
    return CallbackError("convert: stopped by the sizes function");
  }
  return OkStatus();
}

Status TellSkipped(const ConvertOptions& options, std::span<const std::string> parts) {
  for (const std::string& part : parts) {
    if (options.sizes != nullptr &&
        options.sizes(options.user, FormatText("skipped {}", part), "", 0, 0) != 0) {
      return CallbackError("convert: stopped by the sizes function");
    }
  }
  return OkStatus();
}

}  // namespace krafla
