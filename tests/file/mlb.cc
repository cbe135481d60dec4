// What MlbWriter writes, MlbFile reads: mapped, read, from memory; and the output appears whole or
// not.
#include "lib/file/mlb.h"

#include <unistd.h>

#include <filesystem>
#include <string>

#include "include/krafla/version.h"
#include "lib/file/mlb_writer.h"
#include "tests/support/catch.h"
#include "tests/support/temp_folder.h"

namespace krafla {
namespace {

std::string Bytes(size_t n, int seed) {
  std::string bytes;
  for (size_t i = 0; i < n; i++) bytes.push_back(static_cast<char>(seed + static_cast<int>(i * 7)));
  return bytes;
}

struct Written {
  std::vector<std::string> tensors;
};

// A vector, a q4 matrix, and experts of two shapes.
Written WriteSample(const std::string& path) {
  MlbWriter writer;
  writer.AddMetadata({"model.arch", std::string("llama")});
  writer.AddMetadata({"model.n_layers", int64_t{-3}});
  writer.AddMetadata({"model.eps", 1e-5});
  writer.AddMetadata({"model.tied", true});
  writer.AddMetadata({"ids", std::vector<int64_t>{1, 2, 3}});
  writer.AddMetadata({"numbers", std::vector<double>{0.5}});
  writer.AddMetadata({"names", std::vector<std::string>{"", "a", "bc"}});
  REQUIRE(writer.AddSection("tokenizer", Bytes(100, 1)).ok());
  REQUIRE(writer.AddSection("template", Bytes(33, 2)).ok());
  REQUIRE(writer.AddTensor({"norm", 0, kLayoutPlain, {5}}).ok());
  REQUIRE(writer.AddTensor({"wq", 4, kLayoutTiles, {17, 33}}).ok());
  const MlbWriter::TensorDecl experts[] = {{"gate", 3, kLayoutTiles, {3, 16, 64}},
                                           {"down", 4, kLayoutTiles, {3, 64, 16}}};
  REQUIRE(writer.AddExperts(experts).ok());
  Written written;
  written.tensors = {Bytes(20, 3), Bytes(2 * 2 * 288, 4), Bytes(3 * 2 * 544, 5),
                     Bytes(3 * 4 * 288, 6)};
  REQUIRE(writer.Begin(path).ok());
  CHECK(!std::filesystem::exists(path));
  for (size_t i = 0; i < 4; i++) {
    const std::string& bytes = written.tensors[i];
    const size_t half = bytes.size() / 3;
    REQUIRE(writer.Write(i, bytes.data(), half).ok());
    REQUIRE(writer.Write(i, bytes.data() + half, bytes.size() - half).ok());
    CHECK(!writer.Write(i, "x", 1).ok());
  }
  REQUIRE(writer.Finish().ok());
  CHECK(std::filesystem::file_size(path) == writer.file_bytes());
  return written;
}

void CheckSample(MlbFile* file, const Written& written) {
  CHECK(file->metadata().size() == 7);
  CHECK(std::get<std::string>(*file->Meta("model.arch")) == "llama");
  CHECK(std::get<int64_t>(*file->Meta("model.n_layers")) == -3);
  CHECK(std::get<double>(*file->Meta("model.eps")) == 1e-5);
  CHECK(std::get<bool>(*file->Meta("model.tied")));
  CHECK(std::get<std::vector<int64_t>>(*file->Meta("ids")).size() == 3);
  CHECK(std::get<std::vector<std::string>>(*file->Meta("names"))[2] == "bc");
  CHECK(file->Meta("absent") == nullptr);
  CHECK(*file->Section("tokenizer") == Bytes(100, 1));
  CHECK(*file->Section("template") == Bytes(33, 2));
  CHECK(file->Section("absent")->empty());
  CHECK(reinterpret_cast<uintptr_t>(file->Section("tokenizer")->data()) % 64 == 0);
  CHECK(file->Tensor("absent") == nullptr);
  CHECK(file->arithmetic() == KRAFLA_ARITHMETIC);
  const char* names[] = {"norm", "wq", "gate", "down"};
  for (size_t i = 0; i < 4; i++) {
    const MlbTensor* tensor = file->Tensor(names[i]);
    REQUIRE(tensor != nullptr);
    CHECK(tensor->alignment == (i < 2 ? 64 : 4096));
    const uint64_t slices = MlbTensorSlices(*tensor);
    CHECK(slices == (i < 2 ? 1 : 3));
    std::string bytes(tensor->bytes, '\0');
    const uint64_t slice = tensor->bytes / slices;
    for (uint64_t s = 0; s < slices; s++) {
      REQUIRE(
          file->source()
              .ReadAt(tensor->offset + s * tensor->slice_stride, bytes.data() + s * slice, slice)
              .ok());
    }
    CHECK(bytes == written.tensors[i]);
  }
  // Experts: down's slice lies right after gate's.
  CHECK(file->Tensor("down")->offset == file->Tensor("gate")->offset + 4096);
  CHECK(file->Tensor("gate")->slice_stride == 8192);
  CHECK(file->VerifyChecksums(nullptr, nullptr).ok());
}

TEST_CASE("a written .mlb reads back", "[file]") {
  TempFolder folder;
  const Written written = WriteSample(folder / "a.mlb");
  auto mapped = MlbFile::Open(*OpenMapped(folder / "a.mlb"));
  REQUIRE(mapped.ok());
  CheckSample(mapped->get(), written);
  auto read = MlbFile::Open(*OpenForReading(folder / "a.mlb"));
  REQUIRE(read.ok());
  CheckSample(read->get(), written);
  const std::string bytes = std::string(1, 'x').append(ReadWholeFile(folder / "a.mlb"));
  auto memory = MlbFile::Open(OpenMemory(bytes.data() + 1, bytes.size() - 1));
  REQUIRE(memory.ok());
  CheckSample(memory->get(), written);
  CHECK((*memory)->content_hash() == (*mapped)->content_hash());
}

TEST_CASE("verification finds any damaged tensor or section", "[file]") {
  TempFolder folder;
  WriteSample(folder / "a.mlb");
  const std::string good = ReadWholeFile(folder / "a.mlb");
  const auto file = MlbFile::Open(OpenMemory(good.data(), good.size()));
  REQUIRE(file.ok());
  std::vector<uint64_t> places;
  for (const MlbTensor& tensor : (*file)->tensors()) {
    places.push_back(tensor.offset);
    places.push_back(tensor.offset + (MlbTensorSlices(tensor) - 1) * tensor.slice_stride + 19);
  }
  for (const MlbSection& section : (*file)->sections()) places.push_back(section.offset + 32);
  for (const uint64_t place : places) {
    std::string bad = good;
    bad[place] = static_cast<char>(bad[place] ^ 4);
    const auto damaged = MlbFile::Open(OpenMemory(bad.data(), bad.size()));
    REQUIRE(damaged.ok());
    const Status status = (*damaged)->VerifyChecksums(nullptr, nullptr);
    CHECK(status.code() == absl::StatusCode::kDataLoss);
    CHECK(Message(status).find("checksum") != std::string_view::npos);
  }
  const auto stop = [](void*, uint64_t, uint64_t) { return 1; };
  CHECK((*file)->VerifyChecksums(stop, nullptr).code() == absl::StatusCode::kAborted);
}

TEST_CASE("an output appears only when it is complete", "[file]") {
  TempFolder folder;
  const std::string path = folder / "a.mlb";
  WriteWholeFile(path, "old");
  const auto count = [&] {
    size_t n = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path()))
      n++;
    return n;
  };
  {
    MlbWriter writer;
    REQUIRE(writer.AddTensor({"a", 0, kLayoutPlain, {5}}).ok());
    REQUIRE(writer.Begin(path).ok());
    CHECK(count() == 2);
    REQUIRE(writer.Write(0, "abcd", 4).ok());
    CHECK(writer.Finish().code() == absl::StatusCode::kFailedPrecondition);
  }
  CHECK(count() == 1);
  CHECK(ReadWholeFile(path) == "old");
  // What a killed process left is taken over.
  WriteWholeFile(path + ".partial", "stale");
  WriteSample(folder / "b.mlb");
  MlbWriter writer;
  REQUIRE(writer.Begin(path).ok());
  REQUIRE(writer.Finish().ok());
  CHECK(count() == 2);
  CHECK(MlbFile::Open(*OpenMapped(path)).ok());
  MlbWriter nowhere;
  CHECK(nowhere.Begin(folder / "absent/a.mlb").code() == absl::StatusCode::kUnavailable);
  MlbWriter onto_folder;
  CHECK(!onto_folder.Begin(folder.path()).ok());
}

TEST_CASE("the writer refuses what the reader would", "[file]") {
  MlbWriter writer;
  CHECK(!writer.AddTensor({"a", 0, kLayoutPlain, {}}).ok());
  CHECK(!writer.AddTensor({"a", 0, kLayoutPlain, {0, 5}}).ok());
  CHECK(!writer.AddTensor({"a", 3, kLayoutPlain, {5}}).ok());
  CHECK(!writer.AddTensor({"a", 99, kLayoutTiles, {5, 5}}).ok());
  CHECK(!writer.AddTensor({"a", 3, 2, {5, 5}}).ok());
  CHECK(!writer.AddTensor({"a", 3, kLayoutTiles, {5}}).ok());
  CHECK(!writer.AddTensor({"a", 3, kLayoutTiles, {~uint64_t{0}, 5}}).ok());
  CHECK(!writer.AddTensor({"a", 0, kLayoutPlain, {uint64_t{1} << 32, uint64_t{1} << 32}}).ok());
  CHECK(!writer.AddTensor({"", 0, kLayoutPlain, {5}}).ok());
  CHECK(writer.n_tensors() == 0);
}

}  // namespace
}  // namespace krafla
