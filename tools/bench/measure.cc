// A session reads `depth` ids once; each repetition reads on from there and is cut back. The ids
// are pseudo-random but the same in every run. The first repetition warms up and does not count.
#include "tools/bench/measure.h"

#include <krafla/krafla_tools.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

#include "tools/interrupt.h"

namespace krafla::tools {
namespace {

constexpr uint64_t kLeastReadBytes = uint64_t{256} << 20;  // beyond any cache
constexpr int64_t kPromptBatch = 256;                      // the library's default

class TokenIds {
 public:
  explicit TokenIds(int32_t n_vocab) : n_vocab_(static_cast<uint32_t>(n_vocab)) {}

  std::vector<int32_t> Take(int64_t n) {
    std::vector<int32_t> ids(static_cast<size_t>(n));
    for (int32_t& id : ids) {  // Knuth's MMIX generator
      state_ = state_ * 6364136223846793005u + 1442695040888963407u;
      id = static_cast<int32_t>((state_ >> 33) % n_vocab_);
    }
    return ids;
  }

 private:
  uint32_t n_vocab_;
  uint64_t state_ = 1;
};

class Bench {
 public:
  Bench(const BenchArgs& args, int64_t threads) : args_(args), threads_(threads) {}

  ExitCode Open() {
    if (ExitCode e = OpenRuntime(threads_, &runtime_)) return e;
    krafla_runtime_info info{};
    info.struct_size = sizeof(info);
    (void)krafla_runtime_get_info(runtime_.get(), &info);
    threads_ = info.threads;
    if (ExitCode e = OpenModel(args_.model, runtime_.get(), &model_)) return e;
    model_info_ = ModelInfo(model_.get());
    const uint64_t bytes = std::max(kLeastReadBytes, model_info_.weight_bytes);
    const auto n_threads = static_cast<int32_t>(threads_);
    if (int32_t code = krafla_measure_read(&large_page_read_, n_threads, bytes);
        code != KRAFLA_OK) {
      return FailWith(code, "read bandwidth");
    }
    if (int32_t code = krafla_measure_weights_read(&read_, model_.get(), n_threads);
        code != KRAFLA_OK) {
      return FailWith(code, "read bandwidth of the model");
    }
    const int32_t code = krafla_measure_int8(&int8_, n_threads);
    return code == KRAFLA_OK ? kExitOk : FailWith(code, "int8 peak");
  }

  ExitCode Run(bool is_decode, int64_t n, int64_t n_sessions, Measurement* result) {
    // Decoding starts from at least one position.
    const int64_t depth = is_decode ? std::max<int64_t>(args_.depth, 1) : args_.depth;
    TokenIds source(model_info_.n_vocab);
    const std::vector<int32_t> before = source.Take(depth), ids = source.Take(n);
    ModelArgs session_args = args_.model;
    session_args.context = depth + n;
    std::vector<SessionPtr> sessions(static_cast<size_t>(n_sessions));
    for (SessionPtr& session : sessions) {
      if (ExitCode e = CreateSession(session_args, model_.get(), &session)) return e;
    }
    if (depth > 0) {
      if (ExitCode e = Append(sessions, before.data(), before.size())) return e;
    }
    std::vector<double> rates;
    for (int64_t i = 0; i <= args_.repetitions; ++i) {
      const auto start = std::chrono::steady_clock::now();
      const size_t step = is_decode ? 1 : ids.size();
      for (size_t at = 0; at < ids.size(); at += step) {
        if (ExitCode e = Append(sessions, ids.data() + at, step)) return e;
      }
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      const auto tokens = static_cast<double>(n * n_sessions);
      if (i > 0) rates.push_back(tokens / std::max(took.count(), 1e-9));
      for (const SessionPtr& session : sessions) {
        const int32_t code = krafla_session_truncate(session.get(), depth);
        if (code != KRAFLA_OK) return FailWith(code, "session");
      }
    }
    *result = Summarise(is_decode, n, n_sessions, rates);
    return kExitOk;
  }

 private:
  // The same ids to each.
  ExitCode Append(const std::vector<SessionPtr>& sessions, const int32_t* ids, size_t n) {
    if (Interrupted()) return kExitInterrupted;
    std::vector<krafla_session*> handles;
    for (const SessionPtr& session : sessions) handles.push_back(session.get());
    const std::vector<const int32_t*> texts(sessions.size(), ids);
    const std::vector<size_t> lengths(sessions.size(), n);
    const int32_t code = CallUntilInterrupted(handles[0], [&] {
      return krafla_session_append_batch(handles.data(), texts.data(), lengths.data(),
                                         handles.size());
    });
    return code == KRAFLA_OK ? kExitOk : FailWith(code, "append");
  }

  Measurement Summarise(bool is_decode, int64_t n, int64_t sessions,
                        const std::vector<double>& rates) const {
    Measurement m;
    m.threads = threads_;
    m.is_decode = is_decode;
    m.n = n;
    m.depth = args_.depth;
    m.sessions = sessions;
    double sum = 0, squares = 0;
    for (const double rate : rates) sum += rate;
    const auto count = static_cast<double>(rates.size());
    m.tokens_per_s = sum / count;
    for (const double rate : rates) squares += (rate - m.tokens_per_s) * (rate - m.tokens_per_s);
    m.sd = rates.size() > 1 ? std::sqrt(squares / (count - 1)) : 0;
    const int64_t passes = is_decode ? n : (n + kPromptBatch - 1) / kPromptBatch;
    m.bytes_per_token = static_cast<double>(model_info_.bytes_per_token) *
                        static_cast<double>(passes) / static_cast<double>(n * sessions);
    m.read_bytes_per_s = read_;
    m.large_page_bytes_per_s = large_page_read_;
    m.macs_per_token = static_cast<double>(model_info_.macs_per_token);
    m.int8_macs_per_s = int8_;
    return m;
  }

  const BenchArgs& args_;
  int64_t threads_;
  RuntimePtr runtime_;
  ModelPtr model_;
  krafla_model_info model_info_{};
  double read_ = 0, large_page_read_ = 0, int8_ = 0;
};

}  // namespace

ExitCode Measure(const BenchArgs& args, int64_t threads, std::vector<Measurement>* results) {
  Bench bench(args, threads);
  if (ExitCode e = bench.Open()) return e;
  for (const bool is_decode : {false, true}) {
    for (const int64_t n : is_decode ? args.decode : args.prompt) {
      if (n == 0) continue;
      for (const int64_t sessions : is_decode ? args.sessions : std::vector<int64_t>{1}) {
        if (ExitCode e = bench.Run(is_decode, n, sessions, &results->emplace_back())) return e;
      }
    }
  }
  return kExitOk;
}

}  // namespace krafla::tools
