// XXH64 against published values, whole and in pieces.
#include "lib/file/checksum.h"

#include <string>
#include <string_view>

#include "tests/support/catch.h"

namespace krafla {
namespace {

uint64_t Of(std::string_view text) { return ChecksumOf(text.data(), text.size()); }

TEST_CASE("checksum equals XXH64", "[file]") {
  CHECK(Of("") == 0xEF46DB3751D8E999u);
  CHECK(Of("a") == 0xD24EC4F1A98C6E5Bu);
  CHECK(Of("abc") == 0x44BC2CF5AD770999u);
  CHECK(Of("Nobody inspects the spammish repetition") == 0xFBCEA83C8A378BF1u);
}

TEST_CASE("checksum does not depend on the pieces", "[file]") {
  std::string text;
  for (int i = 0; i < 1000; i++) text.push_back(static_cast<char>(i * 37 + i / 7));
  for (size_t n = 0; n < 200; n++) {
    const std::string_view part(text.data(), n);
    for (const size_t piece : {1, 3, 31, 32, 33, 64}) {
      Checksum checksum;
      for (size_t at = 0; at < n; at += piece) {
        checksum.Update(part.data() + at, std::min(piece, n - at));
      }
      REQUIRE(checksum.Value() == Of(part));
    }
  }
}

}  // namespace
}  // namespace krafla
