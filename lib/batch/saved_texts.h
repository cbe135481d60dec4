// Texts of ended replies in a folder: those that memory has no room for, and all when a scheduler
// goes away, so that the next one goes on with them. Each is a saved session (lib/session/saved.h)
// under a name that says its model and its ids. Files of other models and anything else there are
// left alone; those of this one that no later start could use are removed. Whatever fails here is a
// text that is not found: nothing else depends on it.
//
// One text at a time is written beside the work; those that come meanwhile are not kept.
#ifndef KRAFLA_LIB_BATCH_SAVED_TEXTS_H_
#define KRAFLA_LIB_BATCH_SAVED_TEXTS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/file/background_task.h"
#include "lib/session/session.h"

namespace krafla {

class SavedTexts {
 public:
  // Makes the folder (for its owner alone) where there is none. root: an empty session of the kind
  // to restore; IoError where the folder cannot be made or listed.
  static StatusOr<std::unique_ptr<SavedTexts>> Open(std::string_view folder, uint64_t budget,
                                                    std::shared_ptr<Session> root);
  ~SavedTexts() { Collect(/*wait=*/true); }

  // The text with the longest beginning in common with `ids`, where that is longer than `than` by
  // so much that reading the file pays; null where there is none.
  std::shared_ptr<Session> Load(std::span<const int32_t> ids, size_t than);
  // wait: for the one that is being written before and for this one.
  void Save(std::shared_ptr<Session> session, bool wait);
  // Waits for the one that is being written and lets it go; false: there was none.
  bool FinishWriting();

  uint64_t bytes() const { return bytes_; }
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::string path;
    std::vector<int32_t> ids;  // none: a file that counts and ages, but cannot be used now
    uint64_t bytes = 0;
    uint64_t used = 0;
  };
  SavedTexts(std::string_view folder, uint64_t budget, std::shared_ptr<Session> root);
  Status List();
  void Remove(size_t i);  // the file too
  void MakeRoom(uint64_t bytes);
  void Collect(bool wait);

  std::string folder_;
  std::string prefix_;  // of the files' names
  uint64_t budget_;
  std::shared_ptr<Session> root_;
  uint64_t bytes_ = 0;
  uint64_t clock_ = 0;
  std::vector<Entry> entries_;

  // The one that is being written: no entry until it is there.
  std::shared_ptr<Session> session_;
  Entry written_;
  enum class Writing { kAtWork, kDone, kFailed };
  std::atomic<Writing> writing_{Writing::kDone};
  BackgroundTask writer_;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_BATCH_SAVED_TEXTS_H_
