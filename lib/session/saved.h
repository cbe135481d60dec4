// A saved session's bytes (docs/formats.md): a header that says what they belong to, the ids, the
// state and the logits where they were wanted, a checksum. They may come from anywhere: nothing is
// believed before it is compared with the model, the session and the size.
#ifndef KRAFLA_LIB_SESSION_SAVED_H_
#define KRAFLA_LIB_SESSION_SAVED_H_

#include <cstddef>
#include <cstdint>

#include "lib/base/status.h"
#include "lib/file/checksum.h"
#include "lib/file/source.h"
#include "lib/model/state.h"

namespace krafla {

inline constexpr char kSavedMagic[8] = {'K', 'R', 'A', 'F', 'L', 'A', 'S', '\n'};
inline constexpr uint32_t kSavedVersion = 1;
inline constexpr uint32_t kSavedCache = 1;   // flags: the state follows the ids
inline constexpr uint32_t kSavedLogits = 2;  // and the logits follow the state

struct SavedHeader {
  char magic[8];
  uint32_t version;
  uint32_t arithmetic;   // KRAFLA_ARITHMETIC of the writer
  uint64_t model_hash;   // MlbFile::content_hash
  uint32_t flags;        // kSaved*; others are not known
  int32_t kv;            // KvType
  int64_t context;       // of the session that was saved
  uint64_t n_ids;        // i32 each
  uint64_t state_bytes;  // 0 without kSavedCache
  uint64_t n_logits;     // f32 each, 0 without kSavedLogits
};
static_assert(sizeof(SavedHeader) == 64);

// Counts what passes through; the sum of all of it is written last.
class SavedWriter final : public ByteSink {
 public:
  explicit SavedWriter(ByteSink& out) : out_(out) {}
  Status Write(const void* data, size_t n) override {
    checksum_.Update(data, n);
    return out_.Write(data, n);
  }
  Status Finish() {
    const uint64_t value = checksum_.Value();
    return out_.Write(&value, sizeof(value));
  }

 private:
  ByteSink& out_;
  Checksum checksum_;
};

class SavedReader final : public ByteSource {
 public:
  explicit SavedReader(const FileSource& in) : in_(in) {}
  Status Read(void* out, size_t n) override {
    KRAFLA_RETURN_IF_ERROR(in_.ReadAt(offset_, out, n));
    offset_ += n;
    checksum_.Update(out, n);
    return OkStatus();
  }
  // Reads over what lies before the checksum, then compares it.
  Status Finish();
  const FileSource& source() const { return in_; }

 private:
  const FileSource& in_;
  uint64_t offset_ = 0;
  Checksum checksum_;
};

// The first thing to read: what the bytes say of themselves, compared with their number. FileError,
// UnsupportedError.
Status ReadSavedHeader(SavedReader& in, SavedHeader* header);

}  // namespace krafla

#endif  // KRAFLA_LIB_SESSION_SAVED_H_
