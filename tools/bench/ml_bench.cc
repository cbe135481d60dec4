// ml_bench: tokens a second of prompts and of decoding, beside what the machine could do at most.
#include <krafla/krafla.h>

#include <nlohmann/json.hpp>

#include "tools/bench/compare.h"
#include "tools/bench/measure.h"
#include "tools/bench/sweep.h"
#include "tools/options.h"
#include "tools/output.h"

namespace krafla::tools {
namespace {

using Json = nlohmann::ordered_json;

double ReadFraction(const Measurement& m) {
  return m.bytes_per_token * m.tokens_per_s / m.read_bytes_per_s;
}

double Int8Fraction(const Measurement& m) {
  return m.macs_per_token * m.tokens_per_s / m.int8_macs_per_s;
}

Json ToJson(const Measurement& m) {
  return {{"isa", krafla_isa()},
          {"threads", m.threads},
          {"test", m.is_decode ? "decode" : "prompt"},
          {"n", m.n},
          {"depth", m.depth},
          {"tokens_per_s", m.tokens_per_s},
          {"sd", m.sd},
          {"bytes_per_token", m.bytes_per_token},
          {"read_gb_s", m.read_bytes_per_s / 1e9},
          {"read_fraction", ReadFraction(m)},
          {"gmac_s", m.macs_per_token * m.tokens_per_s / 1e9},
          {"int8_fraction", Int8Fraction(m)},
          {"sessions", m.sessions}};
}

std::string TableHeader() {
  return fmt::format(
      "{}: of what the threads can read of the model as it is loaded, GB/s, and of their int8 "
      "peak, what was used\n"
      "threads  test        n  depth  sessions       tokens/s          read     used   GMAC/s     "
      "used   "
      "large pages\n",
      krafla_isa());
}

std::string TableRow(const Measurement& m) {
  return fmt::format(
      "{:>7}  {:<6}  {:>5}  {:>5}  {:>8}  {:>9.2f} +- {:<7.2f}  {:>6.1f}  {:>5.1f} %  {:>7.1f}  "
      "{:>5.1f} "
      "%  {:>6.1f} GB/s\n",
      m.threads, m.is_decode ? "decode" : "prompt", m.n, m.depth, m.sessions, m.tokens_per_s, m.sd,
      m.read_bytes_per_s / 1e9, 100 * ReadFraction(m), m.macs_per_token * m.tokens_per_s / 1e9,
      100 * Int8Fraction(m), m.large_page_bytes_per_s / 1e9);
}

// The fields of the JSON form, one line a measurement.
std::string CsvHeader() {
  std::vector<std::string> names;
  const Json fields = ToJson({});
  for (const auto& [name, value] : fields.items()) names.push_back(name);
  return fmt::format("{}\n", fmt::join(names, ","));
}

std::string CsvRow(const Measurement& m) {
  const Json fields = ToJson(m);
  std::vector<std::string> values;
  for (const Json& value : fields) {
    values.push_back(value.is_string() ? value.get<std::string>() : value.dump());
  }
  return fmt::format("{}\n", fmt::join(values, ","));
}

ExitCode MeasureAll(const BenchArgs& args, bool json, bool csv) {
  Json array = Json::array();
  bool has_header = json;
  for (const int64_t threads : args.threads) {
    std::vector<Measurement> results;
    if (ExitCode e = Measure(args, threads, &results)) return e;
    if (!has_header) {
      has_header = true;
      if (ExitCode e = WriteStdout(csv ? CsvHeader() : TableHeader())) return e;
    }
    for (const Measurement& m : results) {
      Json& row = array.emplace_back(ToJson(m));
      if (m.sessions == 1) row.erase("sessions");  // the form that all measurements have
      if (json) continue;
      if (ExitCode e = WriteStdout(csv ? CsvRow(m) : TableRow(m))) return e;
    }
  }
  return json ? WriteStdout(array.dump(1) + "\n") : kExitOk;
}

ExitCode Run(int argc, char** argv) {
  BenchArgs args;
  bool json = false, csv = false;
  std::vector<std::string> compared;
  CLI::App app("Measures a model's speed on this machine, or compares two measurements.");
  SetUp(app, "ml_bench");
  AddModel(app, &args.model);
  CLI::Option* model = app.get_option("MODEL")->required(false);
  AddIntegers(app, "-t,--threads", &args.threads, 1, 1024,
              "Threads, several for several runs (default: one per physical core)");
  AddIntegers(app, "-p", &args.prompt, 0, kMaxPositions,
              "Prompt lengths (default 128,512; 0: none)");
  AddIntegers(app, "-n", &args.decode, 0, kMaxPositions, "Tokens to decode (default 32; 0: none)");
  AddIntegers(app, "-s,--sessions", &args.sessions, 1, 256,
              "Sessions that decode together, in one pass a token (default 1)");
  AddInteger(app, "-d", &args.depth, 0, kMaxPositions,
             "Positions read before each test (default 0)");
  AddInteger(app, "-r", &args.repetitions, 1, 1000,
             "Repetitions (default 5), after one to warm up");
  AddBatch(app, &args.model);
  AddKv(app, &args.model, "f16");
  AddLoad(app, &args.model);
  std::vector<std::string> budgets;
  CLI::Option* budget =
      app.add_option_function<std::string>(
             "--ram-budget", [&](const std::string& text) { (void)ParseBudgets(text, &budgets); },
             "With so much memory for weights instead of all: fractions of the experts or sizes, "
             "\"1,0.5,4G\"; once each, behind a warm-up that fills it")
          ->check([](const std::string& text) {
            std::vector<std::string> parsed;
            return ParseBudgets(text, &parsed);
          })
          ->type_name("X,SIZE,...");
  AddReader(app, &args.model.stream)->needs(budget);
  app.add_flag("--json", json, "An array of objects instead of a table");
  app.add_flag("--csv", csv, "Comma-separated values instead of a table")->excludes("--json");
  app.add_option("--compare", compared, "Two files of --json: their ratios, B / A")
      ->expected(2)
      ->type_name("A.json B.json")
      ->excludes(model);
  bool finished = false;
  if (ExitCode e = Parse(app, argc, argv, &finished); finished) return e;
  if (!compared.empty() && (json || csv)) {
    return Fail(kExitArguments, "--compare: prints a table, not {}", json ? "--json" : "--csv");
  }
  if (!compared.empty()) return Compare(compared[0], compared[1]);
  if (args.model.model.empty()) return Fail(kExitArguments, "MODEL is required");
  if (args.threads.empty()) args.threads.push_back(0);
  if (!budgets.empty()) {
    if (csv) return Fail(kExitArguments, "--csv: not with --ram-budget");
    return Sweep(args, budgets, json);
  }
  return MeasureAll(args, json, csv);
}

}  // namespace
}  // namespace krafla::tools

int main(int argc, char** argv) {
  return krafla::tools::RunProgram("ml_bench", argc, argv, krafla::tools::Run);
}
