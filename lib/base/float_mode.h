// The float environment that canonical arithmetic needs: round to nearest even, denormals kept,
// exceptions masked. Hosts (game engines above all) run with flush-to-zero or other rounding; every
// entry of the ABI and every worker thread holds one of these, which restores the host's mode.
// A compiler may move arithmetic between registers over the switch, though never over memory
// accesses and calls that it cannot see into: do the work in functions called while the object
// lives.
#ifndef KRAFLA_LIB_BASE_FLOAT_MODE_H_
#define KRAFLA_LIB_BASE_FLOAT_MODE_H_

#include <cstdint>

namespace krafla {

class DefaultFloatMode {
 public:
  [[gnu::noinline]] DefaultFloatMode();
  [[gnu::noinline]] ~DefaultFloatMode();
  DefaultFloatMode(const DefaultFloatMode&) = delete;
  DefaultFloatMode& operator=(const DefaultFloatMode&) = delete;

 private:
  uint64_t saved_;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_BASE_FLOAT_MODE_H_
