// The four sources give the same bytes and the same refusals.
#include "lib/file/source.h"

#if !defined(_WIN32)
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

#include <cstring>
#include <string>

#include "tests/support/catch.h"
#include "tests/support/temp_folder.h"

namespace krafla {
namespace {

struct Host {
  std::string bytes;
  static int Read(void* user, uint64_t offset, void* out, size_t n) {
    const std::string& bytes = static_cast<Host*>(user)->bytes;
    std::memcpy(out, bytes.data() + offset, n);
    return 0;
  }
  static int Fail(void*, uint64_t, void*, size_t) { return 7; }
};

TEST_CASE("all sources read alike", "[file]") {
  TempFolder folder;
  Host host;
  for (int i = 0; i < 10000; i++) host.bytes.push_back(static_cast<char>(i % 251));
  WriteWholeFile(folder / "файл 日本　😀", host.bytes);
  std::vector<std::unique_ptr<FileSource>> sources;
  auto mapped = OpenMapped(folder / "файл 日本　😀");
  auto read = OpenForReading(folder / "файл 日本　😀");
  REQUIRE(mapped.ok());
  REQUIRE(read.ok());
  CHECK((*mapped)->data() != nullptr);
  CHECK((*read)->data() == nullptr);
  sources.push_back(*std::move(mapped));
  sources.push_back(*std::move(read));
  sources.push_back(OpenMemory(host.bytes.data(), host.bytes.size()));
  sources.push_back(OpenCallback(Host::Read, &host, host.bytes.size()));
  for (const auto& source : sources) {
    CAPTURE(source->name());
    CHECK(source->size() == host.bytes.size());
    std::string part(100, '\0');
    REQUIRE(source->ReadAt(9900, part.data(), 100).ok());
    CHECK(part == host.bytes.substr(9900));
    CHECK(source->ReadAt(10000, part.data(), 0).ok());
    for (const uint64_t offset : {uint64_t{9901}, uint64_t{10001}, ~uint64_t{0}}) {
      const Status status = source->ReadAt(offset, part.data(), 100);
      CHECK(status.code() == absl::StatusCode::kDataLoss);
    }
  }
}

TEST_CASE("sources refuse what is no file", "[file]") {
  TempFolder folder;
  CHECK(OpenMapped(folder / "absent").status().code() == absl::StatusCode::kNotFound);
  CHECK(OpenForReading(folder.path()).status().code() == absl::StatusCode::kUnavailable);
#if defined(_WIN32)
  CHECK(OpenMapped("NUL").status().code() == absl::StatusCode::kUnavailable);
#else
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(OpenMapped(folder / "pipe").status().code() == absl::StatusCode::kUnavailable);
#endif
  WriteWholeFile(folder / "empty", "");
  CHECK(OpenMapped(folder / "empty").status().code() == absl::StatusCode::kDataLoss);
  CHECK(OpenForReading(folder / "empty").ok());
  WriteWholeFile(folder / "a", "x");
  CHECK(OpenMapped(std::string(folder / "a") + std::string("\0b", 2)).status().code() ==
        absl::StatusCode::kInvalidArgument);
}

#if !defined(_WIN32) && \
    !defined(__SANITIZE_ADDRESS__)  // which takes more address space than the limit
TEST_CASE("a mapping without address space is a failure of memory", "[file]") {
  TempFolder folder;
  WriteWholeFile(folder / "large", "x");
  REQUIRE(truncate((folder / "large").c_str(), off_t{8} << 30) == 0);  // a hole
  rlimit before;
  REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
  rlimit small = before;
  small.rlim_cur = rlim_t{4} << 30;
  REQUIRE(setrlimit(RLIMIT_AS, &small) == 0);
  const absl::StatusCode code = OpenMapped(folder / "large").status().code();
  REQUIRE(setrlimit(RLIMIT_AS, &before) == 0);
  CHECK(code == absl::StatusCode::kResourceExhausted);
}
#endif

TEST_CASE("a file that shrinks while open is an error", "[file]") {
  TempFolder folder;
  WriteWholeFile(folder / "a", std::string(1000, 'x'));
  auto source = OpenForReading(folder / "a");
  REQUIRE(source.ok());
  WriteWholeFile(folder / "a", std::string(10, 'x'));
  char byte;
  CHECK((*source)->ReadAt(500, &byte, 1).code() == absl::StatusCode::kDataLoss);
}

TEST_CASE("a failing callback is an I/O error", "[file]") {
  const auto source = OpenCallback(Host::Fail, nullptr, 100);
  char byte;
  CHECK(source->ReadAt(5, &byte, 1).code() == absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace krafla
