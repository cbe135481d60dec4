// Control registers of the floating-point units: MXCSR on x86, FPCR on AArch64, FPSCR on ARMv7, the
// rounding direction alone elsewhere. The whole word is saved and put back, so that exception flags
// raised by our arithmetic do not show in the host either. The clobbers keep memory accesses on
// their side of the switch.
#include "lib/base/float_mode.h"

#if defined(__x86_64__) || defined(__i386__)
#include <xmmintrin.h>
#elif !defined(__aarch64__) && !defined(__arm__)
#include <cfenv>
#endif

namespace krafla {
namespace {

#if defined(__x86_64__) || defined(__i386__)

constexpr uint64_t kDefaultMode = 0x1F80;  // nearest, no FTZ, no DAZ, all exceptions masked
uint64_t ReadMode() { return _mm_getcsr(); }
void WriteMode(uint64_t mode) { _mm_setcsr(static_cast<unsigned>(mode)); }

#elif defined(__aarch64__)

constexpr uint64_t kDefaultMode = 0;
uint64_t ReadMode() {
  uint64_t mode;
  asm volatile("mrs %0, fpcr" : "=r"(mode) : : "memory");
  return mode;
}
void WriteMode(uint64_t mode) { asm volatile("msr fpcr, %0" : : "r"(mode) : "memory"); }

#elif defined(__arm__)

constexpr uint64_t kDefaultMode = 0;
uint64_t ReadMode() {
  uint32_t mode;
  asm volatile("vmrs %0, fpscr" : "=r"(mode) : : "memory");
  return mode;
}
void WriteMode(uint64_t mode) {
  asm volatile("vmsr fpscr, %0" : : "r"(static_cast<uint32_t>(mode)) : "memory");
}

#else

constexpr uint64_t kDefaultMode = FE_TONEAREST;
uint64_t ReadMode() { return static_cast<uint64_t>(std::fegetround()); }
void WriteMode(uint64_t mode) { std::fesetround(static_cast<int>(mode)); }

#endif

void Barrier() { asm volatile("" : : : "memory"); }

}  // namespace

DefaultFloatMode::DefaultFloatMode() : saved_(ReadMode()) {
  Barrier();
  WriteMode(kDefaultMode);
  Barrier();
}

DefaultFloatMode::~DefaultFloatMode() {
  Barrier();
  WriteMode(saved_);
  Barrier();
}

}  // namespace krafla
