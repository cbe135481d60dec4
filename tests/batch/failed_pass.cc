// Passes that fail because an expert cannot be read: whom that ends, and what the others say.
#include <mutex>
#include <set>

#include "tests/batch/replies.h"
#include "tests/session/streaming.h"

namespace krafla {
namespace {

using namespace test;

// A mixture whose experts come from a disk that does as the plan says.
class Disk {
 public:
  std::shared_ptr<const Model> Open(FaultPlan plan) const {
    ResidencyOptions options;
    options.budget = file_.Plan(2).least;
    options.watch = false;
    options.make_reader = Faulty(std::move(plan), /*only_urgent=*/true);
    return file_.Open(&options, 2);
  }
  std::vector<int32_t> Resident(const Wanted& wanted) const {
    return Solo(file_.Open(nullptr, 1), {}, wanted);
  }
  // Where the experts lie that are read for these.
  std::set<uint64_t> Experts(const std::vector<Wanted>& wanted) const;

 private:
  StreamedFile file_{"qwen3_moe", Format::kQ8};
};

using Replies = std::vector<std::shared_ptr<Reply>>;

Replies Run(const std::shared_ptr<const Model>& model, const std::vector<Wanted>& wanted) {
  const auto scheduler = NewScheduler(model, {});
  Replies replies;
  for (const Wanted& one : wanted) {
    replies.push_back(std::make_shared<Reply>(one));
    REQUIRE(scheduler->Add(one.prompt, 0, replies.back()).ok());
  }
  Drain(*scheduler);
  for (const auto& reply : replies) CHECK(reply->ended == 1);
  return replies;
}

std::set<uint64_t> Disk::Experts(const std::vector<Wanted>& wanted) const {
  std::set<uint64_t> offsets;
  std::mutex mutex;
  Run(Open([&](uint64_t, uint64_t offset) {
        const std::lock_guard<std::mutex> lock(mutex);
        offsets.insert(offset);
        return Fault::kNone;
      }),
      wanted);
  return offsets;
}

TEST_CASE("a read that fails once costs a pass and no reply") {
  const Disk disk;
  const std::vector<Wanted> wanted = {{Ids(9, 1, 512), 6, 0}, {Ids(5, 2, 512), 6, 1}};
  const uint64_t which = GENERATE(0, 1, 7, 20);
  const auto model =
      disk.Open([&](uint64_t n, uint64_t) { return n == which ? Fault::kError : Fault::kNone; });
  const Replies replies = Run(model, wanted);
  CHECK(model->residency()->info().errors == 1);
  for (size_t i = 0; i < wanted.size(); ++i) {
    CHECK(replies[i]->code == absl::StatusCode::kOk);
    CHECK(replies[i]->ids == disk.Resident(wanted[i]));
  }
}

TEST_CASE("an expert that cannot be read ends the replies that it would end alone") {
  const Disk disk;
  const std::vector<Wanted> wanted = {{{3}, 1, 0}, {{400}, 1, 0}};
  const std::vector<int32_t> whole[] = {disk.Resident(wanted[0]), disk.Resident(wanted[1])};
  const auto open = [&](uint64_t lost) {
    return disk.Open(
        [lost](uint64_t, uint64_t at) { return at == lost ? Fault::kError : Fault::kNone; });
  };
  size_t one_of_two = 0;
  for (const uint64_t lost : disk.Experts(wanted)) {
    INFO(lost);
    const Replies together = Run(open(lost), wanted);
    for (size_t i = 0; i < wanted.size(); ++i) {
      const Replies alone = Run(open(lost), {wanted[i]});
      CHECK(together[i]->code == alone[0]->code);
      if (together[i]->code == absl::StatusCode::kOk) {
        CHECK(together[i]->ids == whole[i]);
      } else {
        CHECK(together[i]->code == absl::StatusCode::kUnavailable);
      }
    }
    one_of_two += together[0]->code != together[1]->code ? 1 : 0;
  }
  CHECK(one_of_two > 0);
}

}  // namespace
}  // namespace krafla
