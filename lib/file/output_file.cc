// The file is synced before it gets its name, so that the name never points at missing data after a
// power cut.
#include "lib/file/output_file.h"

namespace krafla {

OutputFile::OutputFile(std::string_view path) : path_(path) {}

OutputFile::~OutputFile() {
  if (!keep_) file_.Remove();
}

namespace {

Status CheckOutput(std::string_view path) {
  if (path.empty() || path.find('\0') != std::string_view::npos) {
    return ArgumentError("output: not a path");
  }
  if (!IsOtherThanFile(std::string(path))) return OkStatus();
  return IoError("{}: exists and is not a regular file", path);
}

}  // namespace

Status CheckReplaces(std::string_view path, std::string_view begins) {
  const std::string name(path);
  if (StampOf(name).bytes == 0) return OkStatus();  // none, or empty
  KRAFLA_ASSIGN_OR_RETURN(const NativeFile file, NativeFile::Open(name, NativeFile::Use::kRead));
  std::string found(begins.size(), '\0');
  KRAFLA_ASSIGN_OR_RETURN(const size_t got, file.ReadSome(0, found.data(), found.size()));
  if (std::string_view(found).substr(0, got) == begins) return OkStatus();
  return ArgumentError("{}: a file of another kind has this name, it is not replaced", path);
}

StatusOr<std::unique_ptr<OutputFile>> OutputFile::Create(std::string_view path,
                                                         std::string_view begins,
                                                         NativeFile::Use use) {
  KRAFLA_RETURN_IF_ERROR(CheckOutput(path));
  if (!begins.empty()) KRAFLA_RETURN_IF_ERROR(CheckReplaces(path, begins));
  const std::string name = FormatText("{}.partial-{}", path, ProcessId());
  // One of that name was left by a killed process of the same id.
  // The object comes first: a file that was made must have an owner that removes it.
  std::unique_ptr<OutputFile> made(new OutputFile(path));
  KRAFLA_ASSIGN_OR_RETURN(made->file_, NativeFile::Open(name, use));
  return made;
}

StatusOr<std::unique_ptr<OutputFile>> OutputFile::OpenPartial(std::string_view path) {
  KRAFLA_RETURN_IF_ERROR(CheckOutput(path));
  std::unique_ptr<OutputFile> made(new OutputFile(path));
  KRAFLA_ASSIGN_OR_RETURN(made->file_,
                          NativeFile::Open(PartialName(path), NativeFile::Use::kPartial));
  return made;
}

Status OutputFile::WriteAt(uint64_t offset, const void* data, size_t n) const {
  if (!file_.is_open()) return StateError("{}: already complete", path_);
  const auto* from = static_cast<const char*>(data);
  while (n > 0) {
    KRAFLA_ASSIGN_OR_RETURN(const size_t done, file_.WriteSome(offset, from, n));
    from += done;
    offset += done;
    n -= done;
  }
  return OkStatus();
}

Status OutputFile::SyncData() const { return file_.SyncData(); }

Status OutputFile::ReadAt(uint64_t offset, void* out, size_t n) const {
  auto* to = static_cast<char*>(out);
  while (n > 0) {
    KRAFLA_ASSIGN_OR_RETURN(const size_t got, file_.ReadSome(offset, to, n));
    if (got == 0) return IoError("{}: reading at {}: it ends there", file_.name(), offset);
    to += got;
    offset += got;
    n -= got;
  }
  return OkStatus();
}

StatusOr<uint64_t> OutputFile::Size() const { return file_.Size(); }

Status OutputFile::SetSize(uint64_t bytes) {
  if (!file_.is_open()) return StateError("{}: already complete", path_);
  return file_.SetSize(bytes);
}

Status OutputFile::Commit() {
  if (!file_.is_open()) return StateError("{}: already complete", path_);
  KRAFLA_RETURN_IF_ERROR(file_.Sync());
  return file_.MoveTo(path_);
}

std::string PartialName(std::string_view path) { return FormatText("{}.partial", path); }

}  // namespace krafla
