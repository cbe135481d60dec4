// The most bytes that operator new had given out at once since a moment, in this test program.
#ifndef KRAFLA_TESTS_CONSTRAINT_MEMORY_PEAK_H_
#define KRAFLA_TESTS_CONSTRAINT_MEMORY_PEAK_H_

#include <cstddef>

namespace krafla::test {

void StartMemoryPeak();
size_t MemoryPeak();

}  // namespace krafla::test

#endif  // KRAFLA_TESTS_CONSTRAINT_MEMORY_PEAK_H_
