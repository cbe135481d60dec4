// ml_bench: tokens a second of prompts and of decoding, beside what the machine could do at most.
#include <krafla/krafla.h>

#include <nlohmann/json.hpp>

#include "tools/bench/measure.h"
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
          {"int8_fraction", Int8Fraction(m)}};
}

std::string Header() {
  return fmt::format(
      "{}: read is what the threads can read, GB/s; of it, and of their int8 peak, what was used\n"
      "threads  test        n  depth       tokens/s          read     used   GMAC/s     used\n",
      krafla_isa());
}

std::string ToRow(const Measurement& m) {
  return fmt::format(
      "{:>7}  {:<6}  {:>5}  {:>5}  {:>9.2f} +- {:<7.2f}  {:>6.1f}  {:>5.1f} %  {:>7.1f}  {:>5.1f} "
      "%\n",
      m.threads, m.is_decode ? "decode" : "prompt", m.n, m.depth, m.tokens_per_s, m.sd,
      m.read_bytes_per_s / 1e9, 100 * ReadFraction(m), m.macs_per_token * m.tokens_per_s / 1e9,
      100 * Int8Fraction(m));
}

ExitCode Run(int argc, char** argv) {
  BenchArgs args;
  CLI::App app("Measures a model's speed on this machine.");
  SetUp(app, "ml_bench");
  AddModel(app, &args.model);
  AddIntegers(app, "-t,--threads", &args.threads, 1, 1024,
              "Threads, several for several runs (default: one per physical core)");
  AddIntegers(app, "-p", &args.prompt, 0, kMaxPositions,
              "Prompt lengths (default 128,512; 0: none)");
  AddIntegers(app, "-n", &args.decode, 0, kMaxPositions, "Tokens to decode (default 32; 0: none)");
  AddInteger(app, "-d", &args.depth, 0, kMaxPositions,
             "Positions read before each test (default 0)");
  AddInteger(app, "-r", &args.repetitions, 1, 1000,
             "Repetitions (default 5), after one to warm up");
  app.add_flag("--json", args.json, "An array of objects instead of a table");
  bool finished = false;
  if (ExitCode e = Parse(app, argc, argv, &finished); finished) return e;
  if (args.threads.empty()) args.threads.push_back(0);

  Json array = Json::array();
  bool has_header = args.json;
  for (const int64_t threads : args.threads) {
    std::vector<Measurement> results;
    if (ExitCode e = Measure(args, threads, &results)) return e;
    if (!has_header) {
      has_header = true;
      if (ExitCode e = WriteStdout(Header())) return e;
    }
    for (const Measurement& m : results) {
      array.push_back(ToJson(m));
      if (args.json) continue;
      if (ExitCode e = WriteStdout(ToRow(m))) return e;
    }
  }
  return args.json ? WriteStdout(array.dump(1) + "\n") : kExitOk;
}

}  // namespace
}  // namespace krafla::tools

int main(int argc, char** argv) {
  return krafla::tools::RunProgram("ml_bench", argc, argv, krafla::tools::Run);
}
