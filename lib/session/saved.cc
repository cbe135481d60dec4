// Saving and restoring a session. Restoring fills a trial of the state and the spare row of logits;
// the session changes only after the checksum has been compared.
#include "lib/session/saved.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "include/krafla/version.h"
#include "lib/file/output_file.h"
#include "lib/session/job.h"
#include "lib/session/session.h"

namespace krafla {
namespace {

// longrope has other angles in a longer context; everything else is the same in any.
bool AnglesFollowContext(const Config& config) {
  return config.rope.kind == "longrope" ||
         (config.uses_local_rope() && config.local_rope.kind == "longrope");
}

uint64_t BytesOf(const SavedHeader& header) {
  return sizeof(header) + header.n_ids * sizeof(int32_t) + header.state_bytes +
         header.n_logits * sizeof(float) + sizeof(uint64_t);
}

// What the bytes themselves say, without a session.
Status CheckHeader(const SavedHeader& header, const FileSource& in) {
  constexpr uint64_t kMost = uint64_t{1} << 48;  // so that no sum of sizes overflows
  if (std::memcmp(header.magic, kSavedMagic, sizeof(kSavedMagic)) != 0) {
    return FileError("{}: not a saved session", in.name());
  }
  if (header.version != kSavedVersion) {
    return UnsupportedError("{}: saved session of version {}, want {}", in.name(), header.version,
                            kSavedVersion);
  }
  const bool cache = (header.flags & kSavedCache) != 0;
  const bool logits = (header.flags & kSavedLogits) != 0;
  if (header.flags > (kSavedCache | kSavedLogits) || (logits && !cache) ||
      cache != (header.state_bytes != 0) || logits != (header.n_logits != 0) ||
      header.n_ids > kMost || header.state_bytes > kMost || header.n_logits > kMost) {
    return FileError("{}: the header of a saved session contradicts itself", in.name());
  }
  if (BytesOf(header) != in.size()) {
    return FileError("{}: got {} bytes, the header says {}", in.name(), in.size(), BytesOf(header));
  }
  return OkStatus();
}

// Small writes are gathered: a state writes its last page row by row.
class FileSink final : public ByteSink {
 public:
  explicit FileSink(const OutputFile& file) : file_(file) { pending_.reserve(kRoom); }
  Status Write(const void* data, size_t n) override {
    if (pending_.size() + n > kRoom) KRAFLA_RETURN_IF_ERROR(Flush());
    if (n > kRoom) return WriteThrough(data, n);
    const auto* bytes = static_cast<const std::byte*>(data);
    pending_.insert(pending_.end(), bytes, bytes + n);
    return OkStatus();
  }
  Status Flush() {
    KRAFLA_RETURN_IF_ERROR(WriteThrough(pending_.data(), pending_.size()));
    pending_.clear();
    return OkStatus();
  }

 private:
  static constexpr size_t kRoom = 1 << 18;
  Status WriteThrough(const void* data, size_t n) {
    KRAFLA_RETURN_IF_ERROR(file_.WriteAt(offset_, data, n));
    offset_ += n;
    return OkStatus();
  }
  const OutputFile& file_;
  uint64_t offset_ = 0;
  std::vector<std::byte> pending_;
};

}  // namespace

Status ReadSavedHeader(SavedReader& in, SavedHeader* header) {
  const FileSource& source = in.source();
  if (source.size() < sizeof(*header) + sizeof(uint64_t)) {
    return FileError("{}: got {} bytes, want at least {}: not a saved session", source.name(),
                     source.size(), sizeof(*header) + sizeof(uint64_t));
  }
  KRAFLA_RETURN_IF_ERROR(in.Read(header, sizeof(*header)));
  return CheckHeader(*header, source);
}

Status SavedReader::Finish() {
  uint64_t wanted = 0;
  const uint64_t end = in_.size() - sizeof(wanted);
  std::byte buffer[4096];
  while (offset_ < end) {
    KRAFLA_RETURN_IF_ERROR(
        Read(buffer, static_cast<size_t>(std::min<uint64_t>(sizeof(buffer), end - offset_))));
  }
  KRAFLA_RETURN_IF_ERROR(in_.ReadAt(end, &wanted, sizeof(wanted)));
  if (wanted == checksum_.Value()) return OkStatus();
  return FileError("{}: the checksum differs: the saved session is damaged", in_.name());
}

uint64_t Session::saved_bytes(bool cache) const {
  SavedHeader header{};
  header.n_ids = static_cast<uint64_t>(length_);
  if (cache && length_ > 0) {
    header.state_bytes = state_.saved_bytes(length_);
    header.n_logits = logits_.size();
  }
  return BytesOf(header);
}

Status Session::Save(bool cache, ByteSink& out) const {
  KRAFLA_RETURN_IF_ERROR(CheckIdle());
  SavedHeader header{};
  std::copy(std::begin(kSavedMagic), std::end(kSavedMagic), header.magic);
  header.version = kSavedVersion;
  header.arithmetic = KRAFLA_ARITHMETIC;
  header.model_hash = model_->file().content_hash();
  header.kv = static_cast<int32_t>(options_.kv);
  header.context = options_.context;
  header.n_ids = static_cast<uint64_t>(length_);
  if (cache && length_ > 0) {
    header.flags = kSavedCache | (logits_.empty() ? 0 : kSavedLogits);
    header.state_bytes = state_.saved_bytes(length_);
    header.n_logits = logits_.size();
  }
  SavedWriter writer(out);
  KRAFLA_RETURN_IF_ERROR(writer.Write(&header, sizeof(header)));
  KRAFLA_RETURN_IF_ERROR(writer.Write(ids_.data(), ids().size_bytes()));
  if ((header.flags & kSavedCache) != 0) {
    KRAFLA_RETURN_IF_ERROR(state_.Save(length_, writer));
    KRAFLA_RETURN_IF_ERROR(writer.Write(logits_.data(), logits_.size_bytes()));
  }
  return writer.Finish();
}

Status Session::SaveAs(std::string_view path, bool cache) const {
  const std::string_view magic(kSavedMagic, sizeof(kSavedMagic));
  // It holds what was said.
  KRAFLA_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file,
                          OutputFile::Create(path, magic, NativeFile::Use::kPrivate));
  FileSink sink(*file);
  KRAFLA_RETURN_IF_ERROR(Save(cache, sink));
  KRAFLA_RETURN_IF_ERROR(sink.Flush());
  return file->Commit();
}

Status Session::Restore(const FileSource& in, bool replay, const AppendOptions& options,
                        CutReport* report) {
  KRAFLA_RETURN_IF_ERROR(CheckIdle());
  SavedReader reader(in);
  SavedHeader header;
  KRAFLA_RETURN_IF_ERROR(ReadSavedHeader(reader, &header));
  if (header.model_hash != model_->file().content_hash()) {
    return FileError("{}: saved with another model: hash {:016x}, this model has {:016x}",
                     in.name(), header.model_hash, model_->file().content_hash());
  }
  if (header.arithmetic != KRAFLA_ARITHMETIC && !replay) {
    return UnsupportedError(
        "{}: saved with arithmetic {}, this library has {} (replay reads its "
        "ids again)",
        in.name(), header.arithmetic, KRAFLA_ARITHMETIC);
  }
  if (header.n_ids > static_cast<uint64_t>(options_.context)) {
    return ContextError("{}: {} tokens, the session's context has {}", in.name(), header.n_ids,
                        options_.context);
  }
  if ((header.flags & kSavedCache) != 0 && !replay) {
    KRAFLA_RETURN_IF_ERROR(RestoreCache(header, reader));
    if (report != nullptr) *report = {length_, length_, 0};
    return OkStatus();
  }
  std::vector<int32_t> ids(static_cast<size_t>(header.n_ids));
  KRAFLA_RETURN_IF_ERROR(reader.Read(ids.data(), ids.size() * sizeof(int32_t)));
  KRAFLA_RETURN_IF_ERROR(reader.Finish());
  return Edit(ids, options, report);
}

Status Session::RestoreCache(const SavedHeader& header, SavedReader& in) {
  const std::string& name = in.source().name();
  if (header.kv != static_cast<int32_t>(options_.kv)) {
    return UnsupportedError(
        "{}: a cache of kind {}, the session's is {} (replay reads its ids "
        "again)",
        name, header.kv, static_cast<int32_t>(options_.kv));
  }
  if (header.context != options_.context && AnglesFollowContext(model_->config())) {
    return UnsupportedError(
        "{}: a cache in a context of {}, the session's is {}, and this model's "
        "angles depend on it (replay reads its ids again)",
        name, header.context, options_.context);
  }
  const auto length = static_cast<int64_t>(header.n_ids);
  const size_t n_vocab = model_->network().shape().n_vocab;
  if (header.state_bytes != state_.saved_bytes(length) ||
      (header.n_logits != 0 && header.n_logits != n_vocab)) {
    return FileError("{}: {} bytes of state and {} logits, want {} and {}", name,
                     header.state_bytes, header.n_logits, state_.saved_bytes(length), n_vocab);
  }
  std::vector<int32_t> ids;
  ids.reserve(ids_.capacity());
  ids.resize(static_cast<size_t>(length));
  KRAFLA_RETURN_IF_ERROR(in.Read(ids.data(), ids.size() * sizeof(int32_t)));
  KRAFLA_RETURN_IF_ERROR(CheckVocabulary(ids));
  KRAFLA_ASSIGN_OR_RETURN(State trial, state_.Trial(0));
  KRAFLA_RETURN_IF_ERROR(trial.Load(length, in));
  float* row = logits_row(1 - current_);
  KRAFLA_RETURN_IF_ERROR(in.Read(row, static_cast<size_t>(header.n_logits) * sizeof(float)));
  KRAFLA_RETURN_IF_ERROR(in.Finish());
  state_ = std::move(trial);
  ids_ = std::move(ids);
  length_ = length;
  current_ = 1 - current_;
  logits_ = {row, static_cast<size_t>(header.n_logits)};
  snapshots_.Cut(0);
  snapshots_.Keep(length_, state_.committed(), logits_, /*spaced=*/false);
  return OkStatus();
}

}  // namespace krafla
