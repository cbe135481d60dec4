// Counts the calls of operator new in this test program.
#ifndef KRAFLA_TESTS_SAMPLER_ALLOCATIONS_H_
#define KRAFLA_TESTS_SAMPLER_ALLOCATIONS_H_

namespace krafla {

long AllocationCount();

}  // namespace krafla

#endif  // KRAFLA_TESTS_SAMPLER_ALLOCATIONS_H_
