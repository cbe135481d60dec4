// krafla_session_embed: pools the hidden states of an append. Sums are in double and in order, so
// an embedding too is the same bits everywhere.
#include <cmath>
#include <vector>

#include "capi/guard.h"
#include "capi/handles.h"
#include "capi/structs.h"

using namespace krafla;  // NOLINT: the definitions below are the global C functions
using capi::Guard;
using capi::SessionUse;

namespace {

struct Pool {
  const krafla_embed_options& options;
  int64_t rows = 0;
  std::vector<double> sum;

  void Add(const float* row) {
    ++rows;
    if (options.pool == KRAFLA_POOL_FIRST && rows > 1) return;
    for (size_t i = 0; i < sum.size(); ++i) {
      sum[i] = options.pool == KRAFLA_POOL_MEAN ? sum[i] + static_cast<double>(row[i])
                                                : static_cast<double>(row[i]);
    }
  }

  void Write(float* out) const {
    double divisor = options.pool == KRAFLA_POOL_MEAN ? static_cast<double>(rows) : 1;
    if (options.normalize != 0) {
      double squares = 0;
      for (const double value : sum) squares += value * value;
      divisor = squares > 0 ? std::sqrt(squares) : 1;
    }
    for (size_t i = 0; i < sum.size(); ++i) out[i] = static_cast<float>(sum[i] / divisor);
  }
};

}  // namespace

extern "C" int32_t krafla_session_embed(krafla_session* session, const int32_t* ids, size_t n,
                                        const krafla_embed_options* options, float* out,
                                        size_t capacity, size_t* n_embd) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(session);
    KRAFLA_CHECK_POINTER(n_embd);
    KRAFLA_ASSIGN_OR_RETURN(const auto span, capi::ReadIds(ids, n));
    krafla_embed_options given;
    KRAFLA_RETURN_IF_ERROR(capi::ReadOptions(options, "krafla_embed_options", &given));
    if (given.pool < KRAFLA_POOL_MEAN || given.pool > KRAFLA_POOL_FIRST) {
      return ArgumentError("krafla_embed_options: pool: got {}, want KRAFLA_POOL_*", given.pool);
    }
    if (span.empty()) return ArgumentError("ids: got none, want at least one");
    const auto width = static_cast<size_t>(session->shared->model->config().n_embd);
    *n_embd = width;
    if (capacity < width) return BufferError("out: got {} floats, want {}", capacity, width);
    KRAFLA_CHECK_POINTER(out);
    SessionUse use(session);
    KRAFLA_RETURN_IF_ERROR(use.status());
    Pool pool{given, 0, std::vector<double>(width)};
    AppendOptions append;
    append.logits = WantLogits::kNone;
    append.user = &pool;
    append.on_hidden = [](void* user, int64_t, const float* row, size_t) {
      static_cast<Pool*>(user)->Add(row);
      return 0;
    };
    if (given.on_progress != nullptr) {
      append.on_progress = [](void* user, int64_t done, int64_t total) {
        const krafla_embed_options& options = static_cast<Pool*>(user)->options;
        return options.on_progress(options.user, done, total);
      };
    }
    const int64_t before = session->session->length();
    KRAFLA_RETURN_IF_ERROR(session->session->Append(span, append));
    session->NoteAppend(before);
    pool.Write(out);
    return OkStatus();
  });
}
