// XXH64 with seed 0, written from its public specification: the checksum of a .mlb's header,
// sections and tensors. It finds damage, not malice.
#ifndef KRAFLA_LIB_FILE_CHECKSUM_H_
#define KRAFLA_LIB_FILE_CHECKSUM_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace krafla {

class Checksum {
 public:
  void Update(const void* data, size_t n);
  uint64_t Value() const;  // of all bytes so far; more may follow

 private:
  // The specification's start values of the four accumulators, seed 0.
  std::array<uint64_t, 4> lanes_ = {0x60EA27EEADC0B5D6u, 0xC2B2AE3D27D4EB4Fu, 0,
                                    0x61C8864E7A143579u};
  std::array<unsigned char, 32> pending_ = {};  // total_ % 32 bytes of an incomplete stripe
  uint64_t total_ = 0;
};

uint64_t ChecksumOf(const void* data, size_t n);

}  // namespace krafla

#endif  // KRAFLA_LIB_FILE_CHECKSUM_H_
