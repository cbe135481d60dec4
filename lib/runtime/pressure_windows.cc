// See pressure.h: Windows tells of low memory by an object that can be waited for.
#include <windows.h>

#include "lib/runtime/pressure.h"

namespace krafla {
namespace {

class EventSignal final : public PressureSignal {
 public:
  EventSignal()
      : stop_(CreateEventW(nullptr, TRUE, FALSE, nullptr)),
        low_(CreateMemoryResourceNotification(LowMemoryResourceNotification)) {}
  ~EventSignal() override {
    if (stop_ != nullptr) CloseHandle(stop_);
    if (low_ != nullptr) CloseHandle(low_);
  }
  // The object stays set as long as memory is low: looked at once a wait.
  Seen Wait(int milliseconds) override {
    if (WaitForSingleObject(stop_, static_cast<DWORD>(milliseconds)) == WAIT_OBJECT_0) {
      return Seen::kStop;
    }
    const bool low = low_ != nullptr && WaitForSingleObject(low_, 0) == WAIT_OBJECT_0;
    return low ? Seen::kPressure : Seen::kNothing;
  }
  void Stop() override { SetEvent(stop_); }
  double StalledPercent() const override { return 0; }

 private:
  const HANDLE stop_;
  const HANDLE low_;
};

}  // namespace

std::unique_ptr<PressureSignal> PressureSignal::Open(const std::string&) {
  return std::make_unique<EventSignal>();
}

}  // namespace krafla
