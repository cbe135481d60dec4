// See mix.h. A matrix is worth its score a byte: the divergence of the model's predictions with
// this matrix alone in the base format. Where running the model that often would take too long,
// classes have fixed scores a byte instead: few bytes that everything passes through come first.
#include "lib/convert/mix.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "lib/calibrate/sensitivity.h"
#include "lib/convert/work_copy.h"

namespace krafla {
namespace {

constexpr double kMaxScoringMacs = 4e14;  // an hour of two processors
constexpr double kSizeTolerance = 0.01;

struct Candidate {
  PlannedTensor* planned;
  uint64_t extra;    // bytes
  double score = 0;  // of the matrix, or of its class where there is no divergence
  bool promoted = false;
};

double ClassScore(TensorClass kind) {
  switch (kind) {
    case TensorClass::kHead:
    case TensorClass::kEmbed:
    case TensorClass::kV:
      return 8;
    case TensorClass::kO:
      return 4;
    case TensorClass::kK:
    case TensorClass::kDown:
      return 2;
    default:
      return 1;
  }
}

uint64_t BytesAs(const PlannedTensor& planned, Format format) {
  PlannedTensor other = planned;
  other.format = format;
  return PlannedBytes(other);
}

Status Tell(const ConvertOptions& options, const std::string& what, std::string_view format,
            uint64_t bytes) {
  if (options.sizes == nullptr || options.sizes(options.user, what, format, 1, bytes) == 0) {
    return OkStatus();
  }
  return CallbackError("convert: stopped by the sizes function");
}

bool ByDivergence(const MixOptions& mix, const std::vector<Candidate>& candidates) {
  if (mix.score != MixScore::kAuto) return mix.score == MixScore::kDivergence;
  double macs = 0;
  for (const Candidate& c : candidates) {
    if (c.planned->spec.experts > 0) return false;  // few rows of a short text reach one
    macs += static_cast<double>(c.planned->spec.rows) * static_cast<double>(c.planned->spec.cols);
  }
  const double tokens = Sensitivity::kSequences * Sensitivity::kLength;
  return macs * tokens * static_cast<double>(candidates.size()) < kMaxScoringMacs;
}

void ScoreByClass(std::vector<Candidate>* candidates) {
  for (Candidate& c : *candidates) {
    c.score = ClassScore(c.planned->spec.kind) * static_cast<double>(c.extra);
  }
}

// NotFoundError: a matrix is not one of the plain kind (experts).
Status ScoreByDivergence(const ConvertOptions& options, std::vector<Candidate>* candidates) {
  const StopCheck stop{[](void* user) {
                         const auto& o = *static_cast<const ConvertOptions*>(user);
                         if (o.progress == nullptr || o.progress(o.user, 0, 1) == 0) {
                           return OkStatus();
                         }
                         return Status(CallbackError("convert: stopped by the progress function"));
                       },
                       const_cast<ConvertOptions*>(&options)};
  KRAFLA_ASSIGN_OR_RETURN(const std::string copy, CopyAsF32(options, stop));
  KRAFLA_ASSIGN_OR_RETURN(
      const std::unique_ptr<Sensitivity> sensitivity,
      Sensitivity::Create(copy, options.calibration.seed, options.threads, stop));
  for (Candidate& c : *candidates) {
    KRAFLA_ASSIGN_OR_RETURN(c.score, sensitivity->Score(c.planned->spec.name, c.planned->format));
  }
  return OkStatus();
}

// Sets *by_divergence to what decided.
Status Score(const ConvertOptions& options, std::vector<Candidate>* candidates,
             bool* by_divergence) {
  *by_divergence = ByDivergence(options.mix, *candidates);
  if (*by_divergence) {
    const Status status = ScoreByDivergence(options, candidates);
    const bool may_fall_back = options.mix.score == MixScore::kAuto;
    if (status.code() != absl::StatusCode::kNotFound || !may_fall_back) return status;
    *by_divergence = false;
  }
  ScoreByClass(candidates);
  return OkStatus();
}

// The most worth a byte first; what no longer fits is passed over.
uint64_t Promote(uint64_t budget, std::vector<Candidate>* candidates) {
  std::stable_sort(
      candidates->begin(), candidates->end(), [](const Candidate& a, const Candidate& b) {
        return a.score * static_cast<double>(b.extra) > b.score * static_cast<double>(a.extra);
      });
  uint64_t spent = 0;
  for (Candidate& c : *candidates) {
    if (c.extra > budget - spent) continue;
    spent += c.extra;
    c.promoted = true;
  }
  return spent;
}

}  // namespace

StatusOr<MixOptions> ParseMix(std::string_view text) {
  const auto wrong = [&] {
    return ArgumentError("mix: got \"{}\", want BASE+PERCENT%HIGHER, as q4+10%q6a", text);
  };
  const size_t plus = text.find('+');
  if (plus == std::string_view::npos) return wrong();
  MixOptions mix;
  KRAFLA_ASSIGN_OR_RETURN(mix.base, ParseFormat(text.substr(0, plus)));
  std::string_view high = text.substr(plus + 1);
  if (const size_t percent = high.find('%'); percent != std::string_view::npos) {
    const char* end = high.data() + percent;
    const auto [stopped, error] = std::from_chars(high.data(), end, mix.percent);
    if (error != std::errc() || stopped != end || !(mix.percent > 0 && mix.percent <= 100)) {
      return wrong();
    }
    high.remove_prefix(percent + 1);
  }
  KRAFLA_ASSIGN_OR_RETURN(mix.high, ParseFormat(high));
  if (TileBytes(mix.high, 64) <= TileBytes(mix.base, 64)) {
    return ArgumentError("mix: {} takes no more bytes than {}", FormatName(mix.high),
                         FormatName(mix.base));
  }
  mix.enabled = true;
  return mix;
}

StatusOr<std::vector<ClassFormat>> ParseClassFormats(std::string_view list) {
  std::vector<ClassFormat> formats;
  std::vector<std::string_view> seen;
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), item.size() + 1));
    const size_t equal = item.find('=');
    if (equal == std::string_view::npos || equal == 0) {
      return ArgumentError("formats: got \"{}\", want CLASS=FORMAT", item);
    }
    KRAFLA_ASSIGN_OR_RETURN(const Format format, ParseFormat(item.substr(equal + 1)));
    std::string_view classes = item.substr(0, equal);
    if (std::count(seen.begin(), seen.end(), classes) > 0) {
      return ArgumentError("formats: {}: got two formats, want one", classes);
    }
    seen.push_back(classes);
    if (classes == "attention") classes = "q,k,v,o";
    if (classes == "ffn") classes = "gate,up,down";
    KRAFLA_ASSIGN_OR_RETURN(const std::vector<TensorClass> kinds, ParseClassList(classes));
    for (const TensorClass kind : kinds) formats.push_back({kind, format});
  }
  return formats;
}

Status ApplyMix(const ConvertOptions& options, uint64_t other_bytes,
                std::vector<PlannedTensor>* plan) {
  const MixOptions& mix = options.mix;
  std::vector<Candidate> candidates;
  uint64_t size = other_bytes;
  uint64_t span = 0;
  for (PlannedTensor& planned : *plan) {
    size += PlannedBytes(planned);
    if (planned.is_vector() || planned.format != mix.base) continue;
    const uint64_t extra = BytesAs(planned, mix.high) - PlannedBytes(planned);
    candidates.push_back({&planned, extra});
    span += extra;
  }
  auto budget = static_cast<uint64_t>(static_cast<double>(span) * mix.percent / 100);
  if (mix.target_bytes != 0) {
    const double target = static_cast<double>(mix.target_bytes);
    if (target < static_cast<double>(size) * (1 - kSizeTolerance) ||
        target > static_cast<double>(size + span) * (1 + kSizeTolerance)) {
      return ArgumentError("target size: got {} bytes, {} to {} are possible with {} and {}",
                           mix.target_bytes, size, size + span, FormatName(mix.base),
                           FormatName(mix.high));
    }
    budget = std::min(span, mix.target_bytes - std::min(size, mix.target_bytes));
  }
  bool divergence = false;
  KRAFLA_RETURN_IF_ERROR(Score(options, &candidates, &divergence));
  const uint64_t spent = Promote(budget, &candidates);
  KRAFLA_RETURN_IF_ERROR(Tell(
      options,
      FormatText("mix: {} of {} bytes, by {}", spent, span, divergence ? "divergence" : "class"),
      "", spent));
  for (const Candidate& c : candidates) {
    if (!c.promoted) continue;
    const double a_megabyte = c.score / static_cast<double>(c.extra) * 1e6;
    KRAFLA_RETURN_IF_ERROR(
        Tell(options,
             FormatText("promoted {}: {} {:.2g}, {:.2g} a megabyte", c.planned->spec.name,
                        divergence ? "divergence" : "class score", c.score, a_megabyte),
             FormatName(mix.high), c.extra));
    c.planned->format = mix.high;
  }
  return OkStatus();
}

}  // namespace krafla
