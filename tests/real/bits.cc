// One model, one text, every way of reading it: the logits must be the same bits. Usage: bits MODEL
// [TOKENS]. Prints one line a way; exit status 1 where one differs from a cold append on one
// thread.
#include <fenv.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "krafla/krafla.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace {

using Ids = std::vector<int32_t>;

krafla::Runtime MakeRuntime(int32_t threads) {
  krafla_runtime_options options = KRAFLA_RUNTIME_OPTIONS_INIT;
  options.threads = threads;
  return krafla::Runtime(options);
}

krafla::Session MakeSession(const krafla::Model& model, int32_t kv, int64_t batch = 0) {
  krafla_session_options options = KRAFLA_SESSION_OPTIONS_INIT;
  options.context = 512;
  options.kv = kv;
  options.batch = batch;
  return krafla::Session(model, options);
}

std::vector<float> Row(const krafla::Session& session) {
  const krafla::Logits row = session.logits();
  return {row.begin(), row.end()};
}

// The first n ids and the rest.
Ids Head(const Ids& ids, size_t n) {
  return {ids.begin(), ids.begin() + static_cast<ptrdiff_t>(n)};
}
Ids Tail(const Ids& ids, size_t n) { return {ids.begin() + static_cast<ptrdiff_t>(n), ids.end()}; }

class Comparison {
 public:
  Comparison(std::string path, Ids ids, int32_t kv)
      : path_(std::move(path)),
        ids_(std::move(ids)),
        kv_(kv),
        runtime_(MakeRuntime(2)),
        model_(krafla::Model::Open(path_, &runtime_)),
        expected_(Append(1, 512)) {}

  bool Run() {
    for (const int32_t threads : {1, 2, 3, 4}) {
      for (const int64_t batch : {1, 7, 32, 512}) {
        Check("threads " + std::to_string(threads) + ", batch " + std::to_string(batch),
              [&] { return Append(threads, batch); });
      }
    }
    Check("forked", [&] { return Forked(); });
    Check("truncated and continued", [&] { return Truncated(); });
    Check("paused after every work item", [&] { return Stepped(); });
    Check("two sessions in one batch", [&] { return Batched(); });
    Check("host rounds up", [&] { return InMode([] { fesetround(FE_UPWARD); }); });
#if defined(__x86_64__)
    Check("host flushes to zero",
          [&] { return InMode([] { _mm_setcsr(_mm_getcsr() | 0x8040); }); });
#endif
    return same_;
  }

 private:
  std::vector<float> Append(int32_t threads, int64_t batch) {
    krafla::Runtime runtime = MakeRuntime(threads);
    krafla::Model model = krafla::Model::Open(path_, &runtime);
    krafla::Session session = MakeSession(model, kv_, batch);
    session.Append(ids_);
    return Row(session);
  }

  std::vector<float> Forked() {
    krafla::Session base = MakeSession(model_, kv_);
    base.Append(Head(ids_, ids_.size() / 3));
    krafla::Session fork = base.Fork();
    base.Append({1, 2, 3, 4, 5});  // into the page that both held
    fork.Append(Tail(ids_, ids_.size() / 3));
    return Row(fork);
  }

  std::vector<float> Truncated() {
    krafla::Session session = MakeSession(model_, kv_);
    session.Append(ids_);
    session.Truncate(static_cast<int64_t>(ids_.size() / 2));
    session.Append({9, 8, 7});
    session.Truncate(static_cast<int64_t>(ids_.size() / 4));
    session.Append(Tail(ids_, ids_.size() / 4));
    return Row(session);
  }

  std::vector<float> Stepped() {
    krafla::Session session = MakeSession(model_, kv_, 64);
    session.Begin(ids_);
    while (!session.Step(0)) {
    }
    return Row(session);
  }

  std::vector<float> Batched() {
    krafla::Session first = MakeSession(model_, kv_);
    krafla::Session second = MakeSession(model_, kv_);
    const Ids other(50, 11);
    krafla_session* sessions[] = {first.get(), second.get()};
    const int32_t* ids[] = {other.data(), ids_.data()};
    const size_t n[] = {other.size(), ids_.size()};
    krafla::Check(krafla_session_append_batch(sessions, ids, n, 2));
    return Row(second);
  }

  std::vector<float> InMode(const std::function<void()>& set) {
    fenv_t host;
    fegetenv(&host);
    set();
    krafla::Session session = MakeSession(model_, kv_);
    session.Append(ids_);
    fesetenv(&host);
    return Row(session);
  }

  void Check(const std::string& name, const std::function<std::vector<float>()>& read) {
    const std::vector<float> row = read();
    const bool same = row.size() == expected_.size() &&
                      std::memcmp(row.data(), expected_.data(), row.size() * sizeof(float)) == 0;
    std::printf("%-32s %s\n", name.c_str(), same ? "same bits" : "DIFFERS");
    same_ = same_ && same;
  }

  std::string path_;
  Ids ids_;
  int32_t kv_;
  krafla::Runtime runtime_;
  krafla::Model model_;
  std::vector<float> expected_;
  bool same_ = true;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: bits MODEL [TOKENS]\n");
    return 2;
  }
  try {
    const size_t n = argc > 2 ? static_cast<size_t>(std::atoi(argv[2])) : 300;
    Ids ids;
    for (size_t i = 0; i < n; ++i) ids.push_back(static_cast<int32_t>((i * 7919 + 13) % 30000));
    bool same = true;
    struct Cache {
      int32_t kv;
      const char* name;
    };
    for (const Cache& cache : {Cache{KRAFLA_KV_F16, "f16"}, Cache{KRAFLA_KV_F32, "f32"},
                               Cache{KRAFLA_KV_Q8, "q8"}, Cache{KRAFLA_KV_K4V4, "k4v4"}}) {
      std::printf("%s, %zu tokens, %s KV\n", argv[1], n, cache.name);
      same = Comparison(argv[1], ids, cache.kv).Run() && same;
    }
    return same ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bits: %s\n", error.what());
    return 1;
  }
}
