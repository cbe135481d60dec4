// ml_eval drift: how far a model's predictions over a text are from a reference's.
#include "tools/eval/drift.h"

#include "tools/output.h"

namespace krafla::tools {

DriftCall::DriftCall(const EvalArgs& args, const ModelArgs& reference_args, Progress* progress)
    : reference(SessionOptions(reference_args)), model(SessionOptions(args.model)) {
  options.reference = &reference;
  options.model = &model;
  options.has_from = args.from >= 0 ? 1 : 0;
  options.from = args.from >= 0 ? args.from : 0;
  options.top_k = static_cast<int32_t>(args.top_k);
  options.max_chunks = args.chunks;
  if (!args.cache.empty()) options.cache = args.cache.c_str();
  options.progress = Progress::Callback;
  options.user = progress;
}

ExitCode FailMeasuring(const EvalArgs& args, int32_t code, std::string_view what) {
  if (args.cache.empty() || !std::string_view(krafla_error_message()).starts_with(args.cache)) {
    return FailWith(code, what);
  }
  return FailAs(code == KRAFLA_E_IO ? kExitOther : ExitCodeOf(code), args.cache);
}

nlohmann::ordered_json DriftJson(const krafla_drift& drift, int64_t top_k) {
  return {
      {"targets", drift.targets},
      {"kl_mean", drift.kl_mean},
      {"kl_error", drift.kl_error},
      {"kl_median", drift.kl_median},
      {"kl_p99", drift.kl_p99},
      {"kl_max", drift.kl_max},
      {"top1", drift.top1},
      {"top_k", top_k},
      {"in_top_k", drift.top_k},
      {"ppl", drift.perplexity},
      {"ref_ppl", drift.reference_perplexity},
      {"nll_difference", drift.nll_difference},
      {"nll_difference_error", drift.nll_difference_error},
  };
}

namespace {

std::string Table(const krafla_drift& drift, int64_t top_k) {
  const double rise = 100 * (drift.perplexity / drift.reference_perplexity - 1);
  // The relative error of the ratio of perplexities is the error of the difference of their logs.
  const double error =
      100 * drift.nll_difference_error * drift.perplexity / drift.reference_perplexity;
  return fmt::format(
      "targets      {}\n"
      "KL mean      {:.5f} +- {:.5f}   median {:.5f}   p99 {:.4f}   max {:.3f}\n"
      "same first   {:.2f} %   in first {}: {:.2f} %\n"
      "perplexity   {:.4f}   reference {:.4f}   {:+.2f} +- {:.2f} %\n",
      drift.targets, drift.kl_mean, drift.kl_error, drift.kl_median, drift.kl_p99, drift.kl_max,
      100 * drift.top1, top_k, 100 * drift.top_k, drift.perplexity, drift.reference_perplexity,
      rise, error);
}

}  // namespace

ExitCode EvalDrift(const EvalArgs& args) {
  if (!args.cache.empty()) {
    if (ExitCode e = CheckOutput(args.cache)) return e;
  }
  std::string text;
  if (ExitCode e = ReadFile(args.text, &text)) return e;
  RuntimePtr runtime;
  ModelPtr reference;
  ModelPtr model;
  TokenizerPtr tokenizer;
  ModelArgs reference_args = args.model;
  reference_args.model = args.reference;
  reference_args.kv = args.reference_kv;
  if (ExitCode e = OpenRuntime(args.model.threads, &runtime)) return e;
  if (ExitCode e = OpenModel(args.model, runtime.get(), &model)) return e;
  if (ExitCode e = OpenModel(reference_args, runtime.get(), &reference)) return e;
  if (ExitCode e = OpenTokenizer(reference_args, reference.get(), &tokenizer)) return e;
  const int64_t n_vocab = ModelInfo(model.get()).n_vocab;
  const int64_t n_reference = ModelInfo(reference.get()).n_vocab;
  if (n_vocab != n_reference) {
    return Fail(kExitArguments, "{}: a vocabulary of {}, {} has {}", args.reference, n_reference,
                args.model.model, n_vocab);
  }

  Progress progress("tokens");
  const DriftCall call(args, reference_args, &progress);
  krafla_drift result{};
  result.struct_size = sizeof(result);
  const int32_t code = krafla_measure_drift(&result, reference.get(), model.get(), tokenizer.get(),
                                            text.data(), text.size(), &call.options);
  progress.Clear();
  if (code != KRAFLA_OK) return FailMeasuring(args, code, args.text);
  WriteStderr(Table(result, args.top_k));
  return WriteStdout(DriftJson(result, args.top_k).dump() + "\n");
}

}  // namespace krafla::tools
