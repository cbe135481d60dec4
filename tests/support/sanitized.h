// A test under sanitizers looks for faults, and each step takes many times as long: where a figure
// needs many repetitions, a part of them will do there.
#ifndef KRAFLA_TESTS_SUPPORT_SANITIZED_H_
#define KRAFLA_TESTS_SUPPORT_SANITIZED_H_

namespace krafla {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace krafla

#endif  // KRAFLA_TESTS_SUPPORT_SANITIZED_H_
