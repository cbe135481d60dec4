// The safetensors parser: as strict as the reference implementation.
#include <random>

#include "lib/convert/safetensors.h"
#include "tests/convert/craft.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

Status AddBytes(const std::string& bytes) {
  Checkpoint checkpoint;
  const Status status = AddSafetensors(OpenMemory(bytes.data(), bytes.size()), &checkpoint);
  return status.ok() ? checkpoint.Finish() : status;
}

std::string Entry(std::string_view name, std::string_view dtype, std::string_view shape,
                  std::string_view offsets) {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{}]}})", name, dtype,
                     shape, offsets);
}

TEST_CASE("a safetensors file reads", "[convert]") {
  const std::string header =
      R"({"__metadata__":{"format":"pt"},)" + Entry("b", "F32", "2,3", "8,32") + "," +
      Entry("a", "BF16", "4", "0,8") + "," + Entry("none", "F16", "0,5", "32,32") + "," +
      Entry("scalar", "I64", "", "32,40") + "}   ";
  std::string data(8, '\0');
  for (int i = 0; i < 6; i++) AppendRaw(&data, static_cast<float>(i));
  data += std::string(8, '\0');
  const std::string bytes = Safetensors(header, data);
  Checkpoint checkpoint;
  REQUIRE(AddSafetensors(OpenMemory(bytes.data(), bytes.size()), &checkpoint).ok());
  REQUIRE(checkpoint.Finish().ok());
  REQUIRE(checkpoint.tensors().size() == 4);
  const CheckpointTensor* b = checkpoint.Find("b");
  CHECK(ShapeText(b->shape) == "2x3");
  float row[3];
  REQUIRE(ReadRawRows(*b, 1, 1, row).ok());
  CHECK(row[2] == 5);
  CHECK(checkpoint.Find("scalar")->type == SourceType::kOther);
}

TEST_CASE("a safetensors file's lies are refused by name", "[convert]") {
  const std::string eight(8, '\0');
  struct Case {
    const char* message;
    std::string bytes;
  };
  const auto two = [](std::string_view first, std::string_view second) {
    return "{" + Entry("a", "F32", "1", first) + "," + Entry("b", "F32", "1", second) + "}";
  };
  const std::string good = two("0,4", "4,8");
  const Case cases[] = {
      {"overlap", Safetensors(two("0,4", "0,4"), eight)},
      {"overlap",
       Safetensors("{" + Entry("a", "F32", "2", "0,8") + "," + Entry("b", "F32", "1", "4,8") + "}",
                   eight)},
      {"a hole", Safetensors(two("0,4", "8,12"), eight + eight)},
      {"a hole", Safetensors(two("4,8", "8,12"), eight + eight)},
      {"trailing bytes", Safetensors(good, eight + "x")},
      {"cut off", Safetensors(good, "1234567")},
      {"not a safetensors file", SafetensorsWithLength(0, "", "")},
      {"cut off?", SafetensorsWithLength(1000, good, eight)},
      {"limit 100000000", SafetensorsWithLength(~uint64_t{0}, good, eight)},
      {"limit 100000000", SafetensorsWithLength(100'000'001, good, eight)},
      {"are no safetensors", "abc"},
      {"Git LFS pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"},
      {"not a safetensors file", Safetensors(" " + good, eight)},
      {"header:", Safetensors("{", "")},
      {"header:", Safetensors(good + "}", eight)},
      {"header:", Safetensors("{\"a\xff\":1}", "")},
      {"header:", Safetensors("{\"a\":" + std::string(5000, '[') + "}", "")},
      {"tensor a: dtype F9", Safetensors("{" + Entry("a", "F9", "1", "0,4") + "}", "1234")},
      {"takes 8 bytes", Safetensors("{" + Entry("a", "F32", "2", "0,4") + "}", "1234")},
      {"too large",
       Safetensors("{" + Entry("a", "F32", "4294967296,4294967296,4", "0,4") + "}", "1234")},
      {"shape: not", Safetensors("{" + Entry("a", "F32", "-1", "0,4") + "}", "1234")},
      {"shape: not", Safetensors("{" + Entry("a", "F32", "1.5", "0,4") + "}", "1234")},
      {"shape: not",
       Safetensors("{" + Entry("a", "F32", "1,1,1,1,1,1,1,1,1", "0,4") + "}", "1234")},
      {"data_offsets", Safetensors("{" + Entry("a", "F32", "1", "4,0") + "}", "1234")},
      {"data_offsets", Safetensors("{" + Entry("a", "F32", "1", "0") + "}", "1234")},
      {"no dtype", Safetensors(R"({"a":{"shape":[1]}})", "")},
      {"no dtype", Safetensors(R"({"a":5})", "")},
      {"__metadata__", Safetensors(R"({"__metadata__":{"a":1}})", "")},
      {"__metadata__", Safetensors(R"({"__metadata__":[]})", "")},
      {"a key comes twice",
       Safetensors(R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                   "1234")},
      {"no whole bytes", Safetensors("{" + Entry("a", "F4", "3", "0,1") + "}", "1")},
      {"comes twice",
       Safetensors("{" + Entry("a", "F32", "1", "0,4") + "," + Entry("a", "F32", "1", "4,8") + "}",
                   eight)},
  };
  REQUIRE(AddBytes(Safetensors(good, eight)).ok());
  for (const Case& c : cases) {
    const Status status = AddBytes(c.bytes);
    CAPTURE(c.message, std::string(Message(status)));
    CHECK(status.code() == absl::StatusCode::kDataLoss);
    CHECK(Message(status).find(c.message) != std::string_view::npos);
  }
}

TEST_CASE("random damage to a safetensors file never does worse than an error", "[convert]") {
  std::string header = "{";
  std::string data;
  for (int i = 0; i < 20; i++) {
    header += Entry("model.layers." + std::to_string(i), "F32", "2,2",
                    fmt::format("{},{}", 16 * i, 16 * i + 16));
    header += i < 19 ? "," : "}";
    data += std::string(16, 'x');
  }
  const std::string good = Safetensors(header, data);
  REQUIRE(AddBytes(good).ok());
  std::mt19937_64 random(5);
  size_t refused = 0;
  constexpr std::string_view kBytes = "0123456789{}[],:\"eE+-. \xff";
  for (int i = 0; i < 1000; i++) {
    std::string bad = good;
    for (uint64_t n = random() % 3 + 1; n > 0; n--) {
      bad[random() % (header.size() + 8)] = kBytes[random() % kBytes.size()];
    }
    refused += !AddBytes(bad).ok();
  }
  CHECK(refused > 300);
  for (size_t n = 0; n < good.size(); n += 3) {
    const std::string cut = good.substr(0, n);
    REQUIRE(!AddBytes(cut).ok());
  }
}

}  // namespace
}  // namespace krafla
