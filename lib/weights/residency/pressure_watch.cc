// See pressure_watch.h.
#include "lib/weights/residency/pressure_watch.h"

#include <algorithm>
#include <new>

#include "lib/weights/residency/residency.h"

namespace krafla {
namespace {

constexpr int kLookMs = 250;
constexpr std::chrono::seconds kBetweenShrinks{1};
constexpr std::chrono::seconds kBetweenGrowths{30};
constexpr double kCalmPercent = 1;

uint64_t Missing(uint64_t have, uint64_t reserve) { return have < reserve ? reserve - have : 0; }

}  // namespace

PressurePolicy::Step PressurePolicy::Next(const MemoryRoom& room, bool signalled,
                                          double stalled_percent, Time now) {
  const uint64_t reserve = SystemReserve(room);
  const uint64_t missing =
      std::max(Missing(room.system, reserve), Missing(room.group, kGroupReserve));
  if (changed_ == Time{}) changed_ = now;
  if (missing > 0 || signalled) {
    if (now - changed_ < kBetweenShrinks) return {};
    changed_ = now;
    return {Action::kShrink, missing};
  }
  const bool calm = stalled_percent < kCalmPercent && room.system / 2 >= reserve &&
                    room.group / 2 >= kGroupReserve;
  if (!calm || now - changed_ < kBetweenGrowths) return {};
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
  for (;;) {
    const PressureSignal::Seen seen = signal_->Wait(kLookMs);
    if (seen == PressureSignal::Seen::kStop) return;
    try {
      const PressurePolicy::Step step =
          policy_.Next(RoomOf(""), seen == PressureSignal::Seen::kPressure,
                       signal_->StalledPercent(), std::chrono::steady_clock::now());
      if (step.action == PressurePolicy::Action::kShrink) residency_.OnPressure(step.bytes);
      if (step.action == PressurePolicy::Action::kGrow) residency_.OnCalm();
    } catch (const std::bad_alloc&) {
      // The next look may find memory again.
    }
  }
}

}  // namespace krafla
