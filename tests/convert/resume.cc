// Conversions that are killed, stopped and resumed; threads; dry runs.
#if !defined(_WIN32)
#include <sys/wait.h>
#endif
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <limits>
#include <map>

#include "lib/convert/convert.h"
#include "tests/convert/craft.h"
#include "tests/support/catch.h"
#include "tests/support/sanitized.h"
#include "tests/support/temp_folder.h"

namespace krafla {
namespace {

ConvertOptions Resumable(const TempFolder& folder) {
  ConvertOptions options;
  options.kind = ConvertKind::kGguf;
  options.in = folder / "a.gguf";
  options.out = folder / "a.mlb";
  options.wtype = Format::kQ8;
  options.resume = true;
  options.sync_bytes = 1;  // a record after every piece
  return options;
}

// Where the conversion stands at its first report, and after how many reports it is killed.
struct Watch {
  int kill_at = -1;
  int stop_at = -1;
  int calls = 0;
  uint64_t first = ~uint64_t{0};
  uint64_t total = 0;
};

int OnProgress(void* user, uint64_t done, uint64_t total) {
  auto* watch = static_cast<Watch*>(user);
  if (watch->calls == 0) watch->first = done;
  watch->total = total;
  if (watch->calls == watch->kill_at) _exit(9);
  return watch->calls++ == watch->stop_at ? 1 : 0;
}

Status Run(ConvertOptions options, Watch* watch) {
  options.progress = OnProgress;
  options.user = watch;
  return Convert(options);
}

#if !defined(_WIN32)  // where there is no fork; tests/windows/ kills whole programs
// In a process of its own, ended without a word at the given report.
void RunKilled(const ConvertOptions& options, int kill_at) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    Watch watch;
    watch.kill_at = kill_at;
    (void)Run(options, &watch);
    _exit(0);
  }
  int code = 0;
  REQUIRE(waitpid(child, &code, 0) == child);
}

#endif

std::string Uninterrupted(const TempFolder& folder) {
  ConvertOptions options = Resumable(folder);
  options.out = folder / "whole.mlb";
  options.resume = false;
  REQUIRE(Convert(options).ok());
  return ReadWholeFile(options.out);
}

bool Exists(const std::string& path) { return std::filesystem::exists(path); }

#if !defined(_WIN32)
TEST_CASE("a killed conversion goes on and gives the same bytes", "[convert]") {
  for (const int threads : {1, 3}) {
    uint64_t resumed = 0;
    for (int kill_at = 0; kill_at < 24; kill_at += kSanitized ? 4 : threads) {
      CAPTURE(threads, kill_at);
      TempFolder folder;
      WriteWholeFile(folder / "a.gguf", LlamaGguf(1).Bytes());
      ConvertOptions options = Resumable(folder);
      options.threads = threads;
      RunKilled(options, kill_at);
      if (kill_at < 20) REQUIRE(!Exists(options.out));
      if (!Exists(options.out)) {
        REQUIRE(Exists(options.out + ".partial"));
        CHECK(!CheckFile(options.out + ".partial", nullptr, nullptr).ok());
        RunKilled(options, kill_at / 2);  // and once more, wherever it is then
      }
      Watch watch;
      const Status status = Run(options, &watch);
      CAPTURE(std::string(Message(status)));
      REQUIRE(status.ok());
      resumed += watch.first;
      CHECK(!Exists(options.out + ".partial"));
      const bool equal = ReadWholeFile(options.out) == Uninterrupted(folder);
      CHECK(equal);
    }
    CHECK(resumed > 0);
  }
}

#endif

TEST_CASE("a stopped conversion keeps its partial, a failed one does not", "[convert]") {
  TempFolder folder;
  WriteWholeFile(folder / "a.gguf", LlamaGguf(1).Bytes());
  ConvertOptions options = Resumable(folder);
  options.sync_bytes = uint64_t{1} << 40;  // the stop records what no piece has
  Watch stopped;
  stopped.stop_at = 12;
  CHECK(Run(options, &stopped).code() == absl::StatusCode::kAborted);
  CHECK(!Exists(options.out));
  CHECK(Exists(options.out + ".partial"));
  Watch again;
  REQUIRE(Run(options, &again).ok());
  CHECK(again.first > 0);
  CHECK(ReadWholeFile(options.out) == Uninterrupted(folder));

  GgufCraft broken = LlamaGguf(0);
  const float infinity = std::numeric_limits<float>::infinity();
  std::memcpy(broken.Find("blk.1.ffn_down.weight")->data.data(), &infinity, 4);
  WriteWholeFile(folder / "a.gguf", broken.Bytes());
  CHECK(!Convert(options).ok());
  CHECK(!Exists(options.out + ".partial"));
}

TEST_CASE("a partial of something else is discarded", "[convert]") {
  const auto stop_then = [](const auto& change) {
    TempFolder folder;
    WriteWholeFile(folder / "a.gguf", LlamaGguf(1).Bytes());
    ConvertOptions options = Resumable(folder);
    Watch stopped;
    stopped.stop_at = 12;
    REQUIRE(!Run(options, &stopped).ok());
    change(&options, folder);
    Watch watch;
    REQUIRE(Run(options, &watch).ok());
    CHECK(watch.first == 0);
    CHECK(CheckFile(options.out, nullptr, nullptr).ok());
    options.resume = false;
    const std::string bytes = ReadWholeFile(options.out);
    REQUIRE(Convert(options).ok());
    CHECK(ReadWholeFile(options.out) == bytes);
  };
  stop_then([](ConvertOptions* options, const TempFolder&) { options->wtype = Format::kQ4; });
  stop_then([](ConvertOptions*, const TempFolder& folder) {
    GgufCraft other = LlamaGguf(1);
    other.Find("blk.0.attn_q.weight")->data[5] = 1;
    WriteWholeFile(folder / "a.gguf", other.Bytes());
  });
  const auto partial = [](const auto& change) {
    return [=](ConvertOptions* options, const TempFolder&) {
      std::string bytes = ReadWholeFile(options->out + ".partial");
      change(&bytes);
      WriteWholeFile(options->out + ".partial", bytes);
    };
  };
  stop_then(partial([](std::string* b) { b->clear(); }));
  stop_then(partial([](std::string* b) { b->resize(b->size() - 1); }));
  stop_then(partial([](std::string* b) { b->append("x"); }));
  stop_then(partial([](std::string* b) { b->assign("somebody's own file"); }));
  stop_then(partial([](std::string* b) {  // both records
    for (size_t i = b->size() - 12288; i < b->size(); i++) (*b)[i] = static_cast<char>((*b)[i] ^ 1);
  }));
}

TEST_CASE("what a partial's name may not be", "[convert]") {
  TempFolder folder;
  WriteWholeFile(folder / "a.gguf", LlamaGguf(1).Bytes());
  ConvertOptions options = Resumable(folder);
  WriteWholeFile(folder / "other", "kept");
#if !defined(_WIN32)  // where links need a privilege
  std::filesystem::create_symlink(folder / "other", options.out + ".partial");
  CHECK(Convert(options).code() == absl::StatusCode::kUnavailable);
  std::filesystem::remove(options.out + ".partial");
#endif
  std::filesystem::create_hard_link(folder / "other", options.out + ".partial");
  CHECK(Convert(options).code() == absl::StatusCode::kUnavailable);
  CHECK(ReadWholeFile(folder / "other") == "kept");
  std::filesystem::remove(options.out + ".partial");
  std::filesystem::rename(folder / "a.gguf", options.out + ".partial");
  options.in = options.out + ".partial";
  CHECK(Convert(options).code() == absl::StatusCode::kInvalidArgument);
  CHECK(ReadWholeFile(options.in) == LlamaGguf(1).Bytes());
}

TEST_CASE("two conversions do not share a partial", "[convert]") {
  TempFolder folder;
  WriteWholeFile(folder / "a.gguf", LlamaGguf(1).Bytes());
  ConvertOptions options = Resumable(folder);
  options.user = &options;
  options.progress = [](void* user, uint64_t done, uint64_t) {
    ConvertOptions second = *static_cast<ConvertOptions*>(user);
    second.progress = nullptr;
    if (done == 0) CHECK(Message(Convert(second)).find("another process") != std::string::npos);
    return 0;
  };
  REQUIRE(Convert(options).ok());
  CHECK(ReadWholeFile(options.out) == Uninterrupted(folder));
}

TEST_CASE("the bytes do not depend on the threads", "[convert]") {
  TempFolder folder;
  for (const uint32_t type : {0u, 1u, 30u, 8u}) {
    WriteWholeFile(folder / "a.gguf", LlamaGguf(type).Bytes());
    for (const Format format : {Format::kQ4, Format::kQ8, Format::kBF16, Format::kF16}) {
      ConvertOptions options = Resumable(folder);
      options.wtype = format;
      options.threads = 1;
      REQUIRE(Convert(options).ok());
      const std::string one = ReadWholeFile(options.out);
      options.threads = 4;
      options.resume = false;
      REQUIRE(Convert(options).ok());
      const bool equal = ReadWholeFile(options.out) == one;
      CHECK(equal);
    }
  }
}

TEST_CASE("a dry run tells the sizes and writes nothing", "[convert]") {
  TempFolder folder;
  WriteWholeFile(folder / "a.gguf", LlamaGguf().Bytes());
  ConvertOptions options = Resumable(folder);
  options.wtype = Format::kQ4;
  options.q8 = *ParseClassList("v,down");
  std::map<std::string, uint64_t> lines;
  options.dry_run = true;
  options.user = &lines;
  options.sizes = [](void* user, std::string_view what, std::string_view format, uint64_t n,
                     uint64_t bytes) {
    (*static_cast<std::map<std::string, uint64_t>*>(
        user))[fmt::format("{} {} {}", what, format, n)] = bytes;
    return 0;
  };
  REQUIRE(Convert(options).ok());
  CHECK(!Exists(options.out));
  CHECK(!Exists(options.out + ".partial"));
  CHECK(lines.count("v q8 2") == 1);
  CHECK(lines.count("down q8 2") == 1);
  CHECK(lines["embed q4 1"] == 3 * 288);
  CHECK(lines.count("vectors f32 5") == 1);
  options.dry_run = false;
  REQUIRE(Convert(options).ok());
  CHECK(lines["file  21"] == std::filesystem::file_size(options.out));
}

}  // namespace
}  // namespace krafla
