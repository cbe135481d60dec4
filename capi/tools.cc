// krafla_convert, krafla_check_file, krafla_measure_*: exported by libkrafla-tools only.
#include <string>

#include "capi/guard.h"
#include "capi/handles.h"
#include "capi/structs.h"
#include "include/krafla/krafla_tools.h"
#include "lib/convert/convert.h"
#include "lib/eval/machine.h"
#include "lib/eval/perplexity.h"

using namespace krafla;  // NOLINT: the definitions below are the global C functions
using capi::Guard;

namespace {

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
  if (given.threads < 0) {
    return ArgumentError("krafla_convert_options: threads: got {}, want 0 or more", given.threads);
  }
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

}  // namespace

extern "C" {

int32_t krafla_convert(const krafla_convert_options* options) {
  return Guard([&]() -> Status {
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
    krafla_session_options given;
    KRAFLA_RETURN_IF_ERROR(capi::ReadOptions(session_options, "krafla_session_options", &given));
    if (given.context == 0) given.context = 512;
    KRAFLA_ASSIGN_OR_RETURN(const SessionOptions options, capi::ToSessionOptions(given));
    std::shared_ptr<const Tokenizer> used;
    if (tokenizer != nullptr) {
      used = tokenizer->tokenizer;
    } else {
      KRAFLA_ASSIGN_OR_RETURN(used, model->shared->tokenizer());
    }
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
