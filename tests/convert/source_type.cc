// Each GGUF block type decodes to exactly the floats that the `gguf` package gives it
// (make_gguf_blocks.py; KRAFLA_GGUF_BLOCKS names a larger file of that form).
#include "lib/convert/source_type.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "lib/convert/gguf.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

TEST_CASE("GGUF blocks decode bit for bit as the reference", "[convert]") {
  const char* other = std::getenv("KRAFLA_GGUF_BLOCKS");
  const std::string path =
      other != nullptr ? other : std::string(KRAFLA_TEST_DATA) + "/convert/blocks.gguf";
  Checkpoint checkpoint;
  REQUIRE(GgufFile::Open(*OpenForReading(path), &checkpoint).ok());
  REQUIRE(checkpoint.Finish().ok());
  size_t compared = 0;
  size_t affine = 0;
  for (const CheckpointTensor& tensor : checkpoint.tensors()) {
    const CheckpointTensor* expected = checkpoint.Find(tensor.name + ".f32");
    if (expected == nullptr) continue;
    CAPTURE(tensor.name);
    REQUIRE(tensor.type_name == tensor.name);
    REQUIRE(expected->shape == tensor.shape);
    std::vector<char> raw(tensor.bytes);
    std::vector<float> want(tensor.cols());
    std::vector<float> got(tensor.cols());
    REQUIRE(ReadRawRows(tensor, 0, 1, raw.data()).ok());
    REQUIRE(ReadRawRows(*expected, 0, 1, want.data()).ok());
    DecodeRows(tensor, raw.data(), 1, got.data());
    for (size_t i = 0; i < got.size(); i++) {
      if (std::memcmp(&got[i], &want[i], sizeof(float)) != 0) {
        FAIL("element " << i << ": " << got[i] << ", want " << want[i]);
      }
    }
    compared++;
    if (AffineBits(tensor.type) == 0) continue;
    affine++;
    std::vector<AffineBlock> blocks(got.size() / 32);
    DecodeAffine(tensor.type, raw.data(), got.size(), blocks.data());
    for (size_t i = 0; i < got.size(); i++) {
      const AffineBlock& block = blocks[i / 32];
      const float value = block.s * static_cast<float>(block.q[i % 32]) + block.m;
      // Blocks of random bytes have scales that are not finite, and sums of their own rounding.
      if (!std::isfinite(got[i]) || value == got[i]) continue;
      REQUIRE(std::fabs(value - got[i]) <= 1e-6f * (std::fabs(block.m) + std::fabs(got[i])));
    }
  }
  CHECK(compared == 14);
  CHECK(affine == 6);
}

TEST_CASE("plain element types decode", "[convert]") {
  const double doubles[] = {0.1, -3, 1e-50};
  float out[3];
  DecodeElements(SourceType::kF64, doubles, 3, out);
  CHECK(out[0] == 0.1f);
  CHECK(out[1] == -3);
  CHECK(out[2] == 0);
  const uint16_t halves[] = {0x3C00, 0xC000, 0x0001};
  DecodeElements(SourceType::kF16, halves, 3, out);
  CHECK(out[1] == -2);
  CHECK(out[2] == 0x1p-24f);
  DecodeElements(SourceType::kBF16, halves, 1, out);
  CHECK(out[0] == 0x1p-7f);
}

}  // namespace
}  // namespace krafla
