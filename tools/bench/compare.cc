// The files are data from outside: what is missing or of another type is said by name.
#include "tools/bench/compare.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "tools/output.h"

namespace krafla::tools {
namespace {

using Json = nlohmann::json;

struct Row {
  std::string isa, test;
  int64_t threads = 0, n = 0, depth = 0, sessions = 1;
  double tokens_per_s = 0, sd = 0;

  bool SameTest(const Row& other) const {
    return test == other.test && threads == other.threads && n == other.n && depth == other.depth &&
           sessions == other.sessions;
  }
};

// What is wrong with a row, or nothing. The names go to a terminal: what ml_bench does not write is
// refused.
std::string Problem(const Json& item) {
  if (!item.is_object()) return ": want an object";
  const auto find = [&](const char* key) {
    const auto found = item.find(key);
    return found == item.end() ? Json() : *found;
  };
  const Json isa = find("isa"), test = find("test");
  const auto is_printable = [](char c) { return c > ' ' && c <= '~'; };
  if (!isa.is_string()) return ".isa: want a string";
  const auto& name = isa.get_ref<const std::string&>();
  if (name.size() > 32 || !std::all_of(name.begin(), name.end(), is_printable)) {
    return ".isa: want the name of an instruction set";
  }
  if (test != "prompt" && test != "decode") return ".test: want \"prompt\" or \"decode\"";
  for (const char* key : {"threads", "n", "depth"}) {
    const Json value = find(key);
    if (!value.is_number_integer() || value < 0 || value > INT32_MAX) {
      return fmt::format(".{}: want a whole number", key);
    }
  }
  constexpr double kMost = 1e12;
  const Json sessions = find("sessions");  // not in files of old
  if (!sessions.is_null() && !sessions.is_number_integer()) return ".sessions: want a whole number";
  const Json speed = find("tokens_per_s"), sd = find("sd");
  if (!speed.is_number() || !(speed > 1 / kMost && speed < kMost)) {
    return ".tokens_per_s: want a speed above 0";
  }
  if (!sd.is_number() || !(sd >= 0 && sd < kMost)) return ".sd: want a deviation of 0 or more";
  return {};
}

ExitCode Read(const std::string& path, std::vector<Row>* rows) {
  std::string text;
  if (const ExitCode e = ReadFile(path, &text)) {
    return e == kExitInterrupted ? e : kExitArguments;
  }
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_array()) return Fail(kExitArguments, "{}: not an array of ml_bench --json", path);
  for (size_t i = 0; i < json.size(); ++i) {
    const Json& item = json[i];
    const std::string problem = Problem(item);
    if (!problem.empty()) return Fail(kExitArguments, "{}: [{}]{}", path, i, problem);
    rows->push_back({item["isa"], item["test"], item["threads"], item["n"], item["depth"],
                     item.value("sessions", int64_t{1}), item["tokens_per_s"], item["sd"]});
  }
  return kExitOk;
}

std::string Format(const Row& a, const Row& b) {
  const double ratio = b.tokens_per_s / a.tokens_per_s;
  const double spread = ratio * std::hypot(a.sd / a.tokens_per_s, b.sd / b.tokens_per_s);
  return fmt::format("{:>7}  {:<6}  {:>5}  {:>5}  {:>10.2f}  {:>10.2f}  {:>6.3f} +- {:.3f}\n",
                     a.threads, a.test, a.n, a.depth, a.tokens_per_s, b.tokens_per_s, ratio,
                     spread);
}

}  // namespace

ExitCode Compare(const std::string& a, const std::string& b) {
  std::vector<Row> rows_a, rows_b;
  if (ExitCode e = Read(a, &rows_a)) return e;
  if (ExitCode e = Read(b, &rows_b)) return e;
  std::string table;
  for (const Row& row_a : rows_a) {
    for (const Row& row_b : rows_b) {
      if (!row_a.SameTest(row_b)) continue;
      if (table.empty()) {
        table = fmt::format(
            "A {} ({}), B {} ({})\n"
            "threads  test        n  depth  A tokens/s  B tokens/s   B / A\n",
            a, row_a.isa, b, row_b.isa);
      }
      table += Format(row_a, row_b);
    }
  }
  if (table.empty()) return Fail(kExitArguments, "{} and {} have no test in common", a, b);
  return WriteStdout(table);
}

}  // namespace krafla::tools
