// Texts that memory has no room for, in a folder: what begins like one of them reads only the rest,
// and whatever happens to the files each reply is the one that its request would get alone.
#include "lib/batch/saved_texts.h"

#include <filesystem>

#include "tests/batch/replies.h"
#include "tests/support/temp_folder.h"

namespace krafla {
namespace {

using namespace test;

SchedulerOptions WithFolder(const std::string& folder, uint64_t cache_bytes) {
  SchedulerOptions options;
  options.cache_bytes = cache_bytes;
  options.folder = folder;
  options.folder_bytes = uint64_t{1} << 30;
  return options;
}

// The reply to `prompt`, which must be that of a session of its own; how much was not read.
int64_t Reused(const std::shared_ptr<const Model>& model, Scheduler& scheduler,
               const std::vector<int32_t>& prompt) {
  const Wanted wanted{prompt, 6, 0};
  const auto reply = std::make_shared<Reply>(wanted);
  REQUIRE(scheduler.Add(prompt, 0, reply).ok());
  Drain(scheduler);
  REQUIRE(reply->code == absl::StatusCode::kOk);
  REQUIRE(reply->ids == Solo(model, {}, wanted));
  return reply->reused;
}

std::vector<std::filesystem::path> Files(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry);
  return files;
}

std::vector<int32_t> Going(std::vector<int32_t> ids, uint32_t seed) {
  for (const int32_t id : Ids(9, seed, 512)) ids.push_back(id);
  return ids;
}

TEST_CASE("the next scheduler goes on with the texts of the one before") {
  for (const char* name : {"smollm2", "llama_odd", "qwen3_5"}) {
    CAPTURE(name);
    const TempFolder folder;
    const auto model = OpenTiny(name, Format::kQ8, MakeRuntime(1));
    const auto first = Ids(60, 1, model->config().n_vocab);
    const auto second = Ids(70, 2, model->config().n_vocab);
    const SchedulerOptions options = WithFolder(folder / "texts", uint64_t{64} << 20);
    {
      const auto scheduler = NewScheduler(model, options);
      CHECK(Reused(model, *scheduler, first) == 0);
      CHECK(Reused(model, *scheduler, second) == 0);
      CHECK(scheduler->info().in_folder == 0);
    }
    CHECK(Files(options.folder).size() == 2);
#ifndef _WIN32
    using std::filesystem::perms;
    for (const auto& file : Files(options.folder)) {
      CHECK(status(file).permissions() == (perms::owner_read | perms::owner_write));
    }
    CHECK(status(std::filesystem::path(options.folder)).permissions() == perms::owner_all);
#endif
    const auto scheduler = NewScheduler(model, options);
    CHECK(scheduler->info().in_folder == 0);  // as of the last pass
    std::vector<int32_t> prompt = first;
    for (const int32_t id : Solo(model, {}, {first, 6, 0})) prompt.push_back(id);
    CHECK(Reused(model, *scheduler, Going(prompt, 3)) == 66);
    CHECK(scheduler->info().in_folder == 2);
    CHECK(scheduler->info().folder_bytes > 0);
    // A state that cannot be cut serves whole texts only.
    prompt = second;
    prompt.resize(50);
    CHECK(Reused(model, *scheduler, Going(prompt, 4)) == (scheduler->root()->recurrent() ? 0 : 50));
  }
}

TEST_CASE("texts go to the folder when memory has no room, and come back") {
  const TempFolder folder;
  const auto model = OpenTiny("smollm2", Format::kQ8, MakeRuntime(1));
  const auto scheduler = NewScheduler(model, WithFolder(folder.path(), 200000));
  for (uint32_t i = 0; i < 12; ++i) Reused(model, *scheduler, Ids(100, i + 1, 512));
  // They are written beside the work: a slow disk may still be at the first.
  for (int i = 0; i < 1000 && scheduler->info().in_folder == 0; ++i) {
    Reused(model, *scheduler, Ids(100, static_cast<uint32_t>(i % 12) + 1, 512));
  }
  const SchedulerInfo info = scheduler->info();
  CHECK(info.cached < 12);
  CHECK(info.in_folder > 0);
  CHECK(info.cache_bytes <= 200000);
  int64_t reused = 0;
  for (uint32_t i = 0; i < 12; ++i)
    reused += Reused(model, *scheduler, Going(Ids(100, i + 1, 512), 40));
  CHECK(reused > 0);
}

TEST_CASE("texts that a scheduler has no room for are left to the next one") {
  const TempFolder folder;
  const auto model = OpenTiny("smollm2", Format::kQ8, MakeRuntime(1));
  SchedulerOptions options = WithFolder(folder.path(), uint64_t{64} << 20);
  const auto text = Ids(100, 1, 512);
  Reused(model, *NewScheduler(model, options), text);
  SchedulerOptions small = options;
  small.session.context = 64;
  Reused(model, *NewScheduler(model, small), Ids(20, 2, 512));
  CHECK(Reused(model, *NewScheduler(model, options), Going(text, 3)) == 100);
}

TEST_CASE("a text too large for the folder takes no other's place") {
  const TempFolder folder;
  const auto model = OpenTiny("smollm2", Format::kQ8, MakeRuntime(1));
  SchedulerOptions options = WithFolder(folder.path(), uint64_t{64} << 20);
  const auto text = Ids(60, 1, 512);
  Reused(model, *NewScheduler(model, options), text);
  options.folder_bytes = std::filesystem::file_size(Files(folder.path()).at(0)) + 100;
  std::vector<int32_t> longer = text;
  for (const int32_t id : Ids(100, 2, 512)) longer.push_back(id);
  Reused(model, *NewScheduler(model, options), longer);
  CHECK(Reused(model, *NewScheduler(model, options), Going(text, 3)) == 60);
}

TEST_CASE("files that are damaged, gone, foreign or of another kind change no reply") {
  const TempFolder folder;
  const auto model = OpenTiny("smollm2", Format::kQ8, MakeRuntime(1));
  SchedulerOptions options = WithFolder(folder.path(), uint64_t{64} << 20);
  const auto first = Ids(60, 1, 512);
  Reused(model, *NewScheduler(model, options), first);
  const std::string file = Files(folder.path()).at(0).string();
  const std::string bytes = ReadWholeFile(file);
  // What of `first` is not read again where the folder has this file alone.
  const auto reused_with = [&](const std::string& content) {
    for (const auto& other : Files(folder.path())) std::filesystem::remove(other);
    WriteWholeFile(file, content);
    return Reused(model, *NewScheduler(model, options), Going(first, 2));
  };
  REQUIRE(reused_with(bytes) == 60);
  for (const size_t at :
       {size_t{3}, size_t{9}, size_t{20}, size_t{70}, bytes.size() / 2, bytes.size() - 1}) {
    CAPTURE(at);
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
    CHECK(reused_with(damaged) == 0);
  }
  for (const size_t length : {size_t{0}, size_t{10}, size_t{64}, bytes.size() - 1}) {
    CHECK(reused_with(bytes.substr(0, length)) == 0);
  }
  CHECK(reused_with(bytes + "x") == 0);
  for (const auto& other : Files(folder.path())) std::filesystem::remove(other);
  WriteWholeFile(file, bytes);
  {
    const auto scheduler = NewScheduler(model, options);
    std::filesystem::remove(file);
    CHECK(Reused(model, *scheduler, Going(first, 2)) == 0);
  }
  // Those of another kind of cache, and files that have nothing to do with it, stay.
  WriteWholeFile(file, bytes);
  WriteWholeFile(folder / "notes.txt", "mine");
  SchedulerOptions other = options;
  other.session.kv = KvType::kQ8;
  const auto scheduler = NewScheduler(model, other);
  CHECK(scheduler->info().in_folder == 0);
  CHECK(std::filesystem::exists(file));
  CHECK(ReadWholeFile(folder / "notes.txt") == "mine");
}

TEST_CASE("the folder's budget holds, and what was not used for longest goes") {
  const TempFolder folder;
  const auto model = OpenTiny("smollm2", Format::kQ8, MakeRuntime(1));
  SchedulerOptions options = WithFolder(folder.path(), uint64_t{64} << 20);
  {
    const auto scheduler = NewScheduler(model, options);
    Reused(model, *scheduler, Ids(60, 1, 512));
  }
  const uint64_t one = std::filesystem::file_size(Files(folder.path()).at(0));
  options.folder_bytes = 3 * one + one / 2;
  {
    const auto scheduler = NewScheduler(model, options);
    for (uint32_t i = 2; i < 7; ++i) Reused(model, *scheduler, Ids(60, i, 512));
  }
  CHECK(Files(folder.path()).size() == 3);
  options.folder_bytes = one;
  const auto scheduler = NewScheduler(model, options);
  CHECK(Files(folder.path()).size() == 1);
  CHECK(Reused(model, *scheduler, Going(Ids(60, 6, 512), 9)) >= 60);
}

TEST_CASE("a folder that cannot be had is refused") {
  const TempFolder folder;
  const auto model = OpenTiny("smollm2", Format::kQ8, MakeRuntime(1));
  WriteWholeFile(folder / "file", "");
  CHECK_FALSE(Scheduler::Create(model, WithFolder(folder / "file", 1 << 20)).ok());
  CHECK_FALSE(Scheduler::Create(model, WithFolder(folder / "a/b", 1 << 20)).ok());
  CHECK(Scheduler::Create(model, WithFolder(folder / "a", 0)).status().code() ==
        absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace krafla
