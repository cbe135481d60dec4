// The check of the processor and of the system: what is missing is named, and a feature whose
// registers the system does not save counts as missing.
#include "kernels/armv7/cpu.h"

#include <cstring>
#include <string>

#include "kernels/isas.h"
#include "kernels/neon/cpu.h"
#include "kernels/neon_dotprod/cpu.h"
#include "kernels/neon_i8mm/cpu.h"
#include "kernels/sve/cpu.h"
#include "tests/kernels/guarded.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

TEST_CASE("this machine runs this build") {
  REQUIRE(selected().missing_feature() == nullptr);
  REQUIRE(std::strlen(selected().isa_name()) > 0);
  REQUIRE(std::string(reference().isa_name()) == "scalar");
}

TEST_CASE("each ARM build needs what the system tells of") {
  const auto missing = [](const ArmState& state, const auto& features) {
    const char* name = first_missing(state, features);
    return std::string(name == nullptr ? "nothing" : name);
  };
  ArmState state;
  REQUIRE(missing(state, armv7::kFeatures) == "neon");
  REQUIRE(missing(state, neon::kFeatures) == "asimd");
  state.hwcap = 1u << 1;
  REQUIRE(missing(state, neon::kFeatures) == "nothing");
  REQUIRE(missing(state, neon_dotprod::kFeatures) == "asimddp");
  state.hwcap |= 1u << 20;
  REQUIRE(missing(state, neon_dotprod::kFeatures) == "nothing");
  REQUIRE(missing(state, neon_i8mm::kFeatures) == "i8mm");
  state.hwcap2 = 1u << 13;
  REQUIRE(missing(state, neon_i8mm::kFeatures) == "nothing");
  REQUIRE(missing(state, sve::kFeatures) == "sve");
  state.hwcap |= 1u << 22;
  REQUIRE(missing(state, sve::kFeatures) == "nothing");
}

#if defined(__x86_64__) || defined(__i386__)
// Everything that any build asks for.
X86State whole_machine() {
  X86State state;
  state.leaf1_edx = 1u << 26;
  state.leaf1_ecx = 1u << 9 | 1u << 19 | 1u << 27 | 1u << 28 | 1u << 29;
  state.leaf7_ebx = 1u << 5 | 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;
  state.leaf7_ecx = 1u << 11;
  state.leaf7_1_eax = 1u << 4;
  state.xcr0 = 0xe7;
  return state;
}

// Each feature is asked for, one at a time; and each feature's registers must be saved.
template <size_t N>
void check_features(const X86Feature (&features)[N]) {
  REQUIRE(first_missing(whole_machine(), features) == nullptr);
  REQUIRE(std::string(first_missing(X86State(), features)) == features[0].name);
  for (const X86Feature& f : features) {
    INFO(f.name);
    X86State state = whole_machine();
    state.*f.leaf &= ~(1u << f.bit);
    REQUIRE(std::string(first_missing(state, features)) == f.name);
    for (uint64_t bit = 1; bit <= f.xcr0; bit <<= 1) {
      if ((f.xcr0 & bit) == 0) continue;
      state = whole_machine();
      state.xcr0 &= ~bit;
      const char* missing = first_missing(state, features);
      REQUIRE(missing != nullptr);  // this feature, or an earlier one with the same registers
    }
  }
}

TEST_CASE("each x86 build needs the processor and the system") {
#define KRAFLA_CHECK(isa, folder) check_features(folder::kFeatures);
  KRAFLA_ISAS(KRAFLA_CHECK)
#undef KRAFLA_CHECK
}

TEST_CASE("AVX under a system that does not save its registers") {
  X86State state = whole_machine();
  for (const uint64_t saved : {0x0, 0x1, 0x3, 0x5}) {
    state.xcr0 = saved;
    REQUIRE(std::string(first_missing(state, avx2::kFeatures)) == "avx");
    REQUIRE(first_missing(state, sse41::kFeatures) == nullptr);
  }
  for (const uint64_t saved : {0x7, 0x27, 0x67, 0xa7, 0xc7}) {
    state.xcr0 = saved;
    REQUIRE(first_missing(state, avx2::kFeatures) == nullptr);
    REQUIRE(std::string(first_missing(state, avx512vnni::kFeatures)) == "avx512f");
  }
}
#endif

}  // namespace
}  // namespace krafla
