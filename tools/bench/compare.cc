// The files are data from outside: what is missing or of another type is said by name.
#include "tools/bench/compare.h"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "tools/output.h"

namespace krafla::tools {
namespace {

using Json = nlohmann::json;

struct Row {
  std::string isa, test;
  int64_t threads = 0, n = 0, depth = 0;
  double tokens_per_s = 0, sd = 0;

  bool SameTest(const Row& other) const {
    return test == other.test && threads == other.threads && n == other.n && depth == other.depth;
  }
};

ExitCode Read(const std::string& path, std::vector<Row>* rows) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Fail(kExitArguments, "{}: cannot be opened", path);
  const Json json = Json::parse(in, nullptr, false);
  if (!json.is_array()) return Fail(kExitArguments, "{}: not an array of ml_bench --json", path);
  for (size_t i = 0; i < json.size(); ++i) {
    const Json& item = json[i];
    const auto is = [&](const char* key, bool number) {
      const auto found = item.find(key);
      return item.is_object() && found != item.end() &&
             (number ? found->is_number() : found->is_string());
    };
    for (const char* key : {"isa", "test"}) {
      if (!is(key, false)) return Fail(kExitArguments, "{}: [{}].{}: want a string", path, i, key);
    }
    for (const char* key : {"threads", "n", "depth", "tokens_per_s", "sd"}) {
      if (!is(key, true)) return Fail(kExitArguments, "{}: [{}].{}: want a number", path, i, key);
    }
    rows->push_back({item["isa"], item["test"], item["threads"], item["n"], item["depth"],
                     item["tokens_per_s"], item["sd"]});
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
