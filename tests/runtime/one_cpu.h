// While an object lives, threads that this one starts, and this one, run on one CPU.
#ifndef KRAFLA_TESTS_RUNTIME_ONE_CPU_H_
#define KRAFLA_TESTS_RUNTIME_ONE_CPU_H_

#if defined(_WIN32)
#include <windows.h>
#else
#include <sched.h>
#endif

#include "tests/support/catch.h"

namespace krafla {

class OneCpu {
 public:
  explicit OneCpu(int cpu);
  ~OneCpu();
  OneCpu(const OneCpu&) = delete;
  OneCpu& operator=(const OneCpu&) = delete;

 private:
#if defined(_WIN32)
  DWORD_PTR before_ = 0;
#else
  cpu_set_t before_;
#endif
};

#if defined(_WIN32)
inline OneCpu::OneCpu(int cpu) {
  DWORD_PTR system = 0;
  GetProcessAffinityMask(GetCurrentProcess(), &before_, &system);
  REQUIRE(SetProcessAffinityMask(GetCurrentProcess(), DWORD_PTR{1} << cpu) != 0);
}
inline OneCpu::~OneCpu() { SetProcessAffinityMask(GetCurrentProcess(), before_); }
#else
inline OneCpu::OneCpu(int cpu) {
  sched_getaffinity(0, sizeof(before_), &before_);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  REQUIRE(sched_setaffinity(0, sizeof(one), &one) == 0);
}
inline OneCpu::~OneCpu() { sched_setaffinity(0, sizeof(before_), &before_); }
#endif

}  // namespace krafla

#endif  // KRAFLA_TESTS_RUNTIME_ONE_CPU_H_
