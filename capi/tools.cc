// krafla_convert, krafla_check_file, krafla_measure_*: exported by libkrafla-tools only.
#include <string>

#include "capi/guard.h"
#include "capi/handles.h"
#include "capi/structs.h"
#include "include/krafla/krafla_tools.h"
#include "lib/convert/convert.h"
#include "lib/convert/mix.h"
#include "lib/eval/drift.h"
#include "lib/eval/generation.h"
#include "lib/eval/machine.h"
#include "lib/eval/perplexity.h"

using namespace krafla;  // NOLINT: the definitions below are the global C functions
using capi::Guard;

namespace {

StatusOr<CalibrationOptions> ToCalibration(const krafla_convert_options& given) {
  CalibrationOptions options;
  options.self = given.self_calib != 0;
  if (given.calib != nullptr) options.text_path = given.calib;
  if (options.self && given.calib != nullptr) {
    return ArgumentError("krafla_convert_options: self_calib and calib: got both, want one");
  }
  if (given.calib_sequences < 0 || given.calib_sequences > 1024) {
    return ArgumentError("krafla_convert_options: calib_sequences: got {}, want 0 to 1024",
                         given.calib_sequences);
  }
  options.sequences = given.calib_sequences;
  if (given.has_calib_seed != 0) options.seed = given.calib_seed;
  return options;
}

Status ReadMix(const krafla_convert_options& given, ConvertOptions* options) {
  if (given.formats != nullptr) {
    KRAFLA_ASSIGN_OR_RETURN(options->formats, ParseClassFormats(given.formats));
  }
  if (given.mix == nullptr) {
    if (given.target_size == 0) return OkStatus();
    return ArgumentError("krafla_convert_options: target_size: needs a mix, as q4+q6a");
  }
  KRAFLA_ASSIGN_OR_RETURN(options->mix, ParseMix(given.mix));
  options->wtype = options->mix.base;
  options->mix.target_bytes = given.target_size;
  if ((options->mix.percent > 0) == (given.target_size > 0)) {
    return ArgumentError(
        "krafla_convert_options: mix: want a percentage or target_size, one of them");
  }
  if (given.mix_score == nullptr) return OkStatus();
  const std::string_view score = given.mix_score;
  if (score != "divergence" && score != "class") {
    return ArgumentError("krafla_convert_options: mix_score: got \"{}\", want divergence or class",
                         score);
  }
  options->mix.score = score == "class" ? MixScore::kClass : MixScore::kDivergence;
  return OkStatus();
}

StatusOr<ConvertOptions> ToConvertOptions(const krafla_convert_options& given) {
  ConvertOptions options;
  switch (given.kind) {
    case KRAFLA_CONVERT_HF:
      options.kind = ConvertKind::kHf;
      break;
    case KRAFLA_CONVERT_GGUF:
      options.kind = ConvertKind::kGguf;
      break;
    case KRAFLA_CONVERT_TOKENIZER:
      options.kind = ConvertKind::kTokenizer;
      break;
    default:
      return ArgumentError("krafla_convert_options: kind: got {}, want KRAFLA_CONVERT_*",
                           given.kind);
  }
  if (given.input == nullptr || given.output == nullptr) {
    return ArgumentError("krafla_convert_options: {}: got NULL, want a path",
                         given.input == nullptr ? "input" : "output");
  }
  options.in = given.input;
  options.out = given.output;
  if (given.wtype != nullptr) {
    KRAFLA_ASSIGN_OR_RETURN(options.wtype, ParseFormat(given.wtype));
  }
  if (given.q8 != nullptr) {
    KRAFLA_ASSIGN_OR_RETURN(options.q8, ParseClassList(given.q8));
  }
  if (given.solver != nullptr) {
    const std::string_view name = given.solver;
    if (name != "ls" && name != "hqq") {
      return ArgumentError("krafla_convert_options: solver: got \"{}\", want ls or hqq", name);
    }
    if (name == "hqq") options.solver = AffineSolver::kHqq;
  }
  KRAFLA_RETURN_IF_ERROR(ReadMix(given, &options));
  if (given.threads < 0) {
    return ArgumentError("krafla_convert_options: threads: got {}, want 0 or more", given.threads);
  }
  KRAFLA_ASSIGN_OR_RETURN(options.calibration, ToCalibration(given));
  options.dry_run = given.dry_run != 0;
  options.resume = given.resume != 0;
  options.threads = given.threads;
  return options;
}

// The library has one `user` for both callbacks: the options themselves.
int TellSizes(void* context, std::string_view what, std::string_view format, uint64_t n_tensors,
              uint64_t bytes) {
  const auto* given = static_cast<const krafla_convert_options*>(context);
  return given->sizes(given->user, std::string(what).c_str(), std::string(format).c_str(),
                      n_tensors, bytes);
}

int TellProgress(void* context, uint64_t done, uint64_t total) {
  const auto* given = static_cast<const krafla_convert_options*>(context);
  return given->progress(given->user, done, total);
}

StatusOr<std::shared_ptr<const Tokenizer>> TokenizerOr(const krafla_tokenizer* tokenizer,
                                                       const krafla_model& model) {
  if (tokenizer != nullptr) return tokenizer->tokenizer;
  return model.shared->tokenizer();
}

StatusOr<SessionOptions> ReadSessionOptions(const krafla_session_options* options) {
  krafla_session_options given;
  KRAFLA_RETURN_IF_ERROR(capi::ReadOptions(options, "krafla_session_options", &given));
  if (given.context == 0) given.context = 512;
  return capi::ToSessionOptions(given);
}

StatusOr<DriftOptions> ToDriftOptions(const krafla_drift_options& given) {
  DriftOptions options;
  KRAFLA_ASSIGN_OR_RETURN(options.reference, ReadSessionOptions(given.reference));
  KRAFLA_ASSIGN_OR_RETURN(options.model, ReadSessionOptions(given.model));
  if (given.has_from != 0) {
    if (given.from < 0) {
      return ArgumentError("krafla_drift_options: from: got {}, want 0 or more", given.from);
    }
    options.from = given.from;
  }
  if (given.top_k != 0) options.top_k = given.top_k;
  if (given.max_chunks < 0) {
    return ArgumentError("krafla_drift_options: max_chunks: got {}, want 0 or more",
                         given.max_chunks);
  }
  options.max_chunks = given.max_chunks;
  if (given.cache != nullptr) options.cache = given.cache;
  options.progress = given.progress;
  options.user = given.user;
  return options;
}

}  // namespace

extern "C" {

int32_t krafla_convert(const krafla_convert_options* options) {
  return Guard([&]() -> Status {
    KRAFLA_RETURN_IF_ERROR(capi::CheckCpu());
    KRAFLA_CHECK_POINTER(options);
    krafla_convert_options given;
    KRAFLA_RETURN_IF_ERROR(capi::ReadOptions(options, "krafla_convert_options", &given));
    KRAFLA_ASSIGN_OR_RETURN(ConvertOptions inner, ToConvertOptions(given));
    inner.user = &given;
    if (given.progress != nullptr) inner.progress = TellProgress;
    if (given.sizes != nullptr) inner.sizes = TellSizes;
    return Convert(inner);
  });
}

int32_t krafla_check_file(const char* path, size_t path_length,
                          int (*progress)(void* user, uint64_t done, uint64_t total), void* user) {
  return Guard([&]() -> Status {
    KRAFLA_ASSIGN_OR_RETURN(const std::string_view name,
                            capi::ReadString(path, path_length, "path"));
    return CheckFile(name, progress, user);
  });
}

int32_t krafla_measure_perplexity(krafla_perplexity* out, const krafla_model* model,
                                  const krafla_tokenizer* tokenizer, const char* text,
                                  size_t length, const krafla_session_options* session_options,
                                  int (*progress)(void* user, uint64_t done, uint64_t total),
                                  void* user) {
  return Guard([&]() -> Status {
    KRAFLA_RETURN_IF_ERROR(capi::CheckInfo(out, "krafla_perplexity"));
    KRAFLA_CHECK_POINTER(model);
    KRAFLA_ASSIGN_OR_RETURN(const std::string_view view, capi::ReadString(text, length, "text"));
    KRAFLA_ASSIGN_OR_RETURN(const SessionOptions options, ReadSessionOptions(session_options));
    KRAFLA_ASSIGN_OR_RETURN(const std::shared_ptr<const Tokenizer> used,
                            TokenizerOr(tokenizer, *model));
    KRAFLA_ASSIGN_OR_RETURN(
        const Perplexity measured,
        MeasurePerplexity(model->shared->model, *used, view, options, progress, user));
    krafla_perplexity filled{};
    filled.perplexity = measured.perplexity;
    filled.targets = measured.targets;
    filled.mean_nll = measured.mean_nll;
    capi::WriteInfo(filled, out);
    return OkStatus();
  });
}

int32_t krafla_measure_drift(krafla_drift* out, const krafla_model* reference,
                             const krafla_model* model, const krafla_tokenizer* tokenizer,
                             const char* text, size_t length, const krafla_drift_options* options) {
  return Guard([&]() -> Status {
    KRAFLA_RETURN_IF_ERROR(capi::CheckInfo(out, "krafla_drift"));
    KRAFLA_CHECK_POINTER(reference);
    KRAFLA_CHECK_POINTER(model);
    KRAFLA_ASSIGN_OR_RETURN(const std::string_view view, capi::ReadString(text, length, "text"));
    krafla_drift_options given;
    KRAFLA_RETURN_IF_ERROR(capi::ReadOptions(options, "krafla_drift_options", &given));
    KRAFLA_ASSIGN_OR_RETURN(const DriftOptions inner, ToDriftOptions(given));
    KRAFLA_ASSIGN_OR_RETURN(const std::shared_ptr<const Tokenizer> used,
                            TokenizerOr(tokenizer, *reference));
    KRAFLA_ASSIGN_OR_RETURN(
        const DriftStatistics measured,
        MeasureDrift(reference->shared->model, model->shared->model, *used, view, inner));
    krafla_drift filled{};
    filled.targets = measured.targets;
    filled.kl_mean = measured.kl_mean;
    filled.kl_error = measured.kl_error;
    filled.kl_median = measured.kl_median;
    filled.kl_p99 = measured.kl_p99;
    filled.kl_max = measured.kl_max;
    filled.top1 = measured.top1;
    filled.top_k = measured.top_k;
    filled.reference_perplexity = measured.reference_perplexity;
    filled.perplexity = measured.perplexity;
    filled.nll_difference = measured.nll_difference;
    filled.nll_difference_error = measured.nll_difference_error;
    capi::WriteInfo(filled, out);
    return OkStatus();
  });
}

int32_t krafla_measure_match(krafla_match* out, const krafla_model* reference,
                             const krafla_model* model, const krafla_tokenizer* tokenizer,
                             const char* text, size_t length, int64_t prompts, int64_t tokens,
                             const krafla_drift_options* options) {
  return Guard([&]() -> Status {
    KRAFLA_RETURN_IF_ERROR(capi::CheckInfo(out, "krafla_match"));
    KRAFLA_CHECK_POINTER(reference);
    KRAFLA_CHECK_POINTER(model);
    KRAFLA_ASSIGN_OR_RETURN(const std::string_view view, capi::ReadString(text, length, "text"));
    krafla_drift_options given;
    KRAFLA_RETURN_IF_ERROR(capi::ReadOptions(options, "krafla_drift_options", &given));
    KRAFLA_ASSIGN_OR_RETURN(const DriftOptions drift, ToDriftOptions(given));
    MatchOptions inner;
    inner.reference = drift.reference;
    inner.model = drift.model;
    if (prompts != 0) inner.prompts = prompts;
    if (tokens != 0) inner.tokens = tokens;
    inner.progress = drift.progress;
    inner.user = drift.user;
    KRAFLA_ASSIGN_OR_RETURN(const std::shared_ptr<const Tokenizer> used,
                            TokenizerOr(tokenizer, *reference));
    KRAFLA_ASSIGN_OR_RETURN(
        const Match measured,
        MeasureMatch(reference->shared->model, model->shared->model, *used, view, inner));
    krafla_match filled{};
    filled.prompts = measured.prompts;
    filled.tokens = measured.tokens;
    filled.mean = measured.mean;
    filled.least = measured.least;
    filled.complete = measured.complete;
    capi::WriteInfo(filled, out);
    return OkStatus();
  });
}

int32_t krafla_measure_needle(int64_t* found, const krafla_model* model,
                              const krafla_tokenizer* tokenizer, const char* text, size_t length,
                              int64_t depths, const krafla_session_options* session_options,
                              int (*progress)(void* user, uint64_t done, uint64_t total),
                              void* user) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(found);
    KRAFLA_CHECK_POINTER(model);
    KRAFLA_ASSIGN_OR_RETURN(const std::string_view view, capi::ReadString(text, length, "text"));
    KRAFLA_ASSIGN_OR_RETURN(const SessionOptions options, ReadSessionOptions(session_options));
    KRAFLA_ASSIGN_OR_RETURN(const std::shared_ptr<const Tokenizer> used,
                            TokenizerOr(tokenizer, *model));
    KRAFLA_ASSIGN_OR_RETURN(const Needle measured, MeasureNeedle(model->shared->model, *used, view,
                                                                 options, depths, progress, user));
    *found = measured.found;
    return OkStatus();
  });
}

int32_t krafla_measure_read(double* bytes_per_second, int32_t threads, uint64_t bytes) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(bytes_per_second);
    KRAFLA_RETURN_IF_ERROR(capi::CheckCpu());
    KRAFLA_ASSIGN_OR_RETURN(*bytes_per_second, MeasureReadBandwidth(threads, bytes));
    return OkStatus();
  });
}

int32_t krafla_measure_weights_read(double* bytes_per_second, const krafla_model* model,
                                    int32_t threads) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(bytes_per_second);
    KRAFLA_CHECK_POINTER(model);
    KRAFLA_ASSIGN_OR_RETURN(*bytes_per_second, MeasureWeightsRead(*model->shared->model, threads));
    return OkStatus();
  });
}

int32_t krafla_measure_int8(double* macs_per_second, int32_t threads) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(macs_per_second);
    KRAFLA_RETURN_IF_ERROR(capi::CheckCpu());
    KRAFLA_ASSIGN_OR_RETURN(*macs_per_second, MeasureInt8Peak(threads));
    return OkStatus();
  });
}

}  // extern "C"
