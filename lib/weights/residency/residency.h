// Experts in memory: slots of a slab within a budget, filled from the file when an expert is wanted
// and not there. (A model without experts has its layers in their place: see ExpertLayout.) Each
// layer keeps what it used last, behind the hottest half of its slots, which
// only other hot ones displace. A slot that somebody reads is pinned and never reused; whose slot
// it is can change only while nobody holds it.
//
// One mutex guards all of it; reading the file goes on outside, in a BlockReader.
#ifndef KRAFLA_LIB_WEIGHTS_RESIDENCY_RESIDENCY_H_
#define KRAFLA_LIB_WEIGHTS_RESIDENCY_RESIDENCY_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/file/mlb.h"
#include "lib/runtime/runtime.h"
#include "lib/runtime/topology.h"
#include "lib/weights/residency/block_reader.h"
#include "lib/weights/residency/expert_layout.h"
#include "lib/weights/residency/heat_map.h"
#include "lib/weights/residency/read_ahead.h"
#include "lib/weights/residency/slab.h"

namespace krafla {

class PressureWatch;

struct ExpertUse {
  uint32_t tag = 0;  // the caller's
  uint32_t expert = 0;
  uint32_t uses = 0;  // rows
};

// Called after the slab has changed its size, from the thread that changed it; must not call the
// model.
using ResizeFunction = std::function<void(uint64_t before, uint64_t after, bool pressure)>;
using ReaderFactory = std::function<StatusOr<std::unique_ptr<BlockReader>>(
    const NativeFile&, uint64_t base, BlockListener&)>;

struct ResidencyOptions {
  uint64_t budget = 0;  // bytes of all weights in memory; 0: what the system can spare
  ReaderKind reader = ReaderKind::kAuto;
  std::string heat_map;  // path; empty: none is kept
  ResizeFunction on_resize;
  bool watch = true;          // for pressure on the system's memory
  ReaderFactory make_reader;  // instead of `reader`
};

struct ResidencyInfo {
  ReaderKind reader = ReaderKind::kAuto;
  uint64_t slots = 0;
  uint64_t resident = 0;  // experts
  uint64_t experts = 0;
  bool whole_layers = false;  // what slots hold are layers, not experts
  uint64_t slot_bytes = 0;
  uint64_t slab_bytes = 0;
  uint64_t dense_bytes = 0;  // weights besides, always in memory
  uint64_t budget = 0;
  uint64_t hits = 0;    // wanted and there
  uint64_t misses = 0;  // wanted and read
  uint64_t prefetched = 0;
  uint64_t evictions = 0;
  uint64_t bytes_read = 0;
  uint64_t read_ns = 0;   // time in which something was being read
  uint64_t stall_ns = 0;  // time in which a pass had nothing to do but wait
  uint64_t shrinks = 0;
  uint64_t grows = 0;
  uint64_t errors = 0;
  uint64_t expected = 0;  // absent experts that a router was guessed to choose
  uint64_t right = 0;     // and that it chose
};

// What a budget gives: nothing is allocated or read for it.
struct ResidencyPlan {
  uint64_t dense_bytes = 0;
  uint64_t slab_bytes = 0;
  uint64_t least = 0;  // budget with which the model runs
  uint64_t slots = 0;
  uint64_t experts = 0;
};
ResidencyPlan PlanResidency(std::span<const MlbTensor> tensors, const ExpertLayout& layout,
                            size_t experts_used, uint64_t budget);

class Residency final : private BlockListener {
 public:
  // experts_used: of a layer for one token. BudgetError names the least budget; UnsupportedError
  // where the file cannot be read beside the work (the host's memory, callbacks).
  static StatusOr<std::unique_ptr<Residency>> Create(Runtime& runtime, const MlbFile& file,
                                                     size_t experts_used,
                                                     const ResidencyOptions& options);
  ~Residency() override;  // nothing may be leased any more; saves the heat map

  const ExpertLayout& layout() const { return layout_; }
  ResidencyInfo info() const;
  // Lets the slab have at most so many bytes from now on, but no fewer than its floor; returns
  // those it has.
  uint64_t Trim(uint64_t bytes);
  // Bytes of others' that come out of the budget (a driver's scratch); negative: given back.
  void Reserve(int64_t bytes);
  // Of whole layers: where a layer's bytes are, for as long as a lease has taken them. The address
  // of that pointer never changes.
  const std::byte* const* data_of(size_t layer) const { return &layer_data_[layer]; }
  // What a layer will probably want soon: read where the disk has nothing else to do, into slots of
  // what the layer used least. expects: false where that does not pay now, or all of it is there.
  bool expects(size_t layer) const;
  void Expect(size_t layer, std::span<const uint32_t> experts);
  // Of the system: some of the slab is given back, at least `bytes` and, with `more`, the usual
  // part; and, bit by bit, taken again.
  void OnPressure(uint64_t bytes, bool more = true);
  void OnCalm();
  // Of the room that was found, what the slab will not fill yet; with what it is about to give
  // back.
  MemoryRoom RoomBesides(MemoryRoom room) const;

 private:
  friend class ExpertLease;
  static constexpr int32_t kNoSlot = -1;
  enum class State : uint8_t { kFree, kReading, kReady, kFailed };
  struct Slot {
    State state = State::kFree;
    uint32_t layer = 0;
    uint32_t expert = 0;
    uint32_t pins = 0;
    uint32_t generation = 0;  // counts its owners
    bool touched = false;     // since its piece came: before, its memory is only promised
    uint64_t used = 0;        // tick of the last use
    Status error;
  };
  struct Layer {
    std::vector<int32_t> slot_of;  // [experts]
    size_t held = 0;               // slots
    uint32_t hot = UINT32_MAX;     // uses from which an expert is protected
    uint32_t passes = 0;
    std::vector<uint32_t> expected;  // experts that were absent, since its last lease
  };
  struct Piece {
    bool active = false;  // its slots may be given out
    size_t held = 0;      // slots that are not free
  };
  enum class From : uint8_t { kAny, kSpare };  // kSpare: nothing of the layer's own

  Residency(Runtime& runtime, const MlbFile& file, ExpertLayout layout, size_t experts_used,
            const ResidencyOptions& options);
  Status OpenReader(const NativeFile& file, uint64_t base);
  void OnBlock(uint64_t tag, const Status& status) override;

  // All below: under mutex_.
  int32_t Pin(size_t layer, uint32_t expert, bool* hit);
  void Unpin(int32_t slot);
  int32_t TakeFree();  // where there is one
  int32_t TakeSlot(size_t layer, From from);
  int32_t VictimOf(size_t layer, bool hot_too) const;
  void StartRead(int32_t slot, size_t layer, uint32_t expert, bool urgent);
  void Prefetch(size_t layer);
  void PrefetchAhead(size_t layer);
  void ReadExpected();
  void NoteExpected(size_t layer, std::span<const ExpertUse> uses);
  void Evict(int32_t slot);
  void Free(int32_t slot);
  void NotePass(size_t layer);
  uint64_t limit() const;
  void ApplyLimit();
  bool ShrinkOnce(uint64_t bytes);
  bool GrowOnce(uint64_t bytes);
  size_t quota() const { return slots_ / layers_.size(); }
  size_t MostOf() const;  // slots that a layer may hold
  static uint64_t NowNs();
  size_t ColdestPiece() const;
  void Changed();
  Status Describe(const Slot& slot, const Status& status) const;

  template <typename Change>
  uint64_t Resize(bool pressure, Change change);

  Runtime& runtime_;
  const ExpertLayout layout_;
  const ResidencyOptions options_;
  const std::string name_;
  const uint64_t content_hash_;
  const uint64_t dense_bytes_;
  const size_t floor_slots_;
  bool keeps_heat_ = false;
  FileStamp stamp_{};
  const NativeFile* file_ = nullptr;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t version_ = 0;  // of what a waiting lease looks at
  uint64_t tick_ = 0;
  HeatMap heat_;
  Slab slab_;
  std::vector<Slot> all_slots_;
  std::vector<Piece> pieces_;
  std::vector<Layer> layers_;
  std::vector<const std::byte*> layer_data_;  // [layers] of whole layers
  Status refusal_;                            // of memory for the slots that were wanted last
  std::vector<int32_t> free_;
  size_t slots_ = 0;  // of active pieces
  uint64_t active_bytes_ = 0;
  size_t untouched_ = 0;  // slots of active pieces
  uint64_t budget_ = 0;   // of the slab and what others reserve of it
  int64_t reserved_ = 0;
  uint64_t trim_limit_ = UINT64_MAX;
  uint64_t pressure_limit_ = UINT64_MAX;
  size_t reading_ = 0;  // blocks
  size_t starved_ = 0;  // leases that wait for a slot
  ReadAheadPolicy read_ahead_;
  size_t expecting_ = 0;  // the layer whose expected experts are to be read
  uint64_t reading_since_ = 0;
  ResidencyInfo counts_;

  std::unique_ptr<BlockReader> reader_;  // before what it fills goes
  std::unique_ptr<PressureWatch> watch_;
};

// The experts that one pass wants of one layer: those that are there are pinned, the others come as
// slots and the disk allow. A lease that waits holds no slot that it could give up, so leases never
// wait for each other in a circle.
class ExpertLease {
 public:
  struct Held {
    uint32_t tag = 0;
    const std::byte* data = nullptr;
  };
  ExpertLease() = default;
  ~ExpertLease() { Close(); }
  ExpertLease(const ExpertLease&) = delete;
  ExpertLease& operator=(const ExpertLease&) = delete;

  // again: the rest of what was opened before and closed.
  void Open(Residency& residency, size_t layer, std::span<const ExpertUse> uses, bool again);
  // Experts that are there and were not taken yet, all or, where others wait for a slot, some; they
  // stay until Finish(). Empty: Wait() and look again. An expert that could not be read is an
  // error.
  StatusOr<std::span<const Held>> Take();
  void Finish();
  void Wait(int64_t most_us);
  void Close();  // lets go of all
  bool open() const { return residency_ != nullptr; }

 private:
  enum class Stage : uint8_t { kWaiting, kPinned, kTaken, kDone };
  struct Entry {
    ExpertUse use;
    int32_t slot = Residency::kNoSlot;
    Stage stage = Stage::kWaiting;
  };
  void PinMore();  // under the mutex
  void SetStarved(bool starved);
  size_t Fitting(size_t ready, size_t waiting) const;

  Residency* residency_ = nullptr;
  size_t layer_ = 0;
  bool scan_ = false;
  bool starved_ = false;
  uint64_t seen_ = 0;
  std::vector<Entry> entries_;
  std::vector<Held> held_;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_WEIGHTS_RESIDENCY_RESIDENCY_H_
