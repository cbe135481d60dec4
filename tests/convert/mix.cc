// Mixes: which matrices are promoted, how many bytes that takes, and formats by class.
#include "lib/convert/mix.h"

#include <filesystem>

#include "tests/convert/craft.h"
#include "tests/convert/read_mlb.h"
#include "tests/support/temp_folder.h"

namespace krafla {
namespace {

struct Told {
  std::vector<std::string> lines;
  uint64_t promoted_bytes = 0;
};

int Listen(void* user, std::string_view what, std::string_view, uint64_t, uint64_t bytes) {
  auto* told = static_cast<Told*>(user);
  told->lines.emplace_back(what);
  if (what.starts_with("promoted ")) told->promoted_bytes += bytes;
  return 0;
}

ConvertOptions Options(const TempFolder& folder, std::string_view mix) {
  WriteWholeFile(folder / "a.gguf", LlamaGguf().Bytes());
  ConvertOptions options;
  options.kind = ConvertKind::kGguf;
  options.in = folder / "a.gguf";
  options.out = folder / "a.mlb";
  options.mix = *ParseMix(mix);
  options.wtype = options.mix.base;
  options.sizes = Listen;
  options.threads = 1;
  return options;
}

// Bytes of all matrices in one format, and in another.
uint64_t Span(const MlbFile& file, Format base, Format high) {
  uint64_t span = 0;
  for (const MlbTensor& tensor : file.tensors()) {
    if (tensor.layout != kLayoutTiles) continue;
    span += MatrixBytes(high, tensor.dims[0], tensor.dims[1]) -
            MatrixBytes(base, tensor.dims[0], tensor.dims[1]);
  }
  return span;
}

}  // namespace

TEST_CASE("mix: a share of the bytes goes to the matrices that need it", "[convert]") {
  for (const MixScore score : {MixScore::kAuto, MixScore::kClass}) {
    TempFolder folder;
    ConvertOptions options = Options(folder, "q4+40%q6a");
    options.mix.score = score;
    Told told;
    options.user = &told;
    REQUIRE(Convert(options).ok());
    auto file = OpenMlb(options.out);
    const uint64_t span = Span(*file, Format::kQ4, Format::kQ6A);
    uint64_t spent = 0;
    for (const MlbTensor& tensor : file->tensors()) {
      if (tensor.type != static_cast<uint32_t>(Format::kQ6A)) continue;
      spent += MatrixBytes(Format::kQ6A, tensor.dims[0], tensor.dims[1]) -
               MatrixBytes(Format::kQ4, tensor.dims[0], tensor.dims[1]);
    }
    CHECK(spent > 0);
    CHECK(spent <= span * 4 / 10);
    CHECK(told.promoted_bytes == spent);
    CHECK(told.lines.size() >= 2);
    CHECK(told.lines[0].find(score == MixScore::kClass ? "by class" : "by divergence") !=
          std::string::npos);
    CHECK(!std::filesystem::exists(options.out + ".work"));

    const std::string one = ReadWholeFile(options.out);
    file.reset();  // Windows replaces no file that is mapped
    options.threads = 3;
    REQUIRE(Convert(options).ok());
    CHECK((ReadWholeFile(options.out) == one));
  }
}

TEST_CASE("mix: sizes that cannot be", "[convert]") {
  TempFolder folder;
  ConvertOptions options = Options(folder, "q4+q8");
  Told told;
  options.user = &told;
  for (const uint64_t size : {uint64_t{1000}, uint64_t{1} << 40}) {
    options.mix.target_bytes = size;
    const Status status = Convert(options);
    CHECK(status.code() == absl::StatusCode::kInvalidArgument);
    CHECK(Message(status).find("possible") != std::string_view::npos);
  }
}

TEST_CASE("mix: what is not one", "[convert]") {
  CHECK(ParseMix("q4a+10%q6a")->percent == 10);
  CHECK(ParseMix("q4+q6a")->percent == 0);
  for (const char* text : {"", "q4", "q4+", "q4+10%", "q4+0%q8", "q4+101%q8", "q4+x%q8", "q8+10%q4",
                           "q4+10%q4", "q4+10q8", "q5+10%q8", "q4+nan%q8"}) {
    INFO(text);
    CHECK_FALSE(ParseMix(text).ok());
  }
}

TEST_CASE("formats by class", "[convert]") {
  const auto formats = ParseClassFormats("attention=q8,down=q6a64,head=f16");
  REQUIRE(formats.ok());
  CHECK(formats->size() == 6);
  for (const char* text : {"attention", "x=q8", "q=q5", "q=", "=q8"}) {
    CHECK_FALSE(ParseClassFormats(text).ok());
  }
  TempFolder folder;
  ConvertOptions options = Options(folder, "q4+q8");
  options.mix = {};
  options.sizes = nullptr;
  options.formats = *formats;
  REQUIRE(Convert(options).ok());
  const auto file = OpenMlb(options.out);
  const auto type = [&](std::string_view name) {
    return static_cast<Format>(file->Tensor(name)->type);
  };
  CHECK(type("layers.0.wk") == Format::kQ8);
  CHECK(type("layers.1.w_down") == Format::kQ6A64);
  CHECK(type("layers.1.w_up") == Format::kQ4);
  CHECK(type("head") == Format::kF16);
}

}  // namespace krafla
