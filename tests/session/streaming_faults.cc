// What becomes of a session when experts cannot be read.
#include <fstream>
#include <thread>

#include "tests/session/streaming.h"

namespace krafla::test {
void CheckCancelOfRead(Session* session, std::span<const int32_t> ids,
                       const std::atomic<bool>& asked) {
  std::thread canceller([&] {
    while (!asked.load()) std::this_thread::yield();
    session->Cancel();
  });
  CHECK(session->Append(ids, {}).code() == absl::StatusCode::kCancelled);
  canceller.join();
  CHECK(session->length() == 0);
  // A time slice ends too.
  REQUIRE(session->Begin(ids, {}).ok());
  const StatusOr<bool> step = session->Step(20000);
  REQUIRE(step.ok());
  CHECK(!*step);
  session->Abandon();
}

namespace {

const std::vector<int32_t> kIds = Ids(60, 4, 512);

ResidencyOptions Least(const StreamedFile& file) {
  ResidencyOptions options;
  options.budget = file.Plan(2).least;
  options.watch = false;
  return options;
}

TEST_CASE("an expert that cannot be read is an error, and the session goes on afterwards") {
  const StreamedFile file("qwen3_moe", Format::kQ8);
  const auto whole = file.Resident(kIds);

  const Fault fault = GENERATE(Fault::kError, Fault::kShort);
  const uint64_t which = GENERATE(0, 3, 9, 20);
  ResidencyOptions options = Least(file);
  options.make_reader =
      Faulty([&](uint64_t n, uint64_t) { return n == which ? fault : Fault::kNone; });
  const auto model = file.Open(&options, 2);
  const auto session = NewSession(model, {});
  Status status;
  size_t failures = 0;
  for (const int32_t id : kIds) {
    while (!(status = session->Append({&id, 1}, {})).ok()) {
      ++failures;
      INFO(Message(status));
      CHECK(status.code() == (fault == Fault::kError ? absl::StatusCode::kUnavailable
                                                     : absl::StatusCode::kDataLoss));
      CHECK(Message(status).find("layers.") != std::string_view::npos);
      CHECK(Message(status).find(": expert ") != std::string_view::npos);
      REQUIRE(failures == 1);
    }
  }
  // What was read ahead and is not wanted after all fails nobody; the first read is wanted.
  if (which == 0) CHECK(failures == 1);
  CHECK(SameBits(session->logits(), whole->logits()));
  CHECK(model->residency()->info().errors == 1);
}

TEST_CASE("a prompt fails as one and can be read again") {
  const StreamedFile file("qwen3_5_moe", Format::kQ4);
  const auto whole = file.Resident(kIds);
  ResidencyOptions options = Least(file);
  options.make_reader =
      Faulty([](uint64_t n, uint64_t) { return n % 8 == 5 ? Fault::kError : Fault::kNone; });
  const auto session = NewSession(file.Open(&options, 2), {});
  // Each pass wants every expert of four layers, more than eight reads.
  CHECK(!session->Append(kIds, {}).ok());
  CHECK(session->length() == 0);
  // In slices what was done stays done, so that the end is reached.
  REQUIRE(session->Begin(kIds, {}).ok());
  size_t failures = 0;
  for (;;) {
    const StatusOr<bool> step = session->Step(-1);
    if (step.ok()) break;
    REQUIRE(++failures < 1000);
  }
  CHECK(failures > 0);
  CHECK(SameBits(session->logits(), whole->logits()));
}

TEST_CASE("a read that never ends can be cancelled, and closing does not wait for it") {
  const StreamedFile file("qwen3_moe", Format::kQ8);
  ResidencyOptions options = Least(file);
  std::atomic<bool> asked{false};
  options.make_reader = Faulty([&](uint64_t n, uint64_t) {
    if (n < 4) return Fault::kNone;
    asked.store(true);
    return Fault::kNever;
  });
  const auto session = NewSession(file.Open(&options, 2), {});
  CheckCancelOfRead(session.get(), kIds, asked);
}

TEST_CASE("a file that changes while it is open is an error") {
  const StreamedFile file("qwen3_moe", Format::kQ8);
  const ReaderKind kind = GENERATE(ReaderKind::kPageCache, ReaderKind::kPool, ReaderKind::kUring);
  const bool truncate = GENERATE(true, false);
  ResidencyOptions options = Least(file);
  options.reader = kind;
  const auto model = file.TryOpen(&options, 1);
  if (!model.ok()) return;  // the system has no such reads
  const auto session = NewSession(*model, {});
  const int32_t first = kIds[0];
  REQUIRE(session->Append({&first, 1}, {}).ok());
  const auto before = Copy(session->logits());
  if (truncate) {
    std::filesystem::resize_file(PathOf(file.path()),
                                 std::filesystem::file_size(PathOf(file.path())) / 2);
  } else {
    const auto later =
        std::filesystem::last_write_time(PathOf(file.path())) + std::chrono::hours(1);
    std::filesystem::last_write_time(PathOf(file.path()), later);
  }
  const Status status = session->Append(kIds, {});
  INFO(Message(status));
  CHECK(status.code() == absl::StatusCode::kDataLoss);
  CHECK(session->length() == 1);
  CHECK(SameBits(session->logits(), before));
}

TEST_CASE("a file that is replaced under its name is the old one to who has it open") {
  const StreamedFile file("qwen3_moe", Format::kQ8);
  const auto whole = file.Resident(kIds);
  const ResidencyOptions options = Least(file);
  const auto session = NewSession(file.Open(&options, 1), {});
  const std::string other = file.Beside("other.mlb");
  WriteWholeFile(other, "something else");
  std::error_code error;
  std::filesystem::rename(PathOf(other), PathOf(file.path()), error);
  if (error) return;  // Windows keeps the names of open files
  REQUIRE(session->Append(kIds, {}).ok());
  CHECK(SameBits(session->logits(), whole->logits()));
}

}  // namespace
}  // namespace krafla::test
