// A thread that makes a slab smaller while the system or its cgroup runs short of memory, and lets
// it grow again when that is over.
#ifndef KRAFLA_LIB_WEIGHTS_RESIDENCY_PRESSURE_WATCH_H_
#define KRAFLA_LIB_WEIGHTS_RESIDENCY_PRESSURE_WATCH_H_

#include <chrono>
#include <memory>

#include "lib/runtime/native_thread.h"
#include "lib/runtime/pressure.h"
#include "lib/runtime/topology.h"

namespace krafla {

class Residency;

// What to do about what was seen; apart from the thread, for tests.
class PressurePolicy {
 public:
  using Time = std::chrono::steady_clock::time_point;
  enum class Action : uint8_t { kNothing, kShrink, kGrow };
  struct Step {
    Action action = Action::kNothing;
    uint64_t bytes = 0;  // kShrink: at least
    bool more = false;   // kShrink: the usual part, where that is more
  };
  Step Next(const MemoryRoom& room, bool signalled, double stalled_percent, Time now);
  // Until the next look: the sooner, the less room there is.
  static int LookMs(const MemoryRoom& room);

 private:
  Time changed_{};
  Time looked_{};
  MemoryRoom seen_;
};

class PressureWatch {
 public:
  // Null where no thread can be made: then the host has to trim.
  static std::unique_ptr<PressureWatch> Start(Residency& residency);
  ~PressureWatch();

 private:
  explicit PressureWatch(Residency& residency)
      : residency_(residency), signal_(PressureSignal::Open()) {}
  void Work();
  Residency& residency_;
  const std::unique_ptr<PressureSignal> signal_;
  PressurePolicy policy_;
  NativeThread thread_;
  bool runs_ = false;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_WEIGHTS_RESIDENCY_PRESSURE_WATCH_H_
