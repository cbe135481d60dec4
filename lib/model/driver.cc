// The layer loop. Between pieces of about a millisecond it looks at the events (cancel, progress)
// and at the deadline.
#include "lib/model/driver.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "lib/model/arena.h"
#include "lib/model/blocks.h"

namespace krafla {
namespace {

// A piece of a step that one thread runs: at most about a millisecond (cancel and pause are checked
// between groups of pieces), at least what a hand-over to another thread costs.
constexpr double kMaxPieceBytes = 2e6;
constexpr double kMaxPieceMacs = 10e6;
constexpr double kMinPiece = 0.01;      // of the largest: 20 KB of weights or 100,000 multiply-adds
constexpr size_t kPiecesPerThread = 4;  // so that a late thread does not hold up the others

// A wait for an expert looks at the events and at the deadline so often.
constexpr int64_t kMostWaitUs = 5000;
// Of a driver's scratch that does not come out of the budget of a Residency.
constexpr uint64_t kFreeScratch = uint64_t{32} << 20;

struct Pieces {
  size_t grain = 1;
  size_t group = 1;  // items between two checks
};

Pieces PiecesOf(const StepWork& work, size_t threads) {
  const double cost = std::max(static_cast<double>(work.bytes_per_item) / kMaxPieceBytes,
                               static_cast<double>(work.macs_per_item) / kMaxPieceMacs);
  const double items = static_cast<double>(work.items);
  const double most = cost > 0 ? std::min(1.0 / cost, items) : items;
  const double least = cost > 0 ? std::min(kMinPiece / cost, items) : items;
  const double shared = items / static_cast<double>(threads * kPiecesPerThread);
  Pieces pieces;
  pieces.grain =
      static_cast<size_t>(std::max(std::clamp(shared, least, std::max(least, most)), 1.0));
  pieces.group = std::max<size_t>(static_cast<size_t>(most), 1) * threads;
  return pieces;
}

int64_t MostWaitUs(const Driver::Pause& pause) {
  if (!pause.deadline) return kMostWaitUs;
  const auto left =
      std::chrono::duration_cast<std::chrono::microseconds>(*pause.deadline - Driver::Clock::now());
  return std::clamp<int64_t>(left.count(), 0, kMostWaitUs);
}

}  // namespace

Driver::Driver(const Network& network, Runtime& runtime)
    : network_(network), runtime_(runtime), n_layers_(network.shape().n_layers) {}

uint64_t Driver::ArenaBytes(const NetworkShape& shape, size_t max_rows, int64_t context,
                            size_t threads) {
  return ArenaLayout(shape, max_rows, context, threads).bytes;
}

StatusOr<std::unique_ptr<Driver>> Driver::Create(const Network& network, Runtime& runtime,
                                                 size_t max_rows, int64_t context) {
  std::unique_ptr<Driver> driver(new Driver(network, runtime));
  driver->max_rows_ = max_rows;
  const uint64_t bytes = ArenaBytes(network.shape(), max_rows, context, runtime.threads().size());
  KRAFLA_ASSIGN_OR_RETURN(driver->arena_, runtime.memory().Allocate(bytes, MemoryKind::kScratch,
                                                                    "scratch of a session"));
  driver->BindArena(context);
  if (Residency* residency = network.residency(); residency != nullptr && bytes > kFreeScratch) {
    driver->reserved_ = static_cast<int64_t>(bytes - kFreeScratch);
    residency->Reserve(driver->reserved_);
  }
  driver->rows_.reserve(max_rows);
  driver->sequences_.reserve(max_rows);
  driver->page_runs_.reserve(max_rows);
  driver->query_groups_.reserve(max_rows);
  driver->block_pairs_.reserve(driver->max_pairs_);
  driver->logit_row_ids_.reserve(max_rows);
  driver->logit_rows_.reserve(max_rows);
  return driver;
}

Driver::~Driver() {
  if (reserved_ == 0) return;
  try {
    network_.residency()->Reserve(-reserved_);
  } catch (const std::bad_alloc&) {
    // It is given back; what did not come of it is a message, or more slots, which the next change
    // brings.
  }
}

void Driver::BindArena(int64_t context) {
  const NetworkShape& shape = network_.shape();
  const ArenaLayout layout(shape, max_rows_, context, runtime_.threads().size());
  const auto floats = [this](uint64_t offset) {
    return reinterpret_cast<float*>(arena_.data() + offset);
  };
  max_pairs_ = layout.max_pairs;
  pass_.x = floats(layout.x);
  pass_.ldx = PadTo16(shape.n_embd);
  pass_.act = floats(layout.act);
  pass_.ld_act = PadTo16(shape.act_width);
  pass_.blocks = reinterpret_cast<ActBlock*>(arena_.data() + layout.blocks);
  pass_.wide = floats(layout.wide);
  pass_.ld_wide = shape.wide;
  pass_.rope_cos = floats(layout.rope_cos);
  pass_.rope_sin = floats(layout.rope_sin);
  pass_.ld_rope = shape.rope_width;
  pass_.part_m = floats(layout.part_m);
  pass_.part_l = floats(layout.part_l);
  pass_.part_o = floats(layout.part_o);
  const auto numbers = [this](uint64_t offset) {
    return reinterpret_cast<uint32_t*>(arena_.data() + offset);
  };
  pass_.routes = {numbers(layout.route_expert), floats(layout.route_weight),
                  numbers(layout.route_pair),   floats(layout.route_shared),
                  numbers(layout.route_row),    numbers(layout.route_hit),
                  numbers(layout.route_begin),  numbers(layout.route_n_hit)};
  pass_.expert_rows = floats(layout.expert_rows);
  pass_.expert_units = floats(layout.expert_units);
  pass_.expert_blocks = reinterpret_cast<ActBlock*>(arena_.data() + layout.expert_blocks);
  pass_.ld_units = PadTo16(shape.n_ff_expert);
  turn_logits_ = floats(layout.logits);
  pass_.ld_logits = PadTo16(shape.n_vocab);
  pass_.scratch = arena_.data() + layout.scratch;
  pass_.scratch_bytes = layout.scratch_bytes;
}

void Driver::AddRows(size_t index, const BatchSequence& sequence) {
  const size_t n = sequence.tokens.size();
  const auto first = static_cast<uint32_t>(rows_.size());
  sequences_.push_back({sequence.state, first, static_cast<uint32_t>(n), sequence.position});
  for (size_t i = 0; i < n; ++i) {
    const int64_t position = sequence.position + static_cast<int64_t>(i);
    const auto row = static_cast<uint32_t>(rows_.size());
    rows_.push_back(
        {sequence.tokens[i], static_cast<int32_t>(position), static_cast<uint32_t>(index)});
    if (i == 0 || position % static_cast<int64_t>(kPagePositions) == 0) {
      page_runs_.push_back({row, 0});
    }
    ++page_runs_.back().n_rows;
    pass_.seen += static_cast<uint64_t>(position) + 1;
    float* target = i + 1 == n ? sequence.last_logits : nullptr;
    if (target != nullptr || sequence.all_logits || sequence.all_hidden) {
      logit_row_ids_.push_back(row);
      logit_rows_.push_back({row, target, sequence.all_logits, sequence.all_hidden});
    }
  }
}

// Few rows that see much: their blocks are spread over threads. Else queries of neighbouring tokens
// share the loads of K and V.
void Driver::PlanAttention() {
  const NetworkShape& shape = network_.shape();
  size_t n_pairs = 0;
  for (const PassRow& row : rows_)
    n_pairs += static_cast<size_t>(row.position) / kAttendPositions + 1;
  if (n_pairs > rows_.size() && n_pairs <= max_pairs_) {
    for (uint32_t i = 0; i < rows_.size(); ++i) {
      const uint32_t n = static_cast<uint32_t>(rows_[i].position) / kAttendPositions + 1;
      for (uint32_t b = 0; b < n; ++b) block_pairs_.push_back({i, b, n});
    }
    return;
  }
  const size_t heads = blocks::HeadsPerItem(shape.n_heads, shape.n_kv_heads);
  for (const PassSequence& sequence : sequences_) {
    const uint32_t end = sequence.first_row + sequence.n_rows;
    const bool quantised = sequence.state->shape().quantised();
    for (uint32_t row = sequence.first_row; row < end;) {
      const double macs = 2.0 * static_cast<double>(shape.head_dim * heads) *
                          static_cast<double>(rows_[row].position + 1);
      const auto most = static_cast<uint32_t>(
          std::clamp(kMaxPieceMacs / macs, 1.0, static_cast<double>(kMaxQueries / heads)));
      uint32_t n = std::min(most, end - row);
      // Queries of different pages see quantised keys differently.
      const auto in_page =
          static_cast<uint32_t>(static_cast<size_t>(rows_[row].position) % kPagePositions);
      if (quantised) n = std::min(n, static_cast<uint32_t>(kPagePositions) - in_page);
      query_groups_.push_back({row, n});
      row += n;
    }
  }
}

void Driver::Begin(std::span<const BatchSequence> sequences) {
  rows_.clear();
  sequences_.clear();
  page_runs_.clear();
  query_groups_.clear();
  block_pairs_.clear();
  logit_row_ids_.clear();
  logit_rows_.clear();
  pass_.seen = 0;
  for (size_t i = 0; i < sequences.size(); ++i) AddRows(i, sequences[i]);
  PlanAttention();
  pass_.rows = rows_;
  pass_.sequences = sequences_;
  pass_.page_runs = page_runs_;
  pass_.query_groups = query_groups_;
  pass_.block_pairs = block_pairs_;
  n_turns_ = (logit_rows_.size() + kHeadRows - 1) / kHeadRows;
  stage_ = rows_.empty() ? stages() : 0;
  step_ = 0;
  next_ = 0;
  layer_.Begin();
}

const StepList& Driver::steps() const {
  if (stage_ == 0) return network_.embed();
  return stage_ <= n_layers_ ? network_.layer(stage_ - 1) : network_.head();
}

void Driver::BeginTurn() {
  const size_t first = (stage_ - 1 - n_layers_) * kHeadRows;
  const size_t n = std::min(kHeadRows, logit_rows_.size() - first);
  pass_.logit_rows = std::span<const uint32_t>(logit_row_ids_).subspan(first, n);
  // A single row is computed in place.
  float* target = logit_rows_[first].target;
  pass_.logits = n == 1 && target != nullptr ? target : turn_logits_;
  delivered_ = 0;
  delivered_hidden_ = 0;
  turn_wants_logits_ = false;
  for (size_t i = 0; i < n; ++i) turn_wants_logits_ |= logit_rows_[first + i].wants_logits();
}

// The head's first step has left the turn's normed rows in act.
Status Driver::DeliverHidden(DriverEvents& events) {
  const size_t first = (stage_ - 1 - n_layers_) * kHeadRows;
  while (delivered_hidden_ < pass_.logit_rows.size()) {
    const size_t i = delivered_hidden_++;
    const LogitRow& logit_row = logit_rows_[first + i];
    if (!logit_row.hidden) continue;
    const PassRow& r = rows_[logit_row.row];
    KRAFLA_RETURN_IF_ERROR(events.OnHidden(r.sequence, r.position, pass_.act + i * pass_.ld_act));
  }
  return OkStatus();
}

Status Driver::Deliver(DriverEvents& events) {
  const size_t first = (stage_ - 1 - n_layers_) * kHeadRows;
  while (delivered_ < pass_.logit_rows.size()) {
    const LogitRow& logit_row = logit_rows_[first + delivered_];
    const float* row = pass_.logits + delivered_ * pass_.ld_logits;
    if (logit_row.target != nullptr && logit_row.target != row) {
      std::memcpy(logit_row.target, row, pass_.ld_logits * sizeof(float));
    }
    ++delivered_;  // also where the callback says stop: it has seen the row
    if (!logit_row.report) continue;
    const PassRow& r = rows_[logit_row.row];
    KRAFLA_RETURN_IF_ERROR(events.OnLogits(r.sequence, r.position, row));
  }
  return OkStatus();
}

// Moves the counter behind a step whose items are all done.
Status Driver::FinishStep(DriverEvents& events) {
  const bool head = stage_ > n_layers_;
  if (head && step_ == 0) KRAFLA_RETURN_IF_ERROR(DeliverHidden(events));
  if (step_ + 1 == steps().size() || (head && !turn_wants_logits_)) {
    if (head && turn_wants_logits_) KRAFLA_RETURN_IF_ERROR(Deliver(events));
    ++stage_;
    step_ = 0;
  } else {
    ++step_;
  }
  next_ = 0;
  return OkStatus();
}

// Some items from `first` on; returns how many.
size_t Driver::RunItems(const Step& step, const Pass& pass, size_t first) {
  const StepWork work = step.Work(pass);
  const Pieces pieces = PiecesOf(work, runtime_.threads().size());
  const size_t n = std::min(pieces.group, work.items - first);
  struct Job {
    const Step& step;
    const Pass& pass;
    size_t first;
  } job{step, pass, first};
  runtime_.threads().Run(
      n, pieces.grain,
      [](void* context, size_t begin, size_t end, size_t thread) {
        const Job& j = *static_cast<const Job*>(context);
        j.step.Run(j.pass, j.first + begin, j.first + end, thread);
      },
      &job);
  return n;
}

void Driver::Rewind(State& state, int64_t position, size_t n) {
  const PassRow rows[kHeadRows] = {};
  const PassSequence sequence{&state, 0, static_cast<uint32_t>(n), position};
  Pass pass;
  pass.rows = {rows, n};
  pass.sequences = {&sequence, 1};
  pass.wide = state.trace();
  pass.ld_wide = network_.shape().trace_width;
  state.Drop();
  for (size_t layer = 0; layer < n_layers_; ++layer) {
    bool any = false;
    for (const auto& step : network_.layer(layer)) {
      if (!step->FromTrace()) continue;
      any = true;
      const size_t items = step->Work(pass).items;
      for (size_t done = 0; done < items;) done += RunItems(*step, pass, done);
    }
    if (any) pass.wide += kHeadRows * pass.ld_wide;
  }
  state.PassDone();
}

// True: the stage's layer is in memory and stays there until the next stage or the end of the call.
StatusOr<bool> Driver::HoldLayer(const Pause& pause) {
  if (stage_ == 0 || stage_ > n_layers_) {
    layer_.LetGo();
    return true;
  }
  return layer_.Hold(*network_.residency(), stage_ - 1, MostWaitUs(pause));
}

// True: all of the step is done.
StatusOr<bool> Driver::RunStreamed(const StreamedLayer& layer, const Pause& pause) {
  if (next_ == 0) {
    stream_.Begin();
    next_ = 1;  // of one item, which is done when the stream is
  }
  const auto run = [](void* driver, const Step& step, const Pass& pass, size_t first) {
    return static_cast<Driver*>(driver)->RunItems(step, pass, first);
  };
  KRAFLA_ASSIGN_OR_RETURN(const ExpertStream::Outcome outcome,
                          stream_.Advance(layer, pass_, run, this, MostWaitUs(pause)));
  return outcome == ExpertStream::Outcome::kDone;
}

StatusOr<bool> Driver::RunSteps(DriverEvents& events, const Pause& pause) {
  const Residency* residency = network_.residency();
  const bool whole_layers = residency != nullptr && residency->layout().whole_layers;
  while (stage_ < stages()) {
    if (whole_layers) {
      KRAFLA_ASSIGN_OR_RETURN(const bool there, HoldLayer(pause));
      if (!there) {
        KRAFLA_RETURN_IF_ERROR(events.Check());
        if (pause.each_item || (pause.deadline && Clock::now() >= *pause.deadline)) return false;
        continue;
      }
    }
    if (stage_ > n_layers_ && step_ == 0 && next_ == 0) BeginTurn();
    const Step& step = *steps()[step_];
    const size_t items = step.Work(pass_).items;
    bool work = next_ < items;
    bool step_done = !work;
    if (work || step.streamed() != nullptr) {
      KRAFLA_RETURN_IF_ERROR(events.Check());
      if (next_ == 0) KRAFLA_RETURN_IF_ERROR(events.BeforeStep(step, pass_));
    }
    if (const StreamedLayer* layer = step.streamed(); layer != nullptr) {
      KRAFLA_ASSIGN_OR_RETURN(step_done, RunStreamed(*layer, pause));
      work = true;
    } else if (work) {
      next_ += RunItems(step, pass_, next_);
      step_done = next_ == items;
    }
    if (step_done) KRAFLA_RETURN_IF_ERROR(FinishStep(events));
    if (stage_ == stages()) break;
    if (work && pause.each_item) return false;
    if (pause.deadline && Clock::now() >= *pause.deadline) return false;
  }
  for (const PassSequence& sequence : sequences_) sequence.state->PassDone();
  return true;
}

StatusOr<bool> Driver::Run(DriverEvents& events, const Pause& pause) {
  // Whoever stops here may never go on: others need the slots.
  struct LetGo {
    ExpertStream& stream;
    LayerHold& layer;
    ~LetGo() {
      stream.LetGo();
      layer.LetGo();
    }
  } let_go{stream_, layer_};
  return RunSteps(events, pause);
}

}  // namespace krafla
