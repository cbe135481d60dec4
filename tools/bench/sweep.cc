// The cost model of a token, from what a run with all experts in memory took (F), the hit rate h
// and the reader's bytes per second: the experts of a layer that are there are multiplied while its
// others are read, everything else waits for nothing and hides nothing,
//   T = F + L sum over m of P(m) max(0, m r - (k - m) c),
// of L layers with k experts each; c the time for one expert (their share of F by bytes), r that
// for reading one, P(m) the binomial chance of m misses among k at the hit rate. A prompt's reads
// are hidden behind all of its work: T = max(F, M / S) for M bytes at S.
#include "tools/bench/sweep.h"

#include <krafla/krafla_residency.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "tools/interrupt.h"
#include "tools/options.h"
#include "tools/output.h"

namespace krafla::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kFillTokens = 128;
constexpr uint64_t kMostFills = 16;
constexpr uint64_t kFillSeed = 100;

struct Row {
  std::string budget;
  int64_t threads = 0;
  bool is_decode = false;
  int64_t n = 0;
  double fraction = 0;  // of the experts that have a slot
  double tokens_per_s = 0;
  krafla_residency_info info{};
  int64_t experts_used = 0;  // of a layer for one token; 0: of whole layers
  double expected = 0;       // tokens/s by the cost model
};

// A number up to 1 without a unit.
bool IsFraction(const std::string& text, double* fraction) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *fraction);
  return error == std::errc() && end == text.data() + text.size() && *fraction > 0 &&
         *fraction <= 1;
}

ExitCode PlanOf(const BenchArgs& args, uint64_t budget, krafla_plan* plan) {
  krafla_residency_options residency = KRAFLA_RESIDENCY_OPTIONS_INIT;
  residency.budget = budget;
  krafla_model_options options = KRAFLA_MODEL_OPTIONS_INIT;
  options.residency = &residency;
  *plan = {};
  plan->struct_size = sizeof(*plan);
  const std::string& path = args.model.model;
  const int32_t code = krafla_plan_path(plan, path.data(), path.size(), &options, nullptr);
  return code == KRAFLA_OK ? kExitOk : FailWith(code, path);
}

// Bytes of a budget that was given as a fraction of the experts.
ExitCode BudgetOf(const BenchArgs& args, const std::string& text, uint64_t* bytes) {
  double fraction = 0;
  if (!IsFraction(text, &fraction)) {
    std::optional<uint64_t> parsed;
    (void)ParseBytes(text, &parsed);
    *bytes = parsed.value_or(0);
    return kExitOk;
  }
  krafla_plan none, all;
  if (ExitCode e = PlanOf(args, 1, &none)) return e;
  if (ExitCode e = PlanOf(args, uint64_t{1} << 62, &all)) return e;
  const uint64_t dense = none.weights_read;
  *bytes = dense + static_cast<uint64_t>(fraction * static_cast<double>(all.weights_read - dense));
  *bytes = std::max(*bytes, none.least_budget);
  return kExitOk;
}

int64_t ExpertsUsed(const krafla_model* model) {
  const char* key = nullptr;
  const char* value = nullptr;
  for (size_t i = 0; krafla_model_get_metadata(model, i, &key, &value, nullptr) == KRAFLA_OK; ++i) {
    if (std::string_view(key) == "model.n_experts_used") return std::strtoll(value, nullptr, 10);
  }
  return 0;
}

class Run {
 public:
  Run(const BenchArgs& args, int64_t threads, std::string budget)
      : args_(args), threads_(threads), budget_(std::move(budget)) {}

  ExitCode Open() {
    if (ExitCode e = OpenRuntime(threads_, &runtime_)) return e;
    ModelArgs model = args_.model;
    uint64_t bytes = 0;
    if (ExitCode e = BudgetOf(args_, budget_, &bytes)) return e;
    model.stream.budget = bytes;
    if (ExitCode e = OpenModel(model, runtime_.get(), &model_)) return e;
    return FillSlots();
  }

  // Other ids than those that warm up, so that only what is used often is still there.
  ExitCode Measure(bool is_decode, int64_t n, Row* row) {
    const krafla_model_info model = ModelInfo(model_.get());
    ModelArgs session_args = args_.model;
    session_args.context = std::max<int64_t>(2 * n + 1, args_.depth + n + 1);
    SessionPtr session;
    if (ExitCode e = CreateSession(session_args, model_.get(), &session)) return e;
    if (ExitCode e = Append(session, model, 1, 1, false)) return e;
    if (is_decode) {
      if (ExitCode e = Append(session, model, 2, n, true)) return e;
    }
    krafla_residency_info before, after;
    (void)GetResidency(model_.get(), &before);
    const auto start = std::chrono::steady_clock::now();
    if (ExitCode e = Append(session, model, 3, n, is_decode)) return e;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    (void)GetResidency(model_.get(), &after);
    row->budget = budget_;
    row->threads = threads_;
    row->experts_used = after.whole_layers != 0 ? 0 : ExpertsUsed(model_.get());
    row->is_decode = is_decode;
    row->n = n;
    row->info = Since(after, before);
    row->fraction = static_cast<double>(after.slots) /
                    static_cast<double>(std::max<uint64_t>(after.experts, 1));
    row->tokens_per_s = static_cast<double>(n) / std::max(took.count(), 1e-9);
    return kExitOk;
  }

 private:
  ExitCode Append(const SessionPtr& session, const krafla_model_info& model, uint64_t seed,
                  int64_t n, bool one_by_one) {
    std::vector<int32_t> ids(static_cast<size_t>(n));
    for (int32_t& id : ids) {  // Knuth's MMIX generator
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      id = static_cast<int32_t>((seed >> 33) % static_cast<uint32_t>(model.n_vocab));
    }
    const size_t step = one_by_one ? 1 : ids.size();
    for (size_t at = 0; at < ids.size(); at += step) {
      if (Interrupted()) return kExitInterrupted;
      const int32_t code = CallUntilInterrupted(session.get(), [&] {
        return krafla_session_append(session.get(), ids.data() + at, step, nullptr);
      });
      if (code != KRAFLA_OK) return FailWith(code, "append");
    }
    return kExitOk;
  }

  // Short prompts until the slots are full or what is still absent is hardly ever wanted.
  ExitCode FillSlots() {
    const krafla_model_info model = ModelInfo(model_.get());
    ModelArgs session_args = args_.model;
    const int64_t n = std::min(kFillTokens, model.max_context);
    session_args.context = n;
    SessionPtr session;
    if (ExitCode e = CreateSession(session_args, model_.get(), &session)) return e;
    krafla_residency_info before, after;
    (void)GetResidency(model_.get(), &after);
    for (uint64_t round = 0; round < kMostFills && after.resident < after.slots; ++round) {
      before = after;
      if (ExitCode e = Append(session, model, kFillSeed + round, n, false)) return e;
      if (const int32_t code = krafla_session_truncate(session.get(), 0); code != KRAFLA_OK) {
        return FailWith(code, "truncate");
      }
      (void)GetResidency(model_.get(), &after);
      if (after.resident - before.resident < after.slots / 100) break;
    }
    return kExitOk;
  }

  const BenchArgs& args_;
  const int64_t threads_;
  const std::string budget_;
  RuntimePtr runtime_;
  ModelPtr model_;
};

// Beside the row of the same test with the most experts in memory.
void Expect(const std::vector<Row>& rows, Row* row) {
  const Row* best = nullptr;
  for (const Row& other : rows) {
    if (other.threads == row->threads && other.is_decode == row->is_decode && other.n == row->n &&
        (best == nullptr || other.fraction > best->fraction)) {
      best = &other;
    }
  }
  const double memory = 1 / best->tokens_per_s - static_cast<double>(best->info.stall_ns) * 1e-9 /
                                                     static_cast<double>(best->n);
  const double rate = ReadBytesPerSecond(row->info);
  const double disk =
      rate > 0 ? static_cast<double>(row->info.bytes_read) / rate / static_cast<double>(row->n) : 0;
  if (!row->is_decode || row->experts_used < 1 || rate <= 0) {
    row->expected = 1 / std::max(memory, disk);
    return;
  }
  const double experts =
      static_cast<double>(row->info.hits + row->info.misses) / static_cast<double>(row->n);
  const double bytes = experts * static_cast<double>(row->info.slot_bytes);
  const double of_one = memory * bytes / (bytes + static_cast<double>(row->info.dense_bytes)) /
                        std::max(experts, 1.0);
  const double read = static_cast<double>(row->info.slot_bytes) / rate;
  const auto k = static_cast<double>(row->experts_used);
  const double h = HitRate(row->info);
  double waits = 0;
  double chance = std::pow(h, k);  // of m misses
  for (double m = 0; m < k; ++m) {
    waits += chance * std::max(0.0, m * read - (k - m) * of_one);
    chance *= h > 0 ? (k - m) / (m + 1) * (1 - h) / h : 0;
  }
  waits += std::pow(1 - h, k) * k * read;
  row->expected = 1 / (memory + experts / k * waits);
}

Json ToJson(const Row& row) {
  return {{"budget", row.budget},
          {"threads", row.threads},
          {"test", row.is_decode ? "decode" : "prompt"},
          {"n", row.n},
          {"fraction", row.fraction},
          {"tokens_per_s", row.tokens_per_s},
          {"hit_rate", HitRate(row.info)},
          {"bytes_read", row.info.bytes_read},
          {"read_gb_s", ReadBytesPerSecond(row.info) / 1e9},
          {"stall_s", static_cast<double>(row.info.stall_ns) * 1e-9},
          {"expected", row.info.expected},
          {"expected_right", row.info.expected_right},
          {"shrinks", row.info.shrinks},
          {"grows", row.info.grows},
          {"reader", ReaderName(row.info.reader)},
          {"model_tokens_per_s", row.expected}};
}

std::string ToText(const Row& row) {
  return fmt::format(
      "{:>8}  {:<6}  {:>5}  {:>8.3f}  {:>8.2f}  {:>7.1f} %  {:>8.2f}  {:>6.2f}  {:>8.2f}  "
      "{:>10.2f}\n",
      row.budget, row.is_decode ? "decode" : "prompt", row.n, row.fraction, row.tokens_per_s,
      100 * HitRate(row.info), static_cast<double>(row.info.bytes_read) / 1e9,
      ReadBytesPerSecond(row.info) / 1e9, static_cast<double>(row.info.stall_ns) * 1e-9,
      row.expected);
}

}  // namespace

std::string ParseBudgets(const std::string& text, std::vector<std::string>* budgets) {
  budgets->clear();
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    budgets->push_back(text.substr(at, comma - at));
    double fraction = 0;
    std::optional<uint64_t> bytes;
    if (!IsFraction(budgets->back(), &fraction)) {
      std::string error = ParseBytes(budgets->back(), &bytes);
      if (!error.empty()) return error + ", or a fraction of the experts up to 1";
    }
    at = comma + 1;
  }
  return {};
}

ExitCode Sweep(const BenchArgs& args, const std::vector<std::string>& budgets, bool json) {
  std::vector<Row> rows;
  for (const int64_t threads : args.threads) {
    for (const std::string& budget : budgets) {
      Run run(args, threads, budget);
      if (ExitCode e = run.Open()) return e;
      for (const bool is_decode : {false, true}) {
        for (const int64_t n : is_decode ? args.decode : args.prompt) {
          if (n == 0) continue;
          if (ExitCode e = run.Measure(is_decode, n, &rows.emplace_back())) return e;
        }
      }
    }
  }
  for (Row& row : rows) Expect(rows, &row);
  if (json) {
    Json array = Json::array();
    for (const Row& row : rows) array.push_back(ToJson(row));
    return WriteStdout(array.dump(1) + "\n");
  }
  std::string text =
      "  budget  test        n  resident  tokens/s        hit   GB read    GB/s  waited s  cost "
      "model\n";
  for (const Row& row : rows) text += ToText(row);
  return WriteStdout(text);
}

}  // namespace krafla::tools
