// When experts' slots become fewer and more, and what is kept of their use: the numbers of the
// policy, and the file of a heat map.
#include <fstream>
#include <thread>

#include "lib/file/checksum.h"
#include "lib/weights/residency/pressure_watch.h"
#include "tests/session/streaming.h"

namespace krafla::test {
namespace {

using Action = PressurePolicy::Action;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint64_t kMb = uint64_t{1} << 20;
constexpr uint64_t kGb = uint64_t{1} << 30;

// A clock that the test moves.
class Policy {
 public:
  PressurePolicy::Step After(milliseconds passed, const MemoryRoom& room, bool signalled = false,
                             double stalled = 0) {
    now_ += passed;
    return policy_.Next(room, signalled, stalled, now_);
  }

 private:
  PressurePolicy policy_;
  PressurePolicy::Time now_{seconds(1000)};
};

MemoryRoom Room(uint64_t available, uint64_t group = UINT64_MAX, uint64_t total = 8 * kGb) {
  return {available, total, group};
}

TEST_CASE("a gigabyte or a tenth of all memory is left to the others") {
  CHECK(SystemReserve(Room(0, 0, 8 * kGb)) == kGb);
  CHECK(SystemReserve(Room(0, 0, 64 * kGb)) == 64 * kGb / 10);
  for (const uint64_t total : {8 * kGb, 64 * kGb}) {
    const uint64_t reserve = SystemReserve(Room(0, 0, total));
    Policy policy;
    (void)policy.After({}, Room(reserve, UINT64_MAX, total));
    CHECK(policy.After(seconds(2), Room(reserve, UINT64_MAX, total)).action == Action::kNothing);
    (void)policy.After(seconds(2), Room(reserve - 5 * kMb, UINT64_MAX, total));
    const auto step = policy.After(seconds(2), Room(reserve - 5 * kMb, UINT64_MAX, total));
    CHECK(step.action == Action::kShrink);
    CHECK(step.bytes == 5 * kMb);
  }
}

TEST_CASE("and 64 MiB to the own group, whichever lacks more") {
  Policy policy;
  (void)policy.After({}, Room(4 * kGb, 64 * kMb));
  CHECK(policy.After(seconds(2), Room(4 * kGb, 64 * kMb)).action == Action::kNothing);
  (void)policy.After(seconds(2), Room(kGb - 9 * kMb, 60 * kMb));
  CHECK(policy.After(seconds(2), Room(4 * kGb, 60 * kMb)).bytes == 4 * kMb);
  CHECK(policy.After(seconds(2), Room(4 * kGb, 60 * kMb)).more);
  (void)policy.After(seconds(2), Room(kGb - 9 * kMb, 60 * kMb));
  CHECK(policy.After(seconds(2), Room(kGb - 9 * kMb, 60 * kMb)).bytes == 9 * kMb);
}

TEST_CASE("whoever takes memory fast is expected to go on for a tenth of a second") {
  Policy policy;
  (void)policy.After({}, Room(4 * kGb, kGb));
  CHECK(policy.After(milliseconds(50), Room(4 * kGb, 900 * kMb)).action == Action::kNothing);
  CHECK(policy.After(milliseconds(50), Room(4 * kGb, 700 * kMb)).action == Action::kNothing);
  const auto step = policy.After(milliseconds(50), Room(4 * kGb, 450 * kMb));
  CHECK(step.action == Action::kShrink);
  CHECK(step.bytes == (64 + 500 - 450) * kMb);
  // What is missing is wanted at once again, but no more than that.
  const auto again = policy.After(milliseconds(10), Room(4 * kGb, 50 * kMb));
  CHECK(again.bytes == (64 + 4000 - 50) * kMb);
  CHECK(!again.more);
  // Memory that comes back promises nothing.
  CHECK(policy.After(milliseconds(10), Room(4 * kGb, 64 * kMb)).action == Action::kNothing);
}

TEST_CASE("the less room there is, the sooner it is looked at again") {
  CHECK(PressurePolicy::LookMs(Room(100 * kGb)) == 250);
  CHECK(PressurePolicy::LookMs(Room(4 * kGb)) == 128);
  CHECK(PressurePolicy::LookMs(Room(4 * kGb, 640 * kMb)) == 20);
  CHECK(PressurePolicy::LookMs(Room(4 * kGb, 0)) == 10);
}

TEST_CASE("the kernel's signal asks for the usual part, at most once a second") {
  Policy policy;
  const MemoryRoom room = Room(2 * kGb - 2);
  (void)policy.After({}, room);
  const auto step = policy.After(seconds(1), room, true);
  CHECK(step.action == Action::kShrink);
  CHECK(step.bytes == 0);
  CHECK(step.more);
  CHECK(policy.After(milliseconds(250), room, true).action == Action::kNothing);
  CHECK(policy.After(milliseconds(750), room, true).action == Action::kShrink);
  CHECK(policy.After(milliseconds(500), Room(kMb), false).action == Action::kShrink);
}

TEST_CASE("with twice the reserve left, at most twice a minute") {
  Policy policy;
  (void)policy.After({}, Room(2 * kGb));
  CHECK(policy.After(seconds(29), Room(2 * kGb), true).action == Action::kNothing);
  CHECK(policy.After(seconds(1), Room(2 * kGb), true).action == Action::kShrink);
  CHECK(policy.After(seconds(29), Room(2 * kGb), true).action == Action::kNothing);
}

TEST_CASE("growth wants thirty calm seconds") {
  Policy policy;
  (void)policy.After({}, Room(4 * kGb));
  CHECK(policy.After(seconds(29), Room(4 * kGb)).action == Action::kNothing);
  // Twice the reserve, of the group's too, and less than one percent stalled.
  CHECK(policy.After(seconds(5), Room(2 * kGb - 2)).action == Action::kNothing);
  CHECK(policy.After({}, Room(2 * kGb, 127 * kMb)).action == Action::kNothing);
  CHECK(policy.After({}, Room(2 * kGb), false, 1.0).action == Action::kNothing);
  CHECK(policy.After({}, Room(2 * kGb, 128 * kMb), false, 0.9).action == Action::kGrow);
  CHECK(policy.After(seconds(29), Room(4 * kGb)).action == Action::kNothing);
  CHECK(policy.After(seconds(1), Room(4 * kGb)).action == Action::kGrow);
  // Pressure begins the time anew.
  CHECK(policy.After(seconds(20), Room(2 * kGb - 2), true).action == Action::kShrink);
  CHECK(policy.After(seconds(20), Room(4 * kGb)).action == Action::kNothing);
  CHECK(policy.After(seconds(10), Room(4 * kGb)).action == Action::kGrow);
}

// Ten layers with four guesses each take a second, in which the disk is busy for so long.
bool ActiveAfter(ReadAheadPolicy& policy, int layers, uint64_t right, double busy) {
  constexpr uint64_t kSecond = 1000000000;
  for (int i = 1; i <= layers; ++i) {
    const auto now = static_cast<uint64_t>(i) * kSecond / 10;
    policy.Note(4, right, now, static_cast<uint64_t>(static_cast<double>(now) * busy));
  }
  return policy.active();
}

TEST_CASE("reading ahead rests where guesses are wrong or the disk is busy") {
  ReadAheadPolicy good;
  CHECK(ActiveAfter(good, 1000, 3, 0.7));
  ReadAheadPolicy wrong;
  CHECK(ActiveAfter(wrong, 63, 2, 0.1));  // not enough to judge by
  CHECK(!ActiveAfter(wrong, 2, 2, 0.1));
  ReadAheadPolicy busy;
  CHECK(!ActiveAfter(busy, 100, 4, 0.9));
  // Tried again, and left on where it pays now.
  CHECK(!ActiveAfter(busy, 4000, 4, 0.1));
  CHECK(ActiveAfter(busy, 1000, 4, 0.1));
  CHECK(!ActiveAfter(busy, 100, 1, 0.1));
}

ResidencyOptions WithBudget(uint64_t budget) {
  ResidencyOptions options;
  options.budget = budget;
  options.watch = false;
  return options;
}

TEST_CASE("pressure takes 15 percent or what is missing, down to the floor; calm brings it back") {
  const StreamedFile file("../trained/kjv-moe", Format::kQ8);
  const ResidencyPlan plan = file.Plan(2);
  ResidencyOptions options = WithBudget(plan.dense_bytes + plan.slab_bytes);
  std::vector<std::pair<uint64_t, uint64_t>> told;
  options.on_resize = [&](uint64_t before, uint64_t after, bool pressure) {
    CHECK(pressure);
    told.push_back({before, after});
  };
  const auto model = file.Open(&options, 1);
  Residency& residency = *model->residency();
  const uint64_t full = residency.info().slab_bytes;
  residency.OnPressure(0);
  const uint64_t less = residency.info().slab_bytes;
  CHECK(less <= full - full / 100 * 15);
  CHECK(less >= full / 2);
  residency.OnPressure(full / 4);
  CHECK(residency.info().slab_bytes <= less - full / 4);
  for (int i = 0; i < 20; ++i) residency.OnPressure(kGb);
  const uint64_t floor = residency.info().slab_bytes;
  CHECK(floor > 0);
  CHECK(floor + plan.dense_bytes <= plan.least);
  size_t steps = 0;
  for (uint64_t before = floor; residency.info().slab_bytes < full; ++steps) {
    REQUIRE(steps < 40);
    residency.OnCalm();
    CHECK(residency.info().slab_bytes >= before);
    before = residency.info().slab_bytes;
  }
  CHECK(steps > 3);  // bit by bit
  CHECK(residency.info().shrinks >= 3);
  CHECK(residency.info().grows >= 3);
  REQUIRE(told.size() == residency.info().shrinks + residency.info().grows);
  CHECK(told.front() == std::pair(full, less));
  CHECK(told.back().second == full);
}

TEST_CASE("slots that were never filled are memory that is taken already") {
  const StreamedFile file("../trained/kjv-moe", Format::kQ8);
  const ResidencyPlan plan = file.Plan(2);
  const ResidencyOptions options = WithBudget(plan.dense_bytes + plan.slab_bytes);
  const auto model = file.Open(&options, 1);
  const Residency& residency = *model->residency();
  const auto promised = [&] { return kGb - residency.RoomBesides(Room(4 * kGb, kGb)).group; };
  const ResidencyInfo empty = residency.info();
  CHECK(promised() == empty.slots * empty.slot_bytes);
  REQUIRE(NewSession(model, {})->Append(Ids(60, 5, 2048), {}).ok());
  // What was read ahead may still be on its way: then it is no longer promised and not yet there.
  const auto absent = [&] {
    const ResidencyInfo info = residency.info();
    return (info.slots - info.resident) * info.slot_bytes;
  };
  for (int i = 0; i < 10000 && promised() != absent(); ++i) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  CHECK(promised() == absent());
  CHECK(residency.info().evictions == 0);
  CHECK(residency.RoomBesides(Room(UINT64_MAX)).system == UINT64_MAX);
}

TEST_CASE("what a host has trimmed does not come back with calm") {
  const StreamedFile file("../trained/kjv-moe", Format::kQ8);
  const ResidencyPlan plan = file.Plan(2);
  const ResidencyOptions options = WithBudget(plan.dense_bytes + plan.slab_bytes);
  const auto model = file.Open(&options, 1);
  Residency& residency = *model->residency();
  const uint64_t half = residency.Trim(plan.slab_bytes / 2);
  CHECK(half <= plan.slab_bytes / 2);
  residency.OnPressure(0);
  for (int i = 0; i < 40; ++i) residency.OnCalm();
  CHECK(residency.info().slab_bytes == half);
}

class HeatFile {
 public:
  HeatFile() : source_("../trained/kjv-moe", Format::kQ8) {
    auto source = OpenForReading(source_.path());
    REQUIRE(source.ok());
    auto file = MlbFile::Open(*std::move(source));
    REQUIRE(file.ok());
    file_ = *std::move(file);
    path_ = source_.Beside("heat");
  }
  HeatMap New() const { return HeatMap(ExpertLayout(file_->tensors())); }
  const std::string& path() const { return path_; }
  Status Load(HeatMap* map, uint64_t hash = 7) const { return map->Load(path_, hash); }
  void Refused(const char* why, uint64_t hash = 7) const {
    HeatMap map = New();
    const Status status = Load(&map, hash);
    INFO(why << ": " << Message(status));
    CHECK(status.code() == absl::StatusCode::kDataLoss);
    CHECK(Message(status).find(path_) != std::string_view::npos);
    for (size_t i = 0; i < map.layer(0).size(); ++i) REQUIRE(map.layer(0)[i] == 0);
  }

 private:
  StreamedFile source_;
  std::unique_ptr<MlbFile> file_;
  std::string path_;
};

TEST_CASE("a heat map comes back as it was kept") {
  const HeatFile file;
  HeatMap map = file.New();
  CHECK(file.Load(&map).code() == absl::StatusCode::kNotFound);
  for (uint32_t expert = 0; expert < map.layer(0).size(); ++expert) map.Add(0, expert, expert * 3);
  map.Add(1, 1, 5);
  REQUIRE(map.Save(file.path(), 7).ok());
  HeatMap again = file.New();
  REQUIRE(file.Load(&again).ok());
  CHECK(again.layer(0) == map.layer(0));
  CHECK(again.layer(1) == map.layer(1));
  file.Refused("of another model", 8);
}

TEST_CASE("a damaged heat map is refused, whatever the damage") {
  const HeatFile file;
  HeatMap map = file.New();
  map.Add(0, 0, 1);
  REQUIRE(map.Save(file.path(), 7).ok());
  const std::string whole = ReadWholeFile(file.path());
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string bytes = whole;
    bytes[i] = static_cast<char>(bytes[i] ^ 0x10);
    WriteWholeFile(file.path(), bytes);
    file.Refused("a flipped bit");
  }
  for (size_t n = 0; n < whole.size(); n += 7) {
    WriteWholeFile(file.path(), whole.substr(0, n));
    file.Refused("cut");
  }
  WriteWholeFile(file.path(), whole + "x");
  file.Refused("longer");
  // Whole, but of another number of experts.
  std::string other = whole.substr(0, whole.size() - 12);
  const uint64_t checksum =
      ChecksumOf(reinterpret_cast<const std::byte*>(other.data()), other.size());
  other.append(reinterpret_cast<const char*>(&checksum), sizeof(checksum));
  WriteWholeFile(file.path(), other);
  file.Refused("fewer experts");
}

TEST_CASE("counts stay in their range and keep their order") {
  const HeatFile file;
  HeatMap map = file.New();
  CHECK(map.ThresholdOf(0, 1) == UINT32_MAX);  // none is used more than others
  map.Add(0, 0, 1000);
  map.Add(0, 1, 100);
  CHECK(map.ThresholdOf(0, 1) == 1000);
  CHECK(map.ThresholdOf(0, 2) == 100);
  for (int i = 0; i < 100; ++i) map.Add(0, 0, UINT32_MAX);
  CHECK(map.at(0, 0) < uint32_t{1} << 25);
  CHECK(map.at(0, 0) > map.at(0, 1));
}

TEST_CASE("a heat map that cannot be read or written is no reason not to run") {
  const StreamedFile file("../trained/kjv-moe", Format::kQ8);
  ResidencyOptions options = WithBudget(file.Plan(2).least);
  options.heat_map = file.Beside("no such folder") + "/heat";
  const auto session = NewSession(file.Open(&options, 1), {});
  CHECK(session->Append(Ids(8, 5, 2048), {}).ok());
}

TEST_CASE("a file of another kind is never replaced by a heat map") {
  const StreamedFile file("../trained/kjv-moe", Format::kQ8);
  ResidencyOptions options = WithBudget(file.Plan(2).least);
  for (const std::string& path : {file.path(), file.Beside("notes.txt")}) {
    if (path != file.path()) WriteWholeFile(path, "what I wanted to keep");
    const std::string before = ReadWholeFile(path);
    options.heat_map = path;
    CHECK(file.TryOpen(&options, 1).status().code() == absl::StatusCode::kInvalidArgument);
    CHECK(ReadWholeFile(path) == before);
  }
  WriteWholeFile(file.Beside("empty"), "");
  options.heat_map = file.Beside("empty");
  CHECK(NewSession(file.Open(&options, 1), {})->Append(Ids(8, 5, 2048), {}).ok());
  CHECK(!ReadWholeFile(options.heat_map).empty());
}

}  // namespace
}  // namespace krafla::test
