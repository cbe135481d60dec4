// Opening, sizes and figures; slots.cc has what happens to slots.
#include "lib/weights/residency/residency.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "lib/weights/residency/pressure_watch.h"

namespace krafla {
namespace {

constexpr size_t kFloorMore = 2;    // slots of a layer beyond those that one token uses
constexpr size_t kFloorLayers = 2;  // of whole layers: one is used while the next is read

uint64_t DenseBytes(std::span<const MlbTensor> tensors, const ExpertLayout& layout) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (layout.places[i].layer < 0) bytes += tensors[i].bytes;
  }
  return bytes;
}

size_t FloorSlots(const ExpertLayout& layout, size_t experts_used) {
  if (layout.whole_layers) return std::min(kFloorLayers, layout.n_experts);
  size_t slots = 0;
  for (const ExpertLayer& layer : layout.layers) {
    slots += std::min<size_t>(experts_used + kFloorMore, layer.experts);
  }
  return slots;
}

// Pieces that fit, and part of the last where that is all that is wanted.
size_t SlotsFor(const SlabShape& shape, uint64_t bytes) {
  size_t slots = 0;
  for (size_t piece = 0; piece < shape.max_pieces(); ++piece) {
    if (shape.bytes_of(piece) > bytes) break;
    bytes -= shape.bytes_of(piece);
    slots += shape.slots_of(piece);
  }
  return slots;
}

const char* KindOf(const ExpertLayout& layout) {
  return layout.whole_layers ? "layers" : "experts";
}

// Past the page cache where the file would not fit it beside the slab.
ReaderKind Choose(ReaderKind wanted, uint64_t file_bytes, uint64_t slab_bytes) {
  if (wanted != ReaderKind::kAuto) return wanted;
  const uint64_t available = AvailableMemory("");
  const bool fits = slab_bytes < available && file_bytes <= available - slab_bytes;
  return fits ? ReaderKind::kPageCache : ReaderKind::kUring;
}

bool IsAligned(const ExpertLayout& layout, uint64_t base) {
  return std::all_of(layout.layers.begin(), layout.layers.end(), [&](const ExpertLayer& layer) {
    return (base + layer.offset) % kDirectAlignment == 0 && layer.stride % kDirectAlignment == 0;
  });
}

}  // namespace

ResidencyPlan PlanResidency(std::span<const MlbTensor> tensors, const ExpertLayout& layout,
                            size_t experts_used, uint64_t budget) {
  ResidencyPlan plan;
  plan.dense_bytes = DenseBytes(tensors, layout);
  plan.experts = layout.n_experts;
  const SlabShape shape(layout.largest, layout.n_experts);
  size_t least = FloorSlots(layout, experts_used);
  const size_t pieces =
      layout.n_experts == 0 ? 0 : (least + shape.piece_slots - 1) / shape.piece_slots;
  plan.least = plan.dense_bytes;
  for (size_t piece = 0; piece < pieces; ++piece) plan.least += shape.bytes_of(piece);
  if (budget == 0) budget = SpareMemory("");
  if (layout.n_experts != 0 && budget > plan.dense_bytes) {
    plan.slots = SlotsFor(shape, budget - plan.dense_bytes);
    plan.slab_bytes = shape.BytesFor(plan.slots);
  }
  return plan;
}

Residency::Residency(Runtime& runtime, const MlbFile& file, ExpertLayout layout,
                     size_t experts_used, const ResidencyOptions& options)
    : runtime_(runtime),
      layout_(std::move(layout)),
      options_(options),
      name_(file.source().name()),
      content_hash_(file.content_hash()),
      dense_bytes_(DenseBytes(file.tensors(), layout_)),
      floor_slots_(FloorSlots(layout_, experts_used)),
      heat_(layout_),
      slab_(runtime.memory(), SlabShape(layout_.largest, std::max<size_t>(layout_.n_experts, 1))),
      all_slots_(slab_.shape().max_slots),
      pieces_(slab_.shape().max_pieces()) {
  for (const ExpertLayer& layer : layout_.layers) {
    layers_.emplace_back().slot_of.resize(layer.experts, kNoSlot);
  }
  if (layout_.whole_layers) layer_data_.resize(layers_.size());
  free_.reserve(all_slots_.size());
}

StatusOr<std::unique_ptr<Residency>> Residency::Create(Runtime& runtime, const MlbFile& file,
                                                       size_t experts_used,
                                                       const ResidencyOptions& options) {
  uint64_t base = 0;
  const NativeFile* native = file.source().file(&base);
  if (native == nullptr) {
    return UnsupportedError("{}: experts are read from files only, not from memory or callbacks",
                            file.source().name());
  }
  ExpertLayout layout(file.tensors());
  const ResidencyPlan plan = PlanResidency(file.tensors(), layout, experts_used, options.budget);
  const uint64_t given = options.budget == 0 ? SpareMemory("") : options.budget;
  if (given < plan.least) {
    return BudgetError(
        "{}: a budget of {} bytes for weights, want at least {}: {} besides {} and {} {} of {}",
        file.source().name(), given, plan.least, plan.dense_bytes, KindOf(layout),
        FloorSlots(layout, experts_used), KindOf(layout), layout.largest);
  }
  std::unique_ptr<Residency> residency(
      new Residency(runtime, file, std::move(layout), experts_used, options));
  residency->stamp_ = native->Stamp();
  residency->file_ = native;
  residency->budget_ = std::min(given, SpareMemory(""));
  residency->budget_ = std::max(residency->budget_, plan.least) - plan.dense_bytes;
  residency->counts_.budget = residency->budget_ + plan.dense_bytes;
  {
    const std::lock_guard<std::mutex> lock(residency->mutex_);
    residency->ApplyLimit();
    if (residency->slots_ < residency->floor_slots_) {
      KRAFLA_RETURN_IF_ERROR(residency->refusal_);
      return BudgetError("{}: {} slots for experts fit the runtime's memory, want at least {}",
                         residency->name_, residency->slots_, residency->floor_slots_);
    }
  }
  KRAFLA_RETURN_IF_ERROR(residency->OpenReader(*native, base));
  if (!options.heat_map.empty()) {
    // One that cannot be read or written is no reason not to run.
    const Status other = HeatMap::CheckReplaces(options.heat_map);
    if (other.code() == absl::StatusCode::kInvalidArgument) return other;
    const Status loaded = residency->heat_.Load(options.heat_map, residency->content_hash_);
    if (!loaded.ok() && loaded.code() != absl::StatusCode::kNotFound) {
      runtime.Log(LogLevel::kWarning, Message(loaded));
    }
    const std::lock_guard<std::mutex> lock(residency->mutex_);
    for (size_t layer = 0; loaded.ok() && layer < residency->layers_.size(); ++layer) {
      residency->NotePass(layer);
      residency->Prefetch(layer);
    }
  }
  residency->keeps_heat_ = !options.heat_map.empty();
  if (options.watch) residency->watch_ = PressureWatch::Start(*residency);
  return residency;
}

Status Residency::OpenReader(const NativeFile& file, uint64_t base) {
  if (options_.make_reader) {
    KRAFLA_ASSIGN_OR_RETURN(reader_, options_.make_reader(file, base, *this));
    return OkStatus();
  }
  ReaderKind kind = Choose(options_.reader, stamp_.bytes, active_bytes_);
  const bool aligned = IsAligned(layout_, base);
  if (!aligned && kind != ReaderKind::kPageCache) {
    if (options_.reader != ReaderKind::kAuto) {
      return UnsupportedError(
          "{}: experts do not lie at multiples of {} in the file, so they are "
          "not read past the page cache",
          name_, kDirectAlignment);
    }
    kind = ReaderKind::kPageCache;
  }
  const bool any = options_.reader == ReaderKind::kAuto;
  KRAFLA_ASSIGN_OR_RETURN(reader_, any ? OpenFirstReader(kind, file, base, *this, runtime_)
                                       : OpenBlockReader(kind, file, base, *this));
  return OkStatus();
}

Residency::~Residency() {
  watch_.reset();
  reader_.reset();
  if (!keeps_heat_) return;
  try {
    if (const Status saved = heat_.Save(options_.heat_map, content_hash_); !saved.ok()) {
      runtime_.Log(LogLevel::kWarning, Message(saved));
    }
  } catch (const std::bad_alloc&) {
    // The next start reads in another order.
  }
}

ResidencyInfo Residency::info() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  ResidencyInfo info = counts_;
  info.reader = reader_->kind();
  info.slots = slots_;
  info.experts = layout_.n_experts;
  info.whole_layers = layout_.whole_layers;
  info.slot_bytes = slab_.shape().slot_bytes;
  info.slab_bytes = slab_.bytes();
  info.dense_bytes = dense_bytes_;
  for (const Slot& slot : all_slots_) info.resident += slot.state == State::kReady;
  return info;
}

uint64_t Residency::NowNs() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

template <typename Change>
uint64_t Residency::Resize(bool pressure, Change change) {
  uint64_t before = 0;
  uint64_t after = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    before = active_bytes_;
    change();
    ApplyLimit();
    after = active_bytes_;
    if (after < before) ++counts_.shrinks;
    if (after > before) ++counts_.grows;
  }
  if (after != before) {
    runtime_.Log(LogLevel::kInfo,
                 FormatText("{}: experts in memory: {} bytes, {} before", name_, after, before));
    if (options_.on_resize) options_.on_resize(before, after, pressure);
  }
  return after;
}

uint64_t Residency::Trim(uint64_t bytes) {
  return Resize(false, [&] { trim_limit_ = bytes; });
}

void Residency::Reserve(int64_t bytes) {
  Resize(false, [&] { reserved_ += bytes; });
}

// 15 % at once; 5 % a step on the way back (additive increase, multiplicative decrease).
void Residency::OnPressure(uint64_t bytes, bool more) {
  Resize(true, [&] {
    const uint64_t give = std::max(bytes, more ? active_bytes_ / 100 * 15 : 0);
    pressure_limit_ = active_bytes_ - std::min(give, active_bytes_);
  });
}

void Residency::OnCalm() {
  Resize(true, [&] {
    if (pressure_limit_ == UINT64_MAX) return;
    const uint64_t more = std::max(budget_ / 20, slab_.shape().piece_bytes);
    pressure_limit_ = std::max(pressure_limit_, active_bytes_) + more;
    if (pressure_limit_ >= budget_) pressure_limit_ = UINT64_MAX;
  });
}

MemoryRoom Residency::RoomBesides(MemoryRoom room) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t promised = untouched_ * slab_.shape().slot_bytes;
  const uint64_t leaving = slab_.bytes() - active_bytes_;
  for (uint64_t* part : {&room.system, &room.group}) {
    if (*part != UINT64_MAX) *part = *part + leaving - std::min(*part + leaving, promised);
  }
  return room;
}

uint64_t Residency::limit() const {
  const auto reserved = static_cast<uint64_t>(std::max<int64_t>(reserved_, 0));
  return std::min({budget_ - std::min(reserved, budget_), trim_limit_, pressure_limit_});
}

void Residency::ApplyLimit() {
  const uint64_t bytes = limit();
  while (ShrinkOnce(bytes)) {
  }
  while (GrowOnce(bytes)) {
  }
}

}  // namespace krafla
