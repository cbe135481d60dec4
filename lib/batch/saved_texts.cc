// See saved_texts.h.
#include "lib/batch/saved_texts.h"

#include <algorithm>
#include <filesystem>
#include <new>
#include <utility>

#include "include/krafla/version.h"
#include "lib/base/format.h"
#include "lib/batch/prefix_cache.h"
#include "lib/file/checksum.h"
#include "lib/session/saved.h"

namespace krafla {
namespace {

namespace fs = std::filesystem;

constexpr char kEnding[] = ".krafla-text";
// Fewer tokens than these are read as fast as a file is opened.
constexpr size_t kLeastGain = 16;

fs::path PathOf(std::string_view utf8) { return std::u8string(utf8.begin(), utf8.end()); }
std::string TextOf(const fs::path& path) {
  const std::u8string text = path.u8string();
  return {text.begin(), text.end()};
}

using Ids = std::vector<int32_t>;

// Of a file that this scheduler can go on with; its checksum is compared when it is loaded.
StatusOr<Ids> ReadIds(const std::string& path, const Session& root) {
  KRAFLA_ASSIGN_OR_RETURN(const std::unique_ptr<FileSource> source, OpenForReading(path));
  SavedReader reader(*source);
  SavedHeader header;
  KRAFLA_RETURN_IF_ERROR(ReadSavedHeader(reader, &header));
  if (header.model_hash != root.model()->file().content_hash() ||
      header.kv != static_cast<int32_t>(root.kv()) || header.arithmetic != KRAFLA_ARITHMETIC ||
      (header.flags & kSavedCache) == 0) {
    return UnsupportedError("{}: of another kind", path);
  }
  if (header.n_ids > static_cast<uint64_t>(root.context())) {
    return ContextError("{}: {} tokens, want at most {}", path, header.n_ids, root.context());
  }
  Ids ids(static_cast<size_t>(header.n_ids));
  KRAFLA_RETURN_IF_ERROR(reader.Read(ids.data(), ids.size() * sizeof(int32_t)));
  return ids;
}

// That a file is of no use to this version: not one that the next start, with more memory or a
// larger context, may read.
bool IsUseless(const Status& status) {
  return status.code() == absl::StatusCode::kDataLoss ||
         status.code() == absl::StatusCode::kUnimplemented;
}

// Of a text; entries without ids are of files that cannot be used now.
bool IsBeginning(std::span<const int32_t> part, std::span<const int32_t> whole) {
  return !part.empty() && part.size() <= whole.size() && CommonPrefix(part, whole) == part.size();
}

void Delete(const std::string& path) {
  std::error_code ignored;
  fs::remove(PathOf(path), ignored);
}

}  // namespace

SavedTexts::SavedTexts(std::string_view folder, uint64_t budget, std::shared_ptr<Session> root)
    : folder_(folder), budget_(budget), root_(std::move(root)) {
  prefix_ = fmt::format("{:016x}-{}-", root_->model()->file().content_hash(),
                        static_cast<int32_t>(root_->kv()));
}

StatusOr<std::unique_ptr<SavedTexts>> SavedTexts::Open(std::string_view folder, uint64_t budget,
                                                       std::shared_ptr<Session> root) {
  std::unique_ptr<SavedTexts> made(new SavedTexts(folder, budget, std::move(root)));
  KRAFLA_RETURN_IF_ERROR(made->List());
  return made;
}

Status SavedTexts::List() {
  std::error_code error;
  if (fs::create_directory(PathOf(folder_), error)) {
    fs::permissions(PathOf(folder_), fs::perms::owner_all, error);
  }
  if (error) return IoError("{}: {}", folder_, error.message());
  struct Candidate {
    std::string path;
    fs::file_time_type time;
  };
  std::vector<Candidate> candidates;
  fs::directory_iterator at(PathOf(folder_), error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    const std::string name = TextOf(at->path().filename());
    std::error_code ignored;
    if (!name.starts_with(prefix_) || !fs::is_regular_file(at->symlink_status(ignored))) continue;
    const std::string path = TextOf(at->path());
    if (name.ends_with(kEnding)) {
      candidates.push_back({path, at->last_write_time(ignored)});
    } else if (name.find(std::string(kEnding) + ".partial") != std::string::npos) {
      Delete(path);  // of a process that was killed
    }
  }
  if (error) return IoError("{}: {}", folder_, error.message());
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.time < b.time; });
  for (const Candidate& candidate : candidates) {
    StatusOr<Ids> ids = ReadIds(candidate.path, *root_);
    if (!ids.ok() && IsUseless(ids.status())) {
      Delete(candidate.path);
      continue;
    }
    std::error_code ignored;
    const uint64_t bytes = fs::file_size(PathOf(candidate.path), ignored);
    entries_.push_back({candidate.path, std::move(ids).value_or(Ids()), bytes, ++clock_});
    bytes_ += bytes;
  }
  MakeRoom(0);
  return OkStatus();
}

void SavedTexts::Remove(size_t i) {
  Delete(entries_[i].path);
  bytes_ -= entries_[i].bytes;
  entries_.erase(entries_.begin() + static_cast<ptrdiff_t>(i));
}

void SavedTexts::MakeRoom(uint64_t bytes) {
  while (!entries_.empty() && bytes_ + bytes > budget_) Remove(OldestOf(entries_));
}

std::shared_ptr<Session> SavedTexts::Load(std::span<const int32_t> ids, size_t than) {
  Collect(/*wait=*/false);
  size_t best = entries_.size();
  size_t most = than + kLeastGain - 1;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const size_t common = CommonPrefix(entries_[i].ids, ids);
    // A recurrent state is that of the text's end.
    if (root_->recurrent() && common < entries_[i].ids.size()) continue;
    if (common <= most) continue;
    most = common;
    best = i;
  }
  if (best == entries_.size()) return nullptr;
  try {
    const StatusOr<std::unique_ptr<FileSource>> source = OpenForReading(entries_[best].path);
    StatusOr<std::unique_ptr<Session>> session = root_->Branch(0);
    if (!session.ok()) return nullptr;
    const Status restored = source.ok()
                                ? (*session)->Restore(**source, /*replay=*/false, {}, nullptr)
                                : source.status();
    if (restored.ok()) {
      entries_[best].used = ++clock_;
      return *std::move(session);
    }
    if (IsUseless(restored)) Remove(best);
  } catch (const std::bad_alloc&) {
    // Then it is read anew.
  }
  return nullptr;
}

void SavedTexts::Collect(bool wait) {
  if (session_ == nullptr) return;
  if (wait) (void)writer_.Wait();
  const Writing writing = writing_.load(std::memory_order_acquire);
  if (writing == Writing::kAtWork) return;
  session_.reset();  // here, where the pages' other sessions are
  if (writing == Writing::kFailed) return;
  for (size_t i = entries_.size(); i-- > 0;) {
    if (IsBeginning(entries_[i].ids, written_.ids)) Remove(i);  // the new one serves for it
  }
  bytes_ += written_.bytes;
  entries_.push_back(std::move(written_));
}

bool SavedTexts::FinishWriting() {
  if (session_ == nullptr) return false;
  Collect(/*wait=*/true);
  return true;
}

void SavedTexts::Save(std::shared_ptr<Session> session, bool wait) {
  Collect(wait);
  if (session_ != nullptr) return;
  const std::span<const int32_t> ids = session->ids();
  for (Entry& entry : entries_) {
    if (!IsBeginning(ids, entry.ids)) continue;
    entry.used = ++clock_;  // it is there, perhaps with more behind it
    return;
  }
  const uint64_t bytes = session->saved_bytes(/*cache=*/true);
  if (bytes > budget_) return;
  for (Entry& entry : entries_) {
    if (IsBeginning(entry.ids, ids)) entry.used = 0;  // the first to make room
  }
  MakeRoom(bytes);
  written_ = {fmt::format("{}/{}{:016x}{}", folder_, prefix_,
                          ChecksumOf(ids.data(), ids.size_bytes()), kEnding),
              std::vector<int32_t>(ids.begin(), ids.end()), bytes, ++clock_};
  entries_.reserve(entries_.size() + 1);
  writing_.store(Writing::kAtWork, std::memory_order_relaxed);
  session_ = std::move(session);
  try {
    (void)writer_.Start([this] {
      bool written = false;
      try {
        written = session_->SaveAs(written_.path, /*cache=*/true).ok();
      } catch (const std::bad_alloc&) {
        // Then it is not kept.
      }
      writing_.store(written ? Writing::kDone : Writing::kFailed, std::memory_order_release);
      return OkStatus();
    });
  } catch (const std::bad_alloc&) {
    writing_.store(Writing::kFailed, std::memory_order_relaxed);
  }
  if (wait) Collect(true);
}

}  // namespace krafla
