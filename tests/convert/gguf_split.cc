// GGUF files in parts, and offsets beyond 4 GiB.
#include <cstring>
#include <filesystem>
#include <functional>

#include "lib/convert/convert.h"
#include "lib/convert/import.h"
#include "tests/convert/craft.h"
#include "tests/support/catch.h"
#include "tests/support/temp_folder.h"

namespace krafla {
namespace {

constexpr uint16_t kParts = 3;

std::string PartName(int i) { return fmt::format("m-{:05}-of-{:05}.gguf", i + 1, kParts); }

// Part i has every third tensor; the first has the key values too.
std::vector<GgufCraft> Split(const GgufCraft& whole) {
  std::vector<GgufCraft> parts(kParts);
  parts[0].values = whole.values;
  for (size_t i = 0; i < whole.tensors.size(); i++) {
    parts[i % kParts].tensors.push_back(whole.tensors[i]);
  }
  for (uint16_t i = 0; i < kParts; i++) {
    parts[i].Set("split.no", GgufType::kUint16, i);
    parts[i].Set("split.count", GgufType::kUint16, kParts);
    parts[i].Set("split.tensors.count", GgufType::kInt32,
                 static_cast<int32_t>(whole.tensors.size()));
  }
  return parts;
}

Status ConvertParts(const std::vector<GgufCraft>& parts, const TempFolder& folder, int first = 0) {
  for (int i = 0; i < kParts; i++) WriteWholeFile(folder / PartName(i), parts[i].Bytes());
  ConvertOptions options;
  options.kind = ConvertKind::kGguf;
  options.in = folder / PartName(first);
  options.out = folder / "a.mlb";
  return Convert(options);
}

TEST_CASE("a GGUF in parts converts as the whole one", "[convert]") {
  TempFolder folder;
  const GgufCraft whole = LlamaGguf(8);
  WriteWholeFile(folder / "whole.gguf", whole.Bytes());
  ConvertOptions options;
  options.kind = ConvertKind::kGguf;
  options.in = folder / "whole.gguf";
  options.out = folder / "whole.mlb";
  REQUIRE(Convert(options).ok());
  const Status status = ConvertParts(Split(whole), folder);
  CAPTURE(std::string(Message(status)));
  REQUIRE(status.ok());
  CHECK(ReadWholeFile(folder / "a.mlb") == ReadWholeFile(folder / "whole.mlb"));
  options.in = folder / PartName(0);
  options.out = folder / PartName(2);
  CHECK(Convert(options).code() == absl::StatusCode::kInvalidArgument);  // an input
}

TEST_CASE("parts that do not fit each other are refused by name", "[convert]") {
  using Parts = std::vector<GgufCraft>;
  struct Case {
    const char* message;
    std::function<void(Parts*)> change;
  };
  const Case cases[] = {
      {"m-00002-of-00003.gguf: split.no 2",
       [](Parts* p) { (*p)[1].Set("split.no", GgufType::kUint16, uint16_t{2}); }},
      {"split.count 4",
       [](Parts* p) { (*p)[2].Set("split.count", GgufType::kUint16, uint16_t{4}); }},
      {"does not end in -00001-of-00002.gguf",
       [](Parts* p) { (*p)[0].Set("split.count", GgufType::kUint16, uint16_t{2}); }},
      {"want a number below a count",
       [](Parts* p) { (*p)[0].Set("split.count", GgufType::kUint16, uint16_t{0}); }},
      {"want a number below a count",
       [](Parts* p) { (*p)[0].Set("split.count", GgufType::kUint64, uint64_t{1} << 40); }},
      {"the 3 parts have 21",
       [](Parts* p) { (*p)[0].Set("split.tensors.count", GgufType::kInt32, int32_t{22}); }},
      {"comes twice: in", [](Parts* p) { (*p)[1].tensors[0] = (*p)[0].tensors[0]; }},
      {"version 9", [](Parts* p) { (*p)[2].version = 9; }},
  };
  for (const Case& c : cases) {
    TempFolder folder;
    Parts parts = Split(LlamaGguf());
    c.change(&parts);
    const Status status = ConvertParts(parts, folder);
    CAPTURE(c.message, std::string(Message(status)));
    CHECK(Message(status).find(c.message) != std::string_view::npos);
  }
  TempFolder folder;
  const Status status = ConvertParts(Split(LlamaGguf()), folder, 1);
  CHECK(Message(status).find("is part 2 of 3; the first one is wanted") != std::string_view::npos);
  std::filesystem::remove(folder / PartName(2));
  ConvertOptions options;
  options.kind = ConvertKind::kGguf;
  options.in = folder / PartName(0);
  options.out = folder / "a.mlb";
  CHECK(Message(Convert(options)).find("part 3 of 3 is missing") != std::string_view::npos);
}

// A file whose header is real and whose data part is 6 GiB of zeros but for the last tensor.
struct Large {
  std::string header;
  uint64_t size;
  float last;
};

int ReadLarge(void* user, uint64_t offset, void* out, size_t n) {
  const auto* large = static_cast<const Large*>(user);
  std::memset(out, 0, n);
  for (size_t i = 0; i < n && offset + i < large->header.size(); i++) {
    static_cast<char*>(out)[i] = large->header[offset + i];
  }
  if (offset + n == large->size) {
    std::memcpy(static_cast<char*>(out) + n - sizeof large->last, &large->last, sizeof large->last);
  }
  return 0;
}

TEST_CASE("tensors beyond 4 GiB are found", "[convert]") {
  constexpr uint64_t kRows = uint64_t{6} << 20;
  GgufCraft gguf;
  gguf.Add("first", {256, kRows}, 0, "");
  gguf.Add("last", {1}, 0, "");
  gguf.tensors[1].offset_shift = int64_t{kRows} * 1024;
  Large large{gguf.Bytes(), 0, 2.5f};
  large.size = large.header.size() + kRows * 1024 + sizeof(float);
  Checkpoint checkpoint;
  const Status status =
      GgufFile::Open(OpenCallback(ReadLarge, &large, large.size), &checkpoint).status();
  CAPTURE(std::string(Message(status)));
  REQUIRE(status.ok());
  REQUIRE(checkpoint.Finish().ok());
  const CheckpointTensor* last = checkpoint.Find("last");
  CHECK(last->offset == large.size - 4);
  float value = 0;
  REQUIRE(ReadRawRows(*last, 0, 1, &value).ok());
  CHECK(value == 2.5f);
  std::vector<float> row(256, 1);
  REQUIRE(ReadRawRows(*checkpoint.Find("first"), kRows - 1, 1, row.data()).ok());
  CHECK(row[7] == 0);
  // The same file without its last byte.
  checkpoint = Checkpoint();
  CHECK(!GgufFile::Open(OpenCallback(ReadLarge, &large, large.size - 1), &checkpoint).ok());
}

}  // namespace
}  // namespace krafla
