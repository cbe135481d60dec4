// Making a session, and the plan of what it takes.
#include "lib/session/session.h"

#include <algorithm>
#include <utility>

#include "lib/model/arch.h"
#include "lib/session/job.h"

namespace krafla {
namespace {

constexpr int64_t kDefaultContext = 4096;
constexpr int64_t kDefaultBatch = 256;
constexpr int64_t kMaxBatch = 8192;
constexpr int64_t kStreamedBatch = 2048;
constexpr uint64_t kScratchShare = 8;
constexpr int64_t kDefaultSnapshotBytes = int64_t{256} << 20;
constexpr int64_t kDefaultSnapshotSpacing = 512;

// A prompt reads an expert once for each pass, so passes are as long as an eighth of the experts'
// memory allows, which their scratch comes out of.
int64_t StreamedBatch(const Config& config, const SessionOptions& options) {
  const Arch* arch = FindArch(config.arch);
  if (options.slab_bytes == 0 || arch == nullptr) return kDefaultBatch;
  const NetworkShape shape = arch->shape(config);
  for (int64_t batch = kStreamedBatch; batch > kDefaultBatch; batch /= 2) {
    const uint64_t arena =
        Driver::ArenaBytes(shape, static_cast<size_t>(batch), options.context, 1);
    if (arena <= options.slab_bytes / kScratchShare) return batch;
  }
  return kDefaultBatch;
}

// Defaults filled in, bounds checked.
StatusOr<SessionOptions> Resolve(const Config& config, SessionOptions options) {
  if (options.context == 0) options.context = std::min(kDefaultContext, config.max_positions);
  if (options.context < 1 || options.context > config.max_positions) {
    return ArgumentError("context: got {}, want 1 to {}, the model's maximum", options.context,
                         config.max_positions);
  }
  if (options.kv < KvType::kF32 || options.kv > KvType::kK4V4) {
    return ArgumentError("kv: got {}, want 0 to 5", static_cast<int32_t>(options.kv));
  }
  if (options.reserve == -1) options.reserve = options.context;
  if (options.reserve < 0 || options.reserve > options.context) {
    return ArgumentError("reserve: got {}, want -1 to {}, the context", options.reserve,
                         options.context);
  }
  if (options.batch == 0) options.batch = StreamedBatch(config, options);
  if (options.batch < 1 || options.batch > kMaxBatch) {
    return ArgumentError("batch: got {}, want 1 to {}", options.batch, kMaxBatch);
  }
  options.batch = std::min(options.batch, options.context);
  if (options.snapshot_bytes == 0) options.snapshot_bytes = kDefaultSnapshotBytes;
  if (options.snapshot_bytes == -1) options.snapshot_bytes = 0;
  if (options.snapshot_spacing == 0) options.snapshot_spacing = kDefaultSnapshotSpacing;
  if (options.snapshot_bytes < 0 || options.snapshot_spacing < 1) {
    return ArgumentError("snapshots: got {} bytes and a spacing of {}, want at least -1 and 0",
                         options.snapshot_bytes, options.snapshot_spacing);
  }
  return options;
}

uint64_t LogitsBytes(const NetworkShape& shape) {
  return 2 * uint64_t{PadTo16(shape.n_vocab)} * sizeof(float);
}

}  // namespace

StatusOr<SessionPlan> PlanSession(const Config& config, const SessionOptions& given,
                                  size_t threads) {
  KRAFLA_ASSIGN_OR_RETURN(const SessionOptions options, Resolve(config, given));
  const Arch* arch = FindArch(config.arch);
  if (arch == nullptr) {
    return UnsupportedError("architecture \"{}\" is not built here", config.arch);
  }
  const NetworkShape shape = arch->shape(config);
  const uint64_t arena =
      Driver::ArenaBytes(shape, static_cast<size_t>(options.batch), options.context, threads);
  SessionPlan plan;
  plan.state = 2 * shape.recurrent_bytes;
  if (plan.state > 0) plan.state += static_cast<uint64_t>(options.snapshot_bytes);
  plan.kv = KvBytes(shape.kv(options.kv), options.context, options.batch);
  if (plan.kv == UINT64_MAX || __builtin_add_overflow(arena, LogitsBytes(shape), &plan.scratch)) {
    return MemoryError("session: context {} and batch {} need more bytes than can be counted",
                       options.context, options.batch);
  }
  return plan;
}

Session::~Session() = default;

float* Session::logits_row(int which) const {
  const size_t row = PadTo16(model_->network().shape().n_vocab);
  return logits_rows_.as<float>() + static_cast<size_t>(which) * row;
}

// All but the state, which Create makes and Fork derives.
StatusOr<std::unique_ptr<Session>> Session::Make(std::shared_ptr<const Model> model,
                                                 const SessionOptions& options,
                                                 std::shared_ptr<Driver> driver) {
  std::unique_ptr<Session> session(new Session);
  Runtime& runtime = *model->runtime();
  const NetworkShape& shape = model->network().shape();
  session->options_ = options;
  session->driver_ = std::move(driver);
  if (session->driver_ == nullptr) {
    KRAFLA_ASSIGN_OR_RETURN(session->driver_,
                            Driver::Create(model->network(), runtime,
                                           static_cast<size_t>(options.batch), options.context));
  }
  KRAFLA_ASSIGN_OR_RETURN(
      session->logits_rows_,
      runtime.memory().Allocate(LogitsBytes(shape), MemoryKind::kScratch, "logits of a session"));
  session->ids_.reserve(static_cast<size_t>(options.context));
  session->snapshots_ =
      Snapshots(&runtime.memory(), shape.recurrent_bytes,
                static_cast<uint64_t>(options.snapshot_bytes), options.snapshot_spacing);
  session->job_ = std::make_unique<Job>();
  session->job_->Reserve(1);
  session->model_ = std::move(model);
  return session;
}

StatusOr<std::unique_ptr<Session>> Session::Create(std::shared_ptr<const Model> model,
                                                   const SessionOptions& given) {
  KRAFLA_RETURN_IF_ERROR(model->file().source().CheckUnchanged());
  SessionOptions wanted = given;
  if (model->residency() != nullptr) wanted.slab_bytes = model->residency()->info().slab_bytes;
  KRAFLA_ASSIGN_OR_RETURN(const SessionOptions options, Resolve(model->config(), wanted));
  const NetworkShape& shape = model->network().shape();
  Memory& memory = model->runtime()->memory();
  KRAFLA_ASSIGN_OR_RETURN(State state,
                          State::Create(memory, shape.kv(options.kv), shape.recurrent_bytes,
                                        options.context, options.reserve, options.batch));
  KRAFLA_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                          Make(std::move(model), options, nullptr));
  session->state_ = std::move(state);
  return session;
}

uint64_t Session::held_bytes() const {
  return state_.held_bytes() + 2 * state_.recurrent_bytes() + snapshots_.bytes() +
         logits_rows_.size() + ids_.capacity() * sizeof(int32_t);
}

Status Session::CheckIdle() const {
  if (!begun_) return OkStatus();
  return StateError("session: an append is begun; only Step and Abandon are possible");
}

Status Session::CheckVocabulary(std::span<const int32_t> ids) const {
  const int64_t n_vocab = model_->config().n_vocab;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= n_vocab) {
      return ArgumentError("ids[{}]: got {}, want 0 to {}", i, ids[i], n_vocab - 1);
    }
  }
  return OkStatus();
}

Status Session::CheckIds(std::span<const int32_t> ids) const {
  KRAFLA_RETURN_IF_ERROR(CheckVocabulary(ids));
  const auto n = static_cast<int64_t>(ids.size());
  if (n > options_.context - length_) {
    return ContextError("context: {} tokens in use and {} more, want at most {}", length_, n,
                        options_.context);
  }
  return OkStatus();
}

}  // namespace krafla
