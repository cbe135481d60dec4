// Windows 10 and later. What one process reads, others may read, write and rename (as on POSIX);
// what it writes is locked by its share mode. A file that is mapped cannot be replaced or removed:
// that is the system's rule, and an error says so. Reads and writes carry their offset, so threads
// share a handle; the caller's own handle is opened anew, since a shared one would move its place.
#include <windows.h>

#include <algorithm>

#include "lib/base/system_error.h"
#include "lib/base/wide_text.h"
#include "lib/file/native_file.h"

namespace krafla {
namespace {

constexpr size_t kMostAtOnce = size_t{1} << 30;
constexpr DWORD kShareAll = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

HANDLE AsHandle(intptr_t handle) { return reinterpret_cast<HANDLE>(handle); }

bool NamesNothing(DWORD error) {
  return error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND ||
         error == ERROR_INVALID_NAME || error == ERROR_BAD_NETPATH || error == ERROR_BAD_PATHNAME;
}

bool IsFolder(const std::string& path) {
  const DWORD attributes = GetFileAttributesW(WidePath(path).c_str());
  return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
}

Status CheckRegular(HANDLE handle, const std::string& name) {
  // A handle that is none has an unknown type too.
  if (GetFileType(handle) == FILE_TYPE_DISK) return OkStatus();
  return IoError("{}: not a regular file", name);
}

std::string FolderOf(std::string_view path) {
  const size_t slash = path.find_last_of("/\\:");
  if (slash == std::string_view::npos) return ".";
  return std::string(path.substr(0, slash + 1));
}

OVERLAPPED At(uint64_t offset) {
  OVERLAPPED at{};
  at.Offset = static_cast<DWORD>(offset);
  at.OffsetHigh = static_cast<DWORD>(offset >> 32);
  return at;
}

// What tells one of several reads of a handle that it has ended.
struct Event {
  explicit Event(bool wanted)
      : handle(wanted ? CreateEventW(nullptr, TRUE, FALSE, nullptr) : nullptr) {}
  ~Event() {
    if (handle != nullptr) CloseHandle(handle);
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  const HANDLE handle;
};

// Facts of what a path names, links followed.
bool GetFacts(const std::string& path, BY_HANDLE_FILE_INFORMATION* info,
              FILE_STANDARD_INFO* standard) {
  const HANDLE handle = CreateFileW(WidePath(path).c_str(), FILE_READ_ATTRIBUTES, kShareAll,
                                    nullptr, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr);
  if (handle == INVALID_HANDLE_VALUE) return false;
  const bool known =
      GetFileType(handle) == FILE_TYPE_DISK && GetFileInformationByHandle(handle, info) != 0 &&
      GetFileInformationByHandleEx(handle, FileStandardInfo, standard, sizeof(*standard)) != 0;
  CloseHandle(handle);
  return known;
}

uint64_t Join(DWORD high, DWORD low) { return static_cast<uint64_t>(high) << 32 | low; }

Status CheckPartial(HANDLE handle, const std::string& name) {
  BY_HANDLE_FILE_INFORMATION info;
  if (GetFileInformationByHandle(handle, &info) == 0) {
    return IoError("{}: cannot be opened: {}", name, LastSystemError());
  }
  if ((info.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) == 0 && info.nNumberOfLinks <= 1 &&
      GetFileType(handle) == FILE_TYPE_DISK) {
    return OkStatus();
  }
  return IoError("{}: exists and is not a regular file of one name", name);
}

struct OpenArguments {
  DWORD access;
  DWORD share;
  DWORD creation;
  DWORD flags;
  const char* verb;
};

OpenArguments ArgumentsOf(NativeFile::Use use) {
  constexpr DWORD kReadWrite = GENERIC_READ | GENERIC_WRITE;
  switch (use) {
    case NativeFile::Use::kNew:
    case NativeFile::Use::kPrivate:
      return {kReadWrite, FILE_SHARE_READ, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, "created"};
    case NativeFile::Use::kPartial:  // a link is opened itself, to be refused
      return {kReadWrite, FILE_SHARE_READ, OPEN_ALWAYS, FILE_FLAG_OPEN_REPARSE_POINT, "opened"};
    case NativeFile::Use::kTemporary:
      return {kReadWrite | DELETE, kShareAll, OPEN_EXISTING, FILE_FLAG_DELETE_ON_CLOSE, "opened"};
    default:
      return {GENERIC_READ, kShareAll, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, "opened"};
  }
}

Status OpenError(const std::string& name, const OpenArguments& arguments, NativeFile::Use use) {
  const DWORD error = GetLastError();
  const std::string reason = LastSystemError();
  if (use == NativeFile::Use::kRead && NamesNothing(error)) {
    return NotFoundError("{}: no such file", name);
  }
  if (use == NativeFile::Use::kPartial && error == ERROR_SHARING_VIOLATION) {
    return IoError("{}: another process is writing it", name);
  }
  if (error == ERROR_ACCESS_DENIED && IsFolder(name)) {
    return IoError("{}: not a regular file", name);
  }
  return IoError("{}: cannot be {}: {}", name, arguments.verb, reason);
}

}  // namespace

Mapping::~Mapping() {
  if (base_ != nullptr) UnmapViewOfFile(base_);
}

StatusOr<NativeFile> NativeFile::Open(std::string_view path, Use use) {
  NativeFile file;
  file.name_ = path;
  if (path.find('\0') != std::string_view::npos) return ArgumentError("path: has a zero byte");
  const std::wstring wide = WidePath(path);
  if (use == Use::kNew || use == Use::kPrivate) DeleteFileW(wide.c_str());
  const OpenArguments arguments = ArgumentsOf(use);
  const HANDLE handle = CreateFileW(wide.c_str(), arguments.access, arguments.share, nullptr,
                                    arguments.creation, arguments.flags, nullptr);
  if (handle == INVALID_HANDLE_VALUE) return OpenError(file.name_, arguments, use);
  file.handle_ = reinterpret_cast<intptr_t>(handle);
  if (use == Use::kRead) KRAFLA_RETURN_IF_ERROR(CheckRegular(handle, file.name_));
  if (use == Use::kPartial) KRAFLA_RETURN_IF_ERROR(CheckPartial(handle, file.name_));
  return file;
}

StatusOr<NativeFile> NativeFile::Duplicate(int32_t handle) {
  NativeFile file;
  file.name_ = FormatText("file handle {}", handle);
  // Handles have 32 significant bits, their sign extended.
  const HANDLE theirs = AsHandle(handle);
  KRAFLA_RETURN_IF_ERROR(CheckRegular(theirs, file.name_));
  HANDLE ours = ReOpenFile(theirs, GENERIC_READ, kShareAll, 0);
  if (ours == INVALID_HANDLE_VALUE) {  // opened by the caller with a share mode that forbids it
    const HANDLE process = GetCurrentProcess();
    if (DuplicateHandle(process, theirs, process, &ours, GENERIC_READ, FALSE, 0) == 0) {
      return IoError("{}: {}", file.name_, LastSystemError());
    }
  }
  file.handle_ = reinterpret_cast<intptr_t>(ours);
  return file;
}

StatusOr<NativeFile> NativeFile::Reopen(bool direct) const {
  NativeFile file;
  file.name_ = name_;
  // Reads of a handle that is not for overlapped ones wait for each other.
  const DWORD flags = FILE_FLAG_OVERLAPPED | (direct ? FILE_FLAG_NO_BUFFERING : 0);
  const HANDLE handle = ReOpenFile(AsHandle(handle_), GENERIC_READ, kShareAll, flags);
  if (handle == INVALID_HANDLE_VALUE) {
    const std::string reason = LastSystemError();
    if (direct) return UnsupportedError("{}: past the system's cache: {}", name_, reason);
    return IoError("{}: {}", name_, reason);
  }
  file.overlapped_ = true;
  file.handle_ = reinterpret_cast<intptr_t>(handle);
  return file;
}

void NativeFile::WillNeed(uint64_t, uint64_t) const {}

void NativeFile::Close() {
  if (is_open()) CloseHandle(AsHandle(std::exchange(handle_, kNone)));
}

void NativeFile::Remove() {
  if (name_.empty()) return;
  Close();  // first: its share mode forbids the rest
  DeleteFileW(WidePath(name_).c_str());
}

Status NativeFile::MoveTo(const std::string& path) {
  const std::wstring from = WidePath(name_);
  const std::wstring to = WidePath(path);
  Close();  // its share mode forbids renaming
  if (MoveFileExW(from.c_str(), to.c_str(), MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH)) {
    name_.clear();
    return OkStatus();
  }
  return IoError("{}: renaming to {}: {}", name_, path, LastSystemError());
}

StatusOr<uint64_t> NativeFile::Size() const {
  LARGE_INTEGER size;
  if (GetFileSizeEx(AsHandle(handle_), &size) == 0) {
    return IoError("{}: {}", name_, LastSystemError());
  }
  return static_cast<uint64_t>(size.QuadPart);
}

Status NativeFile::SetSize(uint64_t bytes) const {
  FILE_END_OF_FILE_INFO end;
  end.EndOfFile.QuadPart = static_cast<LONGLONG>(bytes);
  if (SetFileInformationByHandle(AsHandle(handle_), FileEndOfFileInfo, &end, sizeof(end)) != 0) {
    return OkStatus();
  }
  return IoError("{}: size {}: {}", name_, bytes, LastSystemError());
}

StatusOr<size_t> NativeFile::ReadSome(uint64_t offset, void* out, size_t n) const {
  const HANDLE handle = AsHandle(handle_);
  OVERLAPPED at = At(offset);
  DWORD got = 0;
  const auto most = static_cast<DWORD>(std::min(n, kMostAtOnce));
  const Event ended(overlapped_);
  at.hEvent = ended.handle;
  if (overlapped_ && ended.handle == nullptr) return IoError("{}: {}", name_, LastSystemError());
  bool done = ReadFile(handle, out, most, &got, &at) != 0;
  if (!done && GetLastError() == ERROR_IO_PENDING) {
    done = GetOverlappedResult(handle, &at, &got, TRUE) != 0;
  }
  if (done) return got;
  if (GetLastError() == ERROR_HANDLE_EOF) return 0;
  return IoError("{}: reading at {}: {}", name_, offset, LastSystemError());
}

StatusOr<size_t> NativeFile::WriteSome(uint64_t offset, const void* data, size_t n) const {
  OVERLAPPED at = At(offset);
  DWORD done = 0;
  const auto most = static_cast<DWORD>(std::min(n, kMostAtOnce));
  if (WriteFile(AsHandle(handle_), data, most, &done, &at) != 0) return done;
  return IoError("{}: writing at {}: {}", name_, offset, LastSystemError());
}

Status NativeFile::SyncData() const { return Sync(); }

Status NativeFile::Sync() const {
  if (FlushFileBuffers(AsHandle(handle_)) != 0) return OkStatus();
  return IoError("{}: flushing: {}", name_, LastSystemError());
}

StatusOr<Mapping> NativeFile::Map(uint64_t offset, size_t size, bool writable) const {
  SYSTEM_INFO system;
  GetSystemInfo(&system);
  const auto before = static_cast<size_t>(offset % system.dwAllocationGranularity);
  const HANDLE section = CreateFileMappingW(
      AsHandle(handle_), nullptr, writable ? PAGE_READWRITE : PAGE_READONLY, 0, 0, nullptr);
  if (section == nullptr) {
    return IoError("{}: {} bytes cannot be mapped: {}", name_, size, LastSystemError());
  }
  const OVERLAPPED at = At(offset - before);
  void* base = MapViewOfFile(section, writable ? FILE_MAP_READ | FILE_MAP_WRITE : FILE_MAP_READ,
                             at.OffsetHigh, at.Offset, size + before);
  const std::string reason = base == nullptr ? LastSystemError() : std::string();
  const bool memory = base == nullptr && GetLastError() == ERROR_NOT_ENOUGH_MEMORY;
  CloseHandle(section);  // the view keeps it
  if (memory) return MemoryError("{}: {} bytes cannot be mapped: {}", name_, size, reason);
  if (base == nullptr) return IoError("{}: {} bytes cannot be mapped: {}", name_, size, reason);
  Mapping mapping;
  mapping.base_ = base;
  mapping.size_ = size + before;
  mapping.data_ = static_cast<std::byte*>(base) + before;
  return mapping;
}

bool IsOtherThanFile(const std::string& path) {
  BY_HANDLE_FILE_INFORMATION info;
  FILE_STANDARD_INFO standard;
  if (GetFacts(path, &info, &standard)) {
    return (info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
  }
  // A device ("NUL") is there, but has no facts.
  return GetFileAttributesW(WidePath(path).c_str()) != INVALID_FILE_ATTRIBUTES;
}

int64_t ProcessId() { return GetCurrentProcessId(); }

namespace {

FileStamp ToStamp(const BY_HANDLE_FILE_INFORMATION& info, const FILE_STANDARD_INFO& standard) {
  const FILETIME& modified = info.ftLastWriteTime;  // in units of 100 ns
  return {Join(info.nFileSizeHigh, info.nFileSizeLow),
          Join(modified.dwHighDateTime, modified.dwLowDateTime) * 100,
          Join(info.nFileIndexHigh, info.nFileIndexLow),
          static_cast<uint64_t>(standard.AllocationSize.QuadPart)};
}

}  // namespace

FileStamp StampOf(const std::string& path) {
  BY_HANDLE_FILE_INFORMATION info;
  FILE_STANDARD_INFO standard;
  return GetFacts(path, &info, &standard) ? ToStamp(info, standard) : FileStamp{};
}

FileStamp NativeFile::Stamp() const {
  BY_HANDLE_FILE_INFORMATION info;
  FILE_STANDARD_INFO standard;
  const bool known = GetFileInformationByHandle(AsHandle(handle_), &info) != 0 &&
                     GetFileInformationByHandleEx(AsHandle(handle_), FileStandardInfo, &standard,
                                                  sizeof(standard)) != 0;
  return known ? ToStamp(info, standard) : FileStamp{};
}

StatusOr<uint64_t> FreeDiskBytes(std::string_view path) {
  const std::string folder = FolderOf(path);
  ULARGE_INTEGER free;
  if (GetDiskFreeSpaceExW(WidePath(folder).c_str(), &free, nullptr, nullptr) != 0) {
    return free.QuadPart;
  }
  if (NamesNothing(GetLastError())) return NotFoundError("{}: no such folder", folder);
  return IoError("{}: {}", folder, LastSystemError());
}

bool SameFile(const std::string& a, const std::string& b) {
  BY_HANDLE_FILE_INFORMATION info_a;
  BY_HANDLE_FILE_INFORMATION info_b;
  FILE_STANDARD_INFO standard;
  return GetFacts(a, &info_a, &standard) && GetFacts(b, &info_b, &standard) &&
         info_a.dwVolumeSerialNumber == info_b.dwVolumeSerialNumber &&
         info_a.nFileIndexHigh == info_b.nFileIndexHigh &&
         info_a.nFileIndexLow == info_b.nFileIndexLow;
}

}  // namespace krafla
