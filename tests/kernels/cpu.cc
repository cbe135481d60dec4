// The check of the processor and of the system: what is missing is named, and a feature whose
// registers the system does not save counts as missing.
#include <cstring>
#include <string>

#include "tests/kernels/guarded.h"
#include "tests/support/catch.h"
#if defined(__x86_64__) || defined(__i386__)
#include "kernels/avx2/cpu.h"
#endif

namespace krafla {
namespace {

TEST_CASE("this machine runs this build") {
  REQUIRE(selected().missing_feature() == nullptr);
  REQUIRE(std::strlen(selected().isa_name()) > 0);
  REQUIRE(std::string(reference().isa_name()) == "scalar");
}

#if defined(__x86_64__) || defined(__i386__)
TEST_CASE("avx2 needs the processor and the system") {
  X86State state;
  state.leaf1_ecx = 1u << 27 | 1u << 28 | 1u << 29;  // OSXSAVE, AVX, F16C
  state.leaf7_ebx = 1u << 5;
  state.xcr0 = 0x7;
  REQUIRE(first_missing(state, kAvx2Features) == nullptr);

  X86State system_off = state;
  for (const uint64_t saved : {0x0, 0x1, 0x3, 0x5}) {
    system_off.xcr0 = saved;
    REQUIRE(std::string(first_missing(system_off, kAvx2Features)) == "avx");
  }
  X86State no_f16c = state;
  no_f16c.leaf1_ecx &= ~(1u << 29);
  REQUIRE(std::string(first_missing(no_f16c, kAvx2Features)) == "f16c");
  X86State no_avx2 = state;
  no_avx2.leaf7_ebx = 0;
  REQUIRE(std::string(first_missing(no_avx2, kAvx2Features)) == "avx2");
  REQUIRE(std::string(first_missing(X86State(), kAvx2Features)) == "avx");
}
#endif

}  // namespace
}  // namespace krafla
