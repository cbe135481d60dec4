// krafla_session_*, but for generation (generate.cc). Every call but cancel takes the busy flag: a
// second thread gets KRAFLA_E_STATE instead of a race. What the last append or cut reused is kept
// in the handle.
#include <vector>

#include "capi/generation.h"
#include "capi/guard.h"
#include "capi/handles.h"
#include "capi/structs.h"
#include "capi/worker.h"

using namespace krafla;  // NOLINT: the definitions below are the global C functions
using capi::Busy;
using capi::Guard;
using capi::ReadAppendOptions;
using capi::ReadIds;
using capi::SessionUse;

namespace krafla::capi {

StatusOr<std::span<const int32_t>> ReadIds(const int32_t* ids, size_t n) {
  KRAFLA_RETURN_IF_ERROR(capi::CheckArray(ids, n, "ids"));
  return std::span<const int32_t>(ids, n);
}

StatusOr<AppendOptions> ReadAppendOptions(const krafla_append_options* options) {
  krafla_append_options given;
  KRAFLA_RETURN_IF_ERROR(capi::ReadOptions(options, "krafla_append_options", &given));
  if (given.logits < KRAFLA_LOGITS_LAST || given.logits > KRAFLA_LOGITS_NONE) {
    return ArgumentError("krafla_append_options: logits: got {}, want KRAFLA_LOGITS_*",
                         given.logits);
  }
  if (given.logits == KRAFLA_LOGITS_ALL && given.on_logits == nullptr) {
    return ArgumentError(
        "krafla_append_options: on_logits: got NULL, want a function for KRAFLA_LOGITS_ALL");
  }
  AppendOptions inner;
  inner.logits = static_cast<WantLogits>(given.logits);
  inner.on_logits = given.on_logits;
  inner.on_hidden = given.on_hidden;
  inner.on_progress = given.on_progress;
  inner.user = given.user;
  return inner;
}

}  // namespace krafla::capi

namespace {

// Checks what the caller gave and hands it to `read`: Session::Append or Session::Begin.
Status Read(krafla_session* session, const int32_t* ids, size_t n,
            const krafla_append_options* options,
            Status (Session::*read)(std::span<const int32_t>, const AppendOptions&)) {
  KRAFLA_CHECK_POINTER(session);
  KRAFLA_ASSIGN_OR_RETURN(const std::span<const int32_t> span, ReadIds(ids, n));
  KRAFLA_ASSIGN_OR_RETURN(const AppendOptions inner, ReadAppendOptions(options));
  SessionUse use(session);
  KRAFLA_RETURN_IF_ERROR(use.status());
  const int64_t before = session->session->length();
  KRAFLA_RETURN_IF_ERROR((session->session.get()->*read)(span, inner));
  session->NoteAppend(before);
  return OkStatus();
}

}  // namespace

krafla_session::krafla_session() = default;
krafla_session::~krafla_session() { worker.reset(); }

extern "C" {

int32_t krafla_session_create(krafla_session** out, const krafla_model* model,
                              const krafla_session_options* options) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(out);
    KRAFLA_CHECK_POINTER(model);
    krafla_session_options given;
    KRAFLA_RETURN_IF_ERROR(capi::ReadOptions(options, "krafla_session_options", &given));
    KRAFLA_ASSIGN_OR_RETURN(const SessionOptions inner, capi::ToSessionOptions(given));
    auto session = std::make_unique<krafla_session>();
    session->shared = model->shared;
    KRAFLA_ASSIGN_OR_RETURN(session->session, Session::Create(model->shared->model, inner));
    model->shared->model->runtime()->Log(
        LogLevel::kDebug, FormatText("session: {} positions", session->session->context()));
    *out = session.release();
    return OkStatus();
  });
}

void krafla_session_free(krafla_session* session) { delete session; }

int32_t krafla_session_get_info(const krafla_session* session, krafla_session_info* info) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(session);
    KRAFLA_RETURN_IF_ERROR(capi::CheckInfo(info, "krafla_session_info"));
    Busy busy(session->busy);
    KRAFLA_RETURN_IF_ERROR(busy.status());
    krafla_session_info filled{};
    filled.length = session->session->length();
    filled.context = session->session->context();
    filled.reused = session->kept.reused;
    filled.recomputed = session->kept.recomputed;
    filled.kv_bytes = session->session->kv_bytes();
    capi::WriteInfo(filled, info);
    return OkStatus();
  });
}

int32_t krafla_session_get_ids(const krafla_session* session, const int32_t** ids, size_t* n) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(session);
    KRAFLA_CHECK_POINTER(ids);
    KRAFLA_CHECK_POINTER(n);
    Busy busy(session->busy);
    KRAFLA_RETURN_IF_ERROR(busy.status());
    *ids = session->session->ids().data();
    *n = session->session->ids().size();
    return OkStatus();
  });
}

int32_t krafla_session_get_logits(const krafla_session* session, const float** row, size_t* n) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(session);
    KRAFLA_CHECK_POINTER(row);
    KRAFLA_CHECK_POINTER(n);
    Busy busy(session->busy);
    KRAFLA_RETURN_IF_ERROR(busy.status());
    const std::span<const float> logits = session->session->logits();
    if (logits.empty())
      return StateError("logits: the session has none: append with KRAFLA_LOGITS_LAST first");
    *row = logits.data();
    *n = logits.size();
    return OkStatus();
  });
}

int32_t krafla_session_append(krafla_session* session, const int32_t* ids, size_t n,
                              const krafla_append_options* options) {
  return Guard([&] { return Read(session, ids, n, options, &Session::Append); });
}

int32_t krafla_session_append_text(krafla_session* session, const char* text, size_t length,
                                   uint32_t flags, const krafla_append_options* options) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(session);
    KRAFLA_ASSIGN_OR_RETURN(std::string_view string, capi::ReadString(text, length, "text"));
    if (flags > (KRAFLA_ENCODE_SPECIAL | KRAFLA_ENCODE_PARSE)) {
      return UnsupportedError("flags: got {:#x}, want KRAFLA_ENCODE_*", flags);
    }
    KRAFLA_ASSIGN_OR_RETURN(const auto tokenizer, session->shared->tokenizer());
    std::vector<int32_t> ids;
    KRAFLA_RETURN_IF_ERROR(tokenizer->Encode(string, (flags & KRAFLA_ENCODE_SPECIAL) != 0,
                                             (flags & KRAFLA_ENCODE_PARSE) != 0, &ids));
    return Read(session, ids.data(), ids.size(), options, &Session::Append);
  });
}

int32_t krafla_session_begin(krafla_session* session, const int32_t* ids, size_t n,
                             const krafla_append_options* options) {
  return Guard([&] { return Read(session, ids, n, options, &Session::Begin); });
}

int32_t krafla_session_step(krafla_session* session, int64_t max_us) {
  bool done = true;
  const int32_t code = Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(session);
    Busy busy(session->busy);
    KRAFLA_RETURN_IF_ERROR(busy.status());
    if (session->generation == nullptr) {
      KRAFLA_ASSIGN_OR_RETURN(done, session->session->Step(max_us));
      return OkStatus();
    }
    auto stepped = session->generation->Step(max_us);
    session->result = session->generation->result();
    KRAFLA_ASSIGN_OR_RETURN(done, std::move(stepped));
    if (done) session->generation.reset();
    return OkStatus();
  });
  return code == KRAFLA_OK && !done ? KRAFLA_PAUSED : code;
}

int32_t krafla_session_abandon(krafla_session* session) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(session);
    Busy busy(session->busy);
    KRAFLA_RETURN_IF_ERROR(busy.status());
    if (session->generation != nullptr) session->generation->Abandon();
    session->generation.reset();
    session->session->Abandon();
    return OkStatus();
  });
}

int32_t krafla_session_append_batch(krafla_session* const* sessions, const int32_t* const* ids,
                                    const size_t* n_ids, size_t n_sessions) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(sessions);
    KRAFLA_CHECK_POINTER(ids);
    KRAFLA_CHECK_POINTER(n_ids);
    KRAFLA_RETURN_IF_ERROR(capi::CheckArray(sessions, n_sessions, "sessions"));
    std::vector<Session*> inner;
    std::vector<std::span<const int32_t>> spans;
    std::vector<std::unique_ptr<SessionUse>> held;
    for (size_t i = 0; i < n_sessions; ++i) {
      if (sessions[i] == nullptr) return ArgumentError("sessions[{}]: got NULL, want a session", i);
      KRAFLA_ASSIGN_OR_RETURN(const std::span<const int32_t> span, ReadIds(ids[i], n_ids[i]));
      held.push_back(std::make_unique<SessionUse>(sessions[i]));
      KRAFLA_RETURN_IF_ERROR(held.back()->status());  // also a session named twice
      inner.push_back(sessions[i]->session.get());
      spans.push_back(span);
    }
    KRAFLA_RETURN_IF_ERROR(Session::AppendBatch(inner, spans));
    for (size_t i = 0; i < n_sessions; ++i) {
      sessions[i]->NoteAppend(sessions[i]->session->length() - static_cast<int64_t>(n_ids[i]));
    }
    return OkStatus();
  });
}

int32_t krafla_session_truncate(krafla_session* session, int64_t length) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(session);
    SessionUse use(session);
    KRAFLA_RETURN_IF_ERROR(use.status());
    return session->session->Truncate(length, &session->kept);
  });
}

int32_t krafla_session_edit(krafla_session* session, const int32_t* ids, size_t n,
                            const krafla_append_options* options) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(session);
    KRAFLA_ASSIGN_OR_RETURN(const std::span<const int32_t> span, ReadIds(ids, n));
    KRAFLA_ASSIGN_OR_RETURN(const AppendOptions inner, ReadAppendOptions(options));
    SessionUse use(session);
    KRAFLA_RETURN_IF_ERROR(use.status());
    return session->session->Edit(span, inner, &session->kept);
  });
}

int32_t krafla_session_fork(krafla_session** out, const krafla_session* session) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(out);
    KRAFLA_CHECK_POINTER(session);
    SessionUse use(session);
    KRAFLA_RETURN_IF_ERROR(use.status());
    auto fork = std::make_unique<krafla_session>();
    fork->shared = session->shared;
    KRAFLA_ASSIGN_OR_RETURN(fork->session, session->session->Fork(0));
    fork->NoteAppend(fork->session->length());
    *out = fork.release();
    return OkStatus();
  });
}

int32_t krafla_session_cancel(krafla_session* session) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(session);
    session->session->Cancel();
    return OkStatus();
  });
}

}  // extern "C"
