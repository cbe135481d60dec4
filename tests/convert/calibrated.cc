// Conversions with calibration: what it gains; the same bytes for any number of threads and after a
// kill; texts that are refused.
#if !defined(_WIN32)
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <cstring>
#include <filesystem>
#include <limits>

#include "lib/convert/convert.h"
#include "lib/eval/drift.h"
#include "lib/tokenizer/tokenizer.h"
#include "tests/convert/craft.h"
#include "tests/convert/read_mlb.h"
#include "tests/support/catch.h"
#include "tests/support/sanitized.h"
#include "tests/support/temp_folder.h"

namespace krafla {
namespace {

ConvertOptions SelfCalibrated(const TempFolder& folder) {
  WriteWholeFile(folder / "a.gguf", LlamaGguf(1).Bytes());
  ConvertOptions options;
  options.kind = ConvertKind::kGguf;
  options.in = folder / "a.gguf";
  options.out = folder / "a.mlb";
  options.wtype = Format::kQ4;
  options.calibration.self = true;
  options.calibration.sequences = 3;
  options.threads = 1;
  options.sync_bytes = 1;
  return options;
}

// A trained mixture of 16 experts, each of which 1,024 tokens of the text are sent to.
ConvertOptions Mixture(const TempFolder& folder) {
  ConvertOptions options;
  options.in = std::string(KRAFLA_TEST_DATA) + "/trained/kjv-moe";
  options.out = folder / "moe.mlb";
  options.wtype = Format::kQ4;
  options.threads = 2;
  options.sync_bytes = 1;
  return options;
}

std::shared_ptr<const Model> OpenModel(const std::string& path) {
  RuntimeOptions options;
  options.threads.threads = 2;
  auto runtime = Runtime::Create(options);
  REQUIRE(runtime.ok());
  auto source = OpenMapped(path);
  REQUIRE(source.ok());
  auto file = MlbFile::Open(std::move(*source));
  REQUIRE(file.ok());
  auto model = Model::Open(*runtime, std::move(*file), nullptr, nullptr);
  REQUIRE(model.ok());
  return *model;
}

std::string Converted(const ConvertOptions& options) {
  const Status status = Convert(options);
  INFO(Message(status));
  REQUIRE(status.ok());
  CHECK(CheckFile(options.out, nullptr, nullptr).ok());
  return ReadWholeFile(options.out);
}

#if !defined(_WIN32)  // where there is no fork; tests/windows/ kills whole programs
struct Kill {
  uint64_t from;  // bytes
};

int KillOnProgress(void* user, uint64_t done, uint64_t) {
  if (done >= static_cast<Kill*>(user)->from) _exit(9);
  return 0;
}
#endif

}  // namespace

TEST_CASE("calibration: the bytes depend on the seed and on nothing else", "[convert]") {
  TempFolder folder;
  ConvertOptions options = SelfCalibrated(folder);
  const std::string one = Converted(options);
  options.threads = 3;
  CHECK((Converted(options) == one));
  options.calibration.seed = 2;
  CHECK((Converted(options) != one));
  options.calibration = {};
  CHECK((Converted(options) != one));
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    files += entry.is_regular_file() ? 1 : 0;
  }
  CHECK(files == 2);  // the GGUF and the .mlb: no copy is left
}

TEST_CASE("calibration: experts lose less of a trained mixture", "[convert]") {
  if (kSanitized) return;  // a figure alone, of minutes there; the next case takes the same steps
  TempFolder folder;
  ConvertOptions options = Mixture(folder);
  Converted(options);
  options.out = folder / "calibrated.mlb";
  options.calibration.self = true;
  Converted(options);
  options.calibration = {};
  options.wtype = Format::kF32;
  options.out = folder / "f32.mlb";
  Converted(options);

  const auto reference = OpenModel(folder / "f32.mlb");
  const auto tokenizer = Tokenizer::Open(reference->tokenizer_table());
  REQUIRE(tokenizer.ok());
  const std::string text = ReadWholeFile(Mixture(folder).in + "/text.txt");
  DriftOptions drift;
  drift.model.context = 512;
  drift.max_chunks = 4;
  const auto kl = [&](const char* name) {
    const auto result = MeasureDrift(reference, OpenModel(folder / name), **tokenizer, text, drift);
    REQUIRE(result.ok());
    return result->kl_mean;
  };
  CHECK(kl("calibrated.mlb") < 0.8 * kl("moe.mlb"));
}

#if !defined(_WIN32)
TEST_CASE("calibration: a killed conversion goes on and gives the same bytes", "[convert]") {
  TempFolder folder;
  const bool mixture = GENERATE(false, true);
  ConvertOptions options = mixture ? Mixture(folder) : SelfCalibrated(folder);
  options.calibration.self = true;
  options.calibration.sequences = mixture ? 8 : 3;
  options.q8 = *ParseClassList("v,gate");
  const std::string whole = Converted(options);
  options.resume = true;
  options.out = folder / "b.mlb";
  options.threads = 3 - options.threads;
  std::vector<uint64_t> tenths = {0, 1, 3, 5, 7};
  if (mixture) tenths = {4, 8};
  if (kSanitized) tenths = {6};
  for (const uint64_t part : tenths) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      Kill kill{whole.size() * part / 10};
      options.progress = KillOnProgress;
      options.user = &kill;
      (void)Convert(options);
      _exit(0);
    }
    int code = 0;
    REQUIRE(waitpid(child, &code, 0) == child);
    REQUIRE(WEXITSTATUS(code) == 9);
    CHECK((Converted(options) == whole));
    std::filesystem::remove(options.out);
  }
}

#endif

TEST_CASE("calibration: weights that no code can hold, and weights of zero", "[convert]") {
  TempFolder folder;
  ConvertOptions options = SelfCalibrated(folder);
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), 1e6F}) {
    GgufCraft gguf = LlamaGguf();
    std::memcpy(&gguf.Find("blk.0.attn_v.weight")->data[12], &value, sizeof value);
    WriteWholeFile(options.in, gguf.Bytes());
    const Status status = Convert(options);
    INFO(Message(status));
    CHECK(status.code() == absl::StatusCode::kDataLoss);
    CHECK(!std::filesystem::exists(options.out));
  }
  GgufCraft gguf = LlamaGguf();
  for (const char* name : {"blk.0.attn_v.weight", "blk.1.ffn_down.weight"}) {
    std::string& data = gguf.Find(name)->data;
    data.assign(data.size(), '\0');
  }
  WriteWholeFile(options.in, gguf.Bytes());
  Converted(options);
  const auto file = OpenMlb(options.out);
  for (const float v : ReadTensor(*file, "layers.0.wv")) REQUIRE(v == 0);
  for (const float v : ReadTensor(*file, "layers.1.w_down")) REQUIRE(v == 0);
}

TEST_CASE("calibration: texts that are refused", "[convert]") {
  TempFolder folder;
  ConvertOptions options = SelfCalibrated(folder);
  options.calibration.self = false;
  options.calibration.text_path = folder / "none.txt";
  CHECK(Convert(options).code() == absl::StatusCode::kNotFound);
  options.calibration.text_path = folder / "empty.txt";
  WriteWholeFile(options.calibration.text_path, "");
  CHECK(Convert(options).code() == absl::StatusCode::kInvalidArgument);
  options.calibration.text_path = folder / "short.txt";
  WriteWholeFile(options.calibration.text_path, "a few words");
  const Status status = Convert(options);
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK(!std::filesystem::exists(options.out));
}

}  // namespace krafla
