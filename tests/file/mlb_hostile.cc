// Hostile and damaged .mlb headers: each field that lies is refused by a message that names it,
// however right the checksum; random damage and truncation never do worse than an error.
#include <cstring>
#include <functional>
#include <random>
#include <string>

#include "lib/file/checksum.h"
#include "lib/file/mlb.h"
#include "lib/file/mlb_layout.h"
#include "lib/file/mlb_writer.h"
#include "tests/support/catch.h"
#include "tests/support/temp_folder.h"

namespace krafla {
namespace {

using mlb::Header;
using mlb::SectionRecord;
using mlb::TensorRecord;

std::string Sample() {
  TempFolder folder;
  MlbWriter writer;
  writer.AddMetadata({"key", int64_t{1}});
  writer.AddMetadata({"list", std::vector<std::string>{"ab", "c"}});
  REQUIRE(writer.AddSection("template", std::string(100, 't')).ok());
  REQUIRE(writer.AddTensor({"norm", 0, kLayoutPlain, {5}}).ok());
  REQUIRE(writer.AddTensor({"wqkv", 4, kLayoutTiles, {17, 33}}).ok());
  const MlbWriter::TensorDecl experts[] = {{"gate", 3, kLayoutTiles, {3, 16, 64}},
                                           {"down", 4, kLayoutTiles, {3, 64, 16}}};
  REQUIRE(writer.AddExperts(experts).ok());
  REQUIRE(writer.Begin(folder / "a.mlb").ok());
  for (size_t i = 0; i < 4; i++) {
    constexpr size_t kBytes[] = {20, 2 * 2 * 288, 3 * 2 * 544, 3 * 4 * 288};
    const std::string zeros(kBytes[i], '\0');
    REQUIRE(writer.Write(i, zeros.data(), zeros.size()).ok());
  }
  REQUIRE(writer.Finish().ok());
  return ReadWholeFile(folder / "a.mlb");
}

// A file whose records can be changed in place; Seal makes the checksum right again.
struct Crafted {
  std::string bytes;
  explicit Crafted(const std::string& sample) : bytes(sample) {}
  Header* header() { return reinterpret_cast<Header*>(bytes.data()); }
  SectionRecord* section() {
    return reinterpret_cast<SectionRecord*>(bytes.data() + sizeof(Header) +
                                            header()->metadata_bytes);
  }
  TensorRecord* tensor(size_t i) { return reinterpret_cast<TensorRecord*>(section() + 1) + i; }
  void Seal() {
    header()->checksum = 0;
    const uint64_t n = std::min<uint64_t>(header()->header_bytes, bytes.size());
    header()->checksum = ChecksumOf(bytes.data(), n);
  }
  Status Open() const { return MlbFile::Open(OpenMemory(bytes.data(), bytes.size())).status(); }
};

TEST_CASE("every lying field of a .mlb is refused", "[file]") {
  const std::string sample = Sample();
  REQUIRE(Crafted(sample).Open().ok());
  struct Case {
    const char* message;
    std::function<void(Crafted*)> change;
  };
  const uint64_t huge = uint64_t{1} << 62;
  const Case cases[] = {
      {"magic", [](Crafted* f) { f->header()->magic[0] = 'K'; }},
      {"version 2", [](Crafted* f) { f->header()->version = 2; }},
      {"feature 5", [](Crafted* f) { f->header()->required = 32; }},
      {"cut off", [](Crafted* f) { f->bytes.pop_back(); }},
      {"added to", [](Crafted* f) { f->bytes.push_back('x'); }},
      {"header of", [](Crafted* f) { f->header()->header_bytes = huge; }},
      {"its parts take", [](Crafted* f) { f->header()->header_bytes += 8; }},
      {"metadata entries", [](Crafted* f) { f->header()->n_metadata = huge; }},
      {"metadata ends at", [](Crafted* f) { f->header()->n_metadata = 3; }},
      {"after the last", [](Crafted* f) { f->header()->n_metadata = 1; }},
      {"bytes of metadata", [](Crafted* f) { f->header()->metadata_bytes = huge; }},
      {"sections", [](Crafted* f) { f->header()->n_sections = huge; }},
      {"tensors", [](Crafted* f) { f->header()->n_tensors = huge; }},
      {"its parts take", [](Crafted* f) { f->header()->n_tensors++; }},
      {"bytes of names", [](Crafted* f) { f->header()->names_bytes = huge; }},
      {"outside", [](Crafted* f) { f->section()->offset = huge; }},
      {"outside", [](Crafted* f) { f->section()->offset = 0; }},
      {"outside", [](Crafted* f) { f->section()->offset += 8; }},
      {"limit", [](Crafted* f) { f->section()->bytes = ~uint64_t{0}; }},
      {"overlap", [](Crafted* f) { f->section()->offset = f->tensor(0)->offset; }},
      {"a name of", [](Crafted* f) { f->section()->name_bytes = 0; }},
      {"a name of", [](Crafted* f) { f->tensor(0)->name_offset = 0xFFFFFFFFu; }},
      {"a name of", [](Crafted* f) { f->tensor(0)->name_bytes = 0xFFFFFFFFu; }},
      {"comes twice", [](Crafted* f) { f->tensor(3)->name_offset = f->tensor(2)->name_offset; }},
      {"type id 77", [](Crafted* f) { f->tensor(1)->type = 77; }},
      {"type id 1", [](Crafted* f) { f->tensor(0)->type = 1; }},
      {"layout id 9", [](Crafted* f) { f->tensor(1)->layout = 9; }},
      {"zeros are allowed", [](Crafted* f) { f->tensor(1)->dims[0] = 0; }},
      {"too large", [](Crafted* f) { f->tensor(1)->dims[0] = ~uint64_t{0}; }},
      {"its shape takes", [](Crafted* f) { f->tensor(1)->dims[0] = 100; }},
      {"its shape takes", [](Crafted* f) { f->tensor(1)->bytes++; }},
      {"its shape takes", [](Crafted* f) { f->tensor(2)->dims[0] = huge; }},
      {"outside", [](Crafted* f) { f->tensor(1)->offset = huge; }},
      {"outside", [](Crafted* f) { f->tensor(1)->offset = 0; }},
      {"no multiples", [](Crafted* f) { f->tensor(1)->offset += 4; }},
      {"alignment", [](Crafted* f) { f->tensor(1)->alignment = 0; }},
      {"alignment", [](Crafted* f) { f->tensor(1)->alignment = 96; }},
      {"overlap", [](Crafted* f) { f->tensor(1)->offset = f->tensor(0)->offset; }},
      {"overlap", [](Crafted* f) { f->tensor(3)->offset = f->tensor(2)->offset; }},
      {"overlap", [](Crafted* f) { f->tensor(1)->offset = f->tensor(2)->offset + 8192; }},
      {"slice stride", [](Crafted* f) { f->tensor(2)->slice_stride = 0; }},
      {"slice stride", [](Crafted* f) { f->tensor(1)->slice_stride = 4096; }},
      {"outside", [](Crafted* f) { f->tensor(2)->slice_stride = huge; }},
      {"overlap", [](Crafted* f) { f->tensor(2)->slice_stride = 4096; }},
  };
  for (const Case& c : cases) {
    Crafted file(sample);
    c.change(&file);
    file.Seal();
    const Status status = file.Open();
    CAPTURE(c.message, std::string(Message(status)));
    CHECK(!status.ok());
    CHECK(Message(status).find(c.message) != std::string_view::npos);
  }
  Crafted unsealed(sample);
  unsealed.tensor(1)->checksum++;
  CHECK(Message(unsealed.Open()).find("header checksum") != std::string_view::npos);
}

TEST_CASE("what a later version may add is ignored", "[file]") {
  Crafted file(Sample());
  file.header()->optional = ~uint64_t{0};
  file.header()->reserved[1] = 5;
  // The first metadata entry becomes one of a kind that does not exist yet.
  reinterpret_cast<mlb::MetadataRecord*>(file.bytes.data() + sizeof(Header))->kind = 200;
  file.Seal();
  const auto opened = MlbFile::Open(OpenMemory(file.bytes.data(), file.bytes.size()));
  REQUIRE(opened.ok());
  CHECK((*opened)->metadata().size() == 1);
}

TEST_CASE("a .mlb cut anywhere is an error", "[file]") {
  const std::string sample = Sample();
  for (size_t n = 0; n < sample.size(); n += n < 1024 ? 1 : 509) {
    const std::string cut =
        sample.substr(0, n);  // a copy of its own size, so that ASan sees its end
    REQUIRE(!MlbFile::Open(OpenMemory(cut.data(), cut.size())).ok());
  }
}

TEST_CASE("random damage to a .mlb header never does worse than an error", "[file]") {
  const std::string sample = Sample();
  std::mt19937_64 random(1);
  size_t refused = 0;
  for (int i = 0; i < 2000; i++) {
    Crafted file(sample);
    const size_t header_bytes = file.header()->header_bytes;
    for (uint64_t n = random() % 4 + 1; n > 0; n--) {
      const size_t at = random() % (header_bytes - 8);
      const uint64_t values[] = {0, ~uint64_t{0}, random(), uint64_t{1} << (random() % 64)};
      const size_t width = size_t{1} << (random() % 4);
      std::memcpy(file.bytes.data() + at, &values[random() % 4], width);
    }
    file.Seal();
    auto opened = MlbFile::Open(OpenMemory(file.bytes.data(), file.bytes.size()));
    refused += !opened.ok();
    if (opened.ok()) (void)(*opened)->VerifyChecksums(nullptr, nullptr);
  }
  CHECK(refused > 500);
}

}  // namespace
}  // namespace krafla
