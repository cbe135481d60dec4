// ml_eval quality: the whole protocol for every pair of a model and a cache type. A finished pair
// is a line of <out>.jsonl, so a run that was interrupted goes on where it stopped.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tools/eval/drift.h"
#include "tools/eval/report.h"
#include "tools/output.h"

namespace krafla::tools {
namespace {

constexpr int64_t kNeedleDepths = 5;

// What a line was measured on: equal keys, equal figures.
std::string KeyOf(const EvalArgs& args, const std::string& model, const std::string& kv) {
  std::error_code ignored;
  const auto stamp = [&](const std::string& path) {
    return fmt::format(
        "{} {} {}", path, std::filesystem::file_size(PathOf(path), ignored),
        std::filesystem::last_write_time(PathOf(path), ignored).time_since_epoch().count());
  };
  return fmt::format("{} | {} | {} | kv {} ref kv {} ctx {} from {} chunks {} needle {}",
                     stamp(model), stamp(args.reference), stamp(args.text), kv, args.reference_kv,
                     args.model.context, args.from, args.chunks, args.needle_context);
}

ExitCode WriteFile(const std::string& path, int flags, const std::string& text) {
  const int fd = OpenFile(path, O_WRONLY | O_CREAT | flags);
  if (fd < 0) return Fail(kExitArguments, "{}: {}", path, std::strerror(errno));
  const int error = WriteAll(fd, text);
  if (close(fd) != 0 || error != 0) {
    return Fail(kExitOther, "{}: {}", path, std::strerror(error != 0 ? error : errno));
  }
  return kExitOk;
}

// Before anything is measured: a report takes the place of a report only.
ExitCode CheckReport(const std::string& path, std::string_view begins) {
  std::ifstream in(PathOf(path), std::ios::binary);
  std::string found(begins.size(), '\0');
  in.read(found.data(), static_cast<std::streamsize>(found.size()));
  found.resize(static_cast<size_t>(in.gcount()));
  if (begins.starts_with(found)) return kExitOk;  // what a kill left is short
  return Fail(kExitArguments, "{}: a file of another kind has this name, it is not replaced", path);
}

// What a kill left of a line is ended, so that the next one is whole.
ExitCode ReadRows(const std::string& path, QualityRows* rows) {
  std::ifstream in(PathOf(path));
  bool ended = true;
  for (std::string line; std::getline(in, line);) {
    ended = !in.eof();
    auto row = nlohmann::ordered_json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (row.is_object() && row.contains("key")) rows->push_back(std::move(row));
  }
  return ended ? kExitOk : WriteFile(path, O_APPEND, "\n");
}

struct Opened {
  RuntimePtr runtime;
  ModelPtr reference;
  TokenizerPtr tokenizer;
  ModelArgs reference_args;
  std::string text;
};

ExitCode MeasureGeneration(const EvalArgs& args, const Opened& opened, const krafla_model* model,
                           const DriftCall& call, nlohmann::ordered_json* row) {
  krafla_match match{};
  match.struct_size = sizeof(match);
  if (const int32_t code =
          krafla_measure_match(&match, opened.reference.get(), model, opened.tokenizer.get(),
                               opened.text.data(), opened.text.size(), 0, 0, &call.options);
      code != KRAFLA_OK) {
    return FailWith(code, "match");
  }
  (*row)["match_mean"] = match.mean;
  (*row)["match_tokens"] = match.tokens;
  (*row)["match_least"] = match.least;
  (*row)["match_complete"] = match.complete;
  if (args.needle_context == 0) return kExitOk;
  krafla_session_options session = call.model;
  session.context = args.needle_context;
  int64_t found = 0;
  if (const int32_t code = krafla_measure_needle(
          &found, model, opened.tokenizer.get(), opened.text.data(), opened.text.size(),
          kNeedleDepths, &session, Progress::Callback, call.options.user);
      code != KRAFLA_OK) {
    return FailWith(code, "needle");
  }
  (*row)["needle_found"] = found;
  (*row)["needle_depths"] = kNeedleDepths;
  return kExitOk;
}

ExitCode MeasurePair(const EvalArgs& all, const Opened& opened, const std::string& path,
                     const std::string& kv, nlohmann::ordered_json* row) {
  EvalArgs args = all;
  args.model.model = path;
  args.model.kv = kv;
  ModelPtr model;
  if (ExitCode e = OpenModel(args.model, opened.runtime.get(), &model)) return e;
  Progress progress("tokens");
  const DriftCall call(args, opened.reference_args, &progress);
  krafla_drift drift{};
  drift.struct_size = sizeof(drift);
  const int32_t code =
      krafla_measure_drift(&drift, opened.reference.get(), model.get(), opened.tokenizer.get(),
                           opened.text.data(), opened.text.size(), &call.options);
  progress.Clear();
  if (code != KRAFLA_OK) return FailMeasuring(all, code, path);
  *row = {{"key", KeyOf(all, path, kv)},
          {"model", TextOf(PathOf(path).stem())},
          {"kv", kv},
          {"bytes", std::filesystem::file_size(PathOf(path))}};
  row->update(DriftJson(drift, args.top_k));
  return MeasureGeneration(args, opened, model.get(), call, row);
}

}  // namespace

ExitCode EvalQuality(const EvalArgs& args) {
  Opened opened;
  opened.reference_args = args.model;
  opened.reference_args.model = args.reference;
  opened.reference_args.kv = args.reference_kv;
  if (ExitCode e = ReadFile(args.text, &opened.text)) return e;
  if (ExitCode e = OpenRuntime(args.model.threads, &opened.runtime)) return e;
  if (ExitCode e = OpenModel(opened.reference_args, opened.runtime.get(), &opened.reference))
    return e;
  if (ExitCode e =
          OpenTokenizer(opened.reference_args, opened.reference.get(), &opened.tokenizer)) {
    return e;
  }
  QualityRows known;
  if (!args.cache.empty()) {
    if (ExitCode e = CheckOutput(args.cache)) return e;
  }
  if (ExitCode e = CheckReport(args.out + ".md", kMarkdownBegins)) return e;
  if (ExitCode e = CheckReport(args.out + ".html", kHtmlBegins)) return e;
  if (ExitCode e = CheckReport(args.out + ".jsonl", "{\"key\":")) return e;
  if (ExitCode e = ReadRows(args.out + ".jsonl", &known)) return e;
  QualityRows rows;
  for (const std::string& model : args.models) {
    for (const std::string& kv : args.kvs) {
      const std::string key = KeyOf(args, model, kv);
      const auto found = std::find_if(known.begin(), known.end(),
                                      [&](const auto& row) { return row["key"] == key; });
      if (found != known.end()) {
        rows.push_back(*found);
        continue;
      }
      nlohmann::ordered_json row;
      if (ExitCode e = MeasurePair(args, opened, model, kv, &row)) return e;
      if (ExitCode e = WriteFile(args.out + ".jsonl", O_APPEND, row.dump() + "\n")) return e;
      rows.push_back(std::move(row));
    }
  }
  const std::string table = MarkdownReport(rows);
  if (ExitCode e = WriteFile(args.out + ".md", O_TRUNC, table)) return e;
  if (ExitCode e = WriteFile(args.out + ".html", O_TRUNC, HtmlReport(rows))) return e;
  WriteStderr(table);
  nlohmann::ordered_json all = rows;
  for (auto& row : all) row.erase("key");
  return WriteStdout(all.dump() + "\n");
}

}  // namespace krafla::tools
