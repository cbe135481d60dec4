// Waiting until the system says that memory is short: Linux's pressure stall information, of the
// process's own cgroup or of the system, or what $MEMORY_PRESSURE_WATCH names (systemd's protocol:
// a file of the kernel's, a pipe or a socket, and in $MEMORY_PRESSURE_WRITE what to write there
// first).
#ifndef KRAFLA_LIB_RUNTIME_PRESSURE_H_
#define KRAFLA_LIB_RUNTIME_PRESSURE_H_

#include <cstdint>
#include <memory>
#include <string>

namespace krafla {

class PressureSignal {
 public:
  enum class Seen : uint8_t { kNothing, kPressure, kStop };
  // Never null; without such a signal Wait only waits. Below `root`, for tests.
  static std::unique_ptr<PressureSignal> Open(const std::string& root = "");
  virtual ~PressureSignal() = default;
  // One thread waits; Stop() from another one ends it.
  virtual Seen Wait(int milliseconds) = 0;
  virtual void Stop() = 0;
  // Percent of the last ten seconds in which some task waited for memory; 0 where unknown.
  virtual double StalledPercent() const = 0;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_RUNTIME_PRESSURE_H_
