// See pressure_watch.h.
#include "lib/weights/residency/pressure_watch.h"

#include <algorithm>
#include <new>

#include "lib/weights/residency/residency.h"

namespace krafla {
namespace {

constexpr uint64_t kMostLookMs = 250;
constexpr uint64_t kLeastLookMs = 10;
// Faster than any process touches new memory.
constexpr uint64_t kBytesPerMs = uint64_t{32} << 20;
constexpr std::chrono::milliseconds kAhead{100};
constexpr std::chrono::seconds kBetweenShrinks{1};
constexpr std::chrono::seconds kBetweenGrowths{30};
constexpr double kCalmPercent = 1;

// What lacks of the reserve once the others have taken `ahead` times as much again as since the
// last look; had is UINT64_MAX where that is unknown.
uint64_t MissingSoon(uint64_t had, uint64_t have, uint64_t reserve, double ahead) {
  if (had != UINT64_MAX && had > have) {
    reserve += static_cast<uint64_t>(static_cast<double>(had - have) * ahead);
  }
  return have < reserve ? reserve - have : 0;
}

}  // namespace

int PressurePolicy::LookMs(const MemoryRoom& room) {
  return static_cast<int>(
      std::clamp(std::min(room.system, room.group) / kBytesPerMs, kLeastLookMs, kMostLookMs));
}

PressurePolicy::Step PressurePolicy::Next(const MemoryRoom& room, bool signalled,
                                          double stalled_percent, Time now) {
  const uint64_t reserve = SystemReserve(room);
  const std::chrono::duration<double> since =
      std::max<Time::duration>(now - looked_, std::chrono::milliseconds(kLeastLookMs));
  const double ahead = kAhead / since;
  const uint64_t missing = std::max(MissingSoon(seen_.system, room.system, reserve, ahead),
                                    MissingSoon(seen_.group, room.group, kGroupReserve, ahead));
  looked_ = now;
  seen_ = room;
  if (changed_ == Time{}) changed_ = now;
  const auto passed = now - changed_;
  const bool ample = room.system / 2 >= reserve && room.group / 2 >= kGroupReserve;
  // With much memory left the kernel may be giving up cached files only, for a copy of large ones.
  const bool heard = signalled && passed >= (ample ? kBetweenGrowths : kBetweenShrinks);
  if (missing > 0 || heard) {
    changed_ = now;
    return {Action::kShrink, missing, passed >= kBetweenShrinks};
  }
  const bool calm = ample && !signalled && stalled_percent < kCalmPercent;
  if (!calm || passed < kBetweenGrowths) return {};
  changed_ = now;
  return {Action::kGrow, 0};
}

std::unique_ptr<PressureWatch> PressureWatch::Start(Residency& residency) {
  std::unique_ptr<PressureWatch> watch(new PressureWatch(residency));
  StatusOr<NativeThread> thread = NativeThread::Start(
      kReaderStackBytes, "krafla-watch",
      [](void* context) { static_cast<PressureWatch*>(context)->Work(); }, watch.get());
  if (!thread.ok()) return nullptr;
  watch->thread_ = *std::move(thread);
  watch->runs_ = true;
  return watch;
}

PressureWatch::~PressureWatch() {
  if (!runs_) return;
  signal_->Stop();
  thread_.Join();
}

void PressureWatch::Work() {
  int milliseconds = kLeastLookMs;
  for (;;) {
    const PressureSignal::Seen seen = signal_->Wait(milliseconds);
    if (seen == PressureSignal::Seen::kStop) return;
    try {
      const MemoryRoom room = residency_.RoomBesides(RoomOf(""));
      milliseconds = PressurePolicy::LookMs(room);
      const PressurePolicy::Step step =
          policy_.Next(room, seen == PressureSignal::Seen::kPressure, signal_->StalledPercent(),
                       std::chrono::steady_clock::now());
      if (step.action == PressurePolicy::Action::kShrink) {
        residency_.OnPressure(step.bytes, step.more);
      }
      if (step.action == PressurePolicy::Action::kGrow) residency_.OnCalm();
    } catch (const std::bad_alloc&) {
      // The next look may find memory again.
    }
  }
}

}  // namespace krafla
