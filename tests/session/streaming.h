// Models whose experts are streamed, and readers that fail on purpose.
#ifndef KRAFLA_TESTS_SESSION_STREAMING_H_
#define KRAFLA_TESTS_SESSION_STREAMING_H_

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/session/fixture.h"
#include "tests/support/temp_folder.h"

namespace krafla::test {

// A model's file for as long as the object lives.
class StreamedFile {
 public:
  StreamedFile(const std::string& name, Format format) : path_(folder_ / "model.mlb") {
    WriteTiny(name, format, path_);
  }
  const std::string& path() const { return path_; }
  std::string Beside(const std::string& name) const { return folder_ / name; }

  StatusOr<std::shared_ptr<const Model>> TryOpen(const ResidencyOptions* options,
                                                 int32_t threads) const {
    KRAFLA_ASSIGN_OR_RETURN(std::unique_ptr<FileSource> source, OpenForReading(path_));
    KRAFLA_ASSIGN_OR_RETURN(std::unique_ptr<MlbFile> file, MlbFile::Open(std::move(source)));
    return Model::Open(MakeRuntime(threads), std::move(file), nullptr, nullptr, options);
  }
  std::shared_ptr<const Model> Open(const ResidencyOptions* options, int32_t threads) const {
    auto model = TryOpen(options, threads);
    INFO(Message(model.status()));
    REQUIRE(model.ok());
    return *model;
  }

  // A session that has read ids with all weights in memory: what streamed ones must equal.
  std::unique_ptr<Session> Resident(std::span<const int32_t> ids) const {
    auto session = NewSession(Open(nullptr, 1), {});
    REQUIRE(session->Append(ids, {}).ok());
    return session;
  }

  // Of a budget from which no expert has to leave, and of the least with which it runs.
  ResidencyPlan Plan(size_t experts_used) const {
    auto source = OpenForReading(path_);
    REQUIRE(source.ok());
    auto file = MlbFile::Open(*std::move(source));
    REQUIRE(file.ok());
    const std::span<const MlbTensor> tensors = (*file)->tensors();
    return PlanResidency(tensors, ExpertLayout(tensors), experts_used, uint64_t{1} << 40);
  }

 private:
  TempFolder folder_;
  std::string path_;
};

constexpr ReaderKind kReaders[] = {ReaderKind::kUring, ReaderKind::kPool, ReaderKind::kPageCache};

// Of a session whose reader never ends a read: an append of ids can be cancelled once that read was
// asked for, and a slice ends.
void CheckCancelOfRead(Session* session, std::span<const int32_t> ids,
                       const std::atomic<bool>& asked);

// Reads at once, on the caller's thread or, where that would be under the caller's lock, on one of
// its own; the plan says what becomes of the n-th block (from 0), which lies at this offset.
// only_urgent: what is read ahead begins when it is wanted, so that what leaves does not depend on
// time.
enum class Fault { kNone, kError, kShort, kNever };
using FaultPlan = std::function<Fault(uint64_t n, uint64_t offset)>;

ReaderFactory Faulty(FaultPlan plan, bool only_urgent = false);

}  // namespace krafla::test

#endif  // KRAFLA_TESTS_SESSION_STREAMING_H_
