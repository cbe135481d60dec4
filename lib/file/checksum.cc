// XXH64: four 64-bit lanes over stripes of 32 bytes, merged at the end; the tail goes in by 8, 4
// and 1 bytes. Names follow the specification.
#include "lib/file/checksum.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace krafla {
namespace {

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87u;
constexpr uint64_t kPrime2 = 0xC2B2AE3D27D4EB4Fu;
constexpr uint64_t kPrime3 = 0x165667B19E3779F9u;
constexpr uint64_t kPrime4 = 0x85EBCA77C2B2AE63u;
constexpr uint64_t kPrime5 = 0x27D4EB2F165667C5u;

static_assert(std::endian::native == std::endian::little, "lanes are read as little-endian words");

template <typename T>
T Load(const unsigned char* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

uint64_t Round(uint64_t lane, uint64_t word) {
  return std::rotl(lane + word * kPrime2, 31) * kPrime1;
}

void Stripe(std::array<uint64_t, 4>* lanes, const unsigned char* p) {
  for (size_t i = 0; i < 4; i++) (*lanes)[i] = Round((*lanes)[i], Load<uint64_t>(p + 8 * i));
}

}  // namespace

void Checksum::Update(const void* data, size_t n) {
  if (n == 0) return;
  const auto* p = static_cast<const unsigned char*>(data);
  const size_t held = total_ % 32;
  total_ += n;
  if (held != 0) {
    const size_t take = std::min(n, 32 - held);
    std::memcpy(pending_.data() + held, p, take);
    if (held + take < 32) return;
    Stripe(&lanes_, pending_.data());
    p += take;
    n -= take;
  }
  std::array<uint64_t, 4> lanes = lanes_;
  for (; n >= 32; p += 32, n -= 32) Stripe(&lanes, p);
  lanes_ = lanes;
  if (n != 0) std::memcpy(pending_.data(), p, n);
}

uint64_t Checksum::Value() const {
  uint64_t hash = kPrime5;
  if (total_ >= 32) {
    hash = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) +
           std::rotl(lanes_[3], 18);
    for (const uint64_t lane : lanes_) hash = (hash ^ Round(0, lane)) * kPrime1 + kPrime4;
  }
  hash += total_;
  const unsigned char* p = pending_.data();
  size_t n = total_ % 32;
  for (; n >= 8; p += 8, n -= 8) {
    hash = std::rotl(hash ^ Round(0, Load<uint64_t>(p)), 27) * kPrime1 + kPrime4;
  }
  if (n >= 4) {
    hash = std::rotl(hash ^ (Load<uint32_t>(p) * kPrime1), 23) * kPrime2 + kPrime3;
    p += 4;
    n -= 4;
  }
  for (; n > 0; p++, n--) hash = std::rotl(hash ^ (*p * kPrime5), 11) * kPrime1;
  hash = (hash ^ (hash >> 33)) * kPrime2;
  hash = (hash ^ (hash >> 29)) * kPrime3;
  return hash ^ (hash >> 32);
}

uint64_t ChecksumOf(const void* data, size_t n) {
  Checksum checksum;
  checksum.Update(data, n);
  return checksum.Value();
}

}  // namespace krafla
