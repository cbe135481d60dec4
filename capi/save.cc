// krafla_session_save* and krafla_session_restore*: lib/session over the caller's buffer or a file.
#include <cstring>

#include "capi/guard.h"
#include "capi/handles.h"
#include "capi/structs.h"
#include "lib/file/source.h"

using namespace krafla;  // NOLINT: the definitions below are the global C functions
using capi::Guard;
using capi::SessionUse;

namespace {

class BufferSink final : public ByteSink {
 public:
  explicit BufferSink(void* data) : at_(static_cast<std::byte*>(data)) {}
  Status Write(const void* data, size_t n) override {
    if (n != 0) std::memcpy(at_, data, n);
    at_ += n;
    return OkStatus();
  }

 private:
  std::byte* at_;
};

StatusOr<bool> WantsCache(const krafla_save_options* options) {
  krafla_save_options given;
  KRAFLA_RETURN_IF_ERROR(capi::ReadOptions(options, "krafla_save_options", &given));
  if (given.content != KRAFLA_SAVE_CACHE && given.content != KRAFLA_SAVE_TOKENS) {
    return ArgumentError("krafla_save_options: content: got {}, want KRAFLA_SAVE_*", given.content);
  }
  return given.content == KRAFLA_SAVE_CACHE;
}

Status Restore(krafla_session* session, const FileSource& in,
               const krafla_restore_options* options) {
  krafla_restore_options given;
  KRAFLA_RETURN_IF_ERROR(capi::ReadOptions(options, "krafla_restore_options", &given));
  AppendOptions append;
  append.on_progress = given.on_progress;
  append.user = given.user;
  SessionUse use(session);
  KRAFLA_RETURN_IF_ERROR(use.status());
  return session->session->Restore(in, given.replay != 0, append, &session->kept);
}

}  // namespace

extern "C" {

int32_t krafla_session_save(const krafla_session* session, void* data, size_t capacity,
                            size_t* size, const krafla_save_options* options) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(session);
    KRAFLA_CHECK_POINTER(size);
    if (data == nullptr && capacity != 0) {
      return ArgumentError("data: got NULL with capacity {}, want a pointer", capacity);
    }
    KRAFLA_ASSIGN_OR_RETURN(const bool cache, WantsCache(options));
    SessionUse use(session);
    KRAFLA_RETURN_IF_ERROR(use.status());
    const uint64_t needed = session->session->saved_bytes(cache);
    *size = static_cast<size_t>(needed);
    if (needed > capacity) return BufferError("data: got {} bytes, want {}", capacity, needed);
    BufferSink sink(data);
    return session->session->Save(cache, sink);
  });
}

int32_t krafla_session_save_path(const krafla_session* session, const char* path,
                                 size_t path_length, const krafla_save_options* options) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(session);
    KRAFLA_ASSIGN_OR_RETURN(std::string_view name, capi::ReadString(path, path_length, "path"));
    KRAFLA_ASSIGN_OR_RETURN(const bool cache, WantsCache(options));
    SessionUse use(session);
    KRAFLA_RETURN_IF_ERROR(use.status());
    return session->session->SaveAs(name, cache);
  });
}

int32_t krafla_session_restore(krafla_session* session, const void* data, size_t size,
                               const krafla_restore_options* options) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(session);
    KRAFLA_CHECK_POINTER(data);
    return Restore(session, *OpenMemory(data, size), options);
  });
}

int32_t krafla_session_restore_path(krafla_session* session, const char* path, size_t path_length,
                                    const krafla_restore_options* options) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(session);
    KRAFLA_ASSIGN_OR_RETURN(std::string_view name, capi::ReadString(path, path_length, "path"));
    KRAFLA_ASSIGN_OR_RETURN(const std::unique_ptr<FileSource> source, OpenForReading(name));
    return Restore(session, *source, options);
  });
}

}  // extern "C"
