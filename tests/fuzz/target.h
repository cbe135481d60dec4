// A fuzz target: one source a format, with the one function that libFuzzer calls. replay.cc calls
// the same function with a stored corpus and with seeded mutations of it. A target must end soon,
// leak nothing and never crash, whatever the bytes are; beyond that it checks what must hold of its
// results.
#ifndef KRAFLA_TESTS_FUZZ_TARGET_H_
#define KRAFLA_TESTS_FUZZ_TARGET_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

// What must hold in every build, NDEBUG or not.
#define KRAFLA_MUST(condition) \
  do {                         \
    if (!(condition)) abort(); \
  } while (0)

#endif  // KRAFLA_TESTS_FUZZ_TARGET_H_
