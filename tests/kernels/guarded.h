// Arrays between two pages that may not be touched, random numbers, and equality of bits: what
// every comparison of kernels needs.
#ifndef KRAFLA_TESTS_KERNELS_GUARDED_H_
#define KRAFLA_TESTS_KERNELS_GUARDED_H_

#if defined(_WIN32)
#include <windows.h>
#else
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "tests/kernels/table.h"

namespace krafla {

// Pages that may be written, between one before and one behind that may not be touched.
#if defined(_WIN32)
inline size_t PageBytes() { return 4096; }
inline char* MapGuarded(size_t bytes) {
  auto* base = static_cast<char*>(VirtualAlloc(nullptr, bytes, MEM_RESERVE, PAGE_NOACCESS));
  if (base == nullptr) throw std::bad_alloc();
  VirtualAlloc(base + PageBytes(), bytes - 2 * PageBytes(), MEM_COMMIT, PAGE_READWRITE);
  return base;
}
inline void UnmapGuarded(char* base, size_t) { VirtualFree(base, 0, MEM_RELEASE); }
#else
inline size_t PageBytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }
inline char* MapGuarded(size_t bytes) {
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) throw std::bad_alloc();
  mprotect(base, PageBytes(), PROT_NONE);
  mprotect(static_cast<char*>(base) + bytes - PageBytes(), PageBytes(), PROT_NONE);
  return static_cast<char*>(base);
}
inline void UnmapGuarded(char* base, size_t bytes) { munmap(base, bytes); }
#endif

// Which page the array touches: the one before it or the one behind it.
enum class Side { kFront, kBack };

// n elements flush against a forbidden page on one side, `shift` bytes away from it where a test
// wants odd addresses.
template <class T>
class Guarded {
 public:
  explicit Guarded(size_t n, Side side = Side::kBack, size_t shift = 0) : n_(n) {
    const size_t page = PageBytes();
    const size_t used = n * sizeof(T) + shift;
    const size_t inner = (used + page - 1) / page * page + (used == 0 ? page : 0);
    bytes_ = inner + 2 * page;
    base_ = MapGuarded(bytes_);
    char* start = side == Side::kFront ? base_ + page + shift : base_ + page + inner - used;
    data_ = reinterpret_cast<T*>(start);
    std::memset(start, 0xa5, n * sizeof(T));
  }
  ~Guarded() { UnmapGuarded(base_, bytes_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  T* data() { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + n_; }
  T& operator[](size_t i) { return data_[i]; }
  size_t size() const { return n_; }

 private:
  size_t n_ = 0;
  size_t bytes_ = 0;
  char* base_ = nullptr;
  T* data_ = nullptr;
};

// ARMv7's vectors flush denormals to zero, the one thing in which a set may differ: there the tests
// give none and take any of them, and the smallest normal numbers, for zero.
#ifdef __arm__
constexpr bool kFlushes = true;
#else
constexpr bool kFlushes = false;
#endif
constexpr float kNearDenormal = 4e-38f;

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}

  uint32_t bits() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state_ >> 32);
  }
  size_t below(size_t n) { return bits() % n; }
  float uniform(float lo, float hi) {
    return lo + (hi - lo) * (static_cast<float>(bits() >> 8) * 0x1p-24f);
  }
  // Mostly ordinary numbers; among them zeros of both signs, denormals and extremes.
  float odd() {
    static constexpr float kOdd[] = {0.0f,    -0.0f,   1e-40f, -1e-45f, 1.17549435e-38f, 3e38f,
                                     -3e38f,  1.0f,    -1.0f,  0.5f,    65504.0f,        1e-8f,
                                     -87.31f, 88.723f, 2e-39f, 1e20f};
    const float v = below(4) == 0 ? kOdd[below(sizeof kOdd / sizeof *kOdd)] : uniform(-4.0f, 4.0f);
    return kFlushes && v > -kNearDenormal && v < kNearDenormal ? 0.0f : v;
  }

 private:
  uint64_t state_;
};

inline bool same(float a, float b) {
  if (kFlushes && std::fabs(a) < kNearDenormal && std::fabs(b) < kNearDenormal) return true;
  return std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}

// The index of the first difference in bits (two NaNs are equal), or n.
inline size_t first_difference(const float* a, const float* b, size_t n) {
  size_t i = 0;
  while (i < n && same(a[i], b[i])) ++i;
  return i;
}

inline const KernelTable& selected() { return kernels::table(); }
inline const KernelTable& reference() { return scalar_reference::table(); }

constexpr Side kSides[] = {Side::kFront, Side::kBack};
constexpr size_t kCounts[] = {0, 1, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 257, 576};

}  // namespace krafla

#endif  // KRAFLA_TESTS_KERNELS_GUARDED_H_
