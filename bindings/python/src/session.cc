// Session: everything that computes runs without the GIL; signals are looked at between slices, or
// as work tells of its progress.
#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "krafla/krafla_batch.h"
#include "reply.h"
#include "sampler.h"

namespace krafla_python {
namespace {

constexpr int64_t kSliceUs = 20000;

// The progress of one call: what a signal's handler raises ends it.
struct Watch {
  std::exception_ptr thrown;

  static int Look(void* user, int64_t, int64_t) {
    const py::gil_scoped_acquire gil;
    try {
      CheckSignals();
      return 0;
    } catch (...) {
      static_cast<Watch*>(user)->thrown = std::current_exception();
      return 1;
    }
  }
};

// A session with what a generation in progress has said and not yet been asked for.
class PySession {
 public:
  PySession(std::shared_ptr<krafla::Model> model, int64_t context, int32_t kv,
            std::optional<int64_t> reserve, int64_t batch)
      : model_(std::move(model)) {
    krafla_session_options options = KRAFLA_SESSION_OPTIONS_INIT;
    options.context = context;
    options.kv = kv;
    options.batch = batch;
    options.has_reserve = reserve ? 1 : 0;
    options.reserve = reserve.value_or(0);
    const py::gil_scoped_release release;
    session_ = std::make_shared<krafla::Session>(*model_, options);
  }
  PySession(std::shared_ptr<krafla::Model> model, krafla::Session session)
      : model_(std::move(model)), session_(std::make_shared<krafla::Session>(std::move(session))) {}

  const std::shared_ptr<krafla::Session>& shared() const { return session_; }
  krafla::Session& get() {
    if (!session_) throw krafla::Error(KRAFLA_E_STATE, "session: it is closed");
    return *session_;
  }
  // work(session, watch) without the GIL. close() may come meanwhile: the session stays until the
  // end.
  template <typename Work>
  auto Call(Work work) {
    get();
    const std::shared_ptr<krafla::Session> session = session_;
    Watch watch;
    try {
      const py::gil_scoped_release release;
      return work(*session, &watch);
    } catch (const krafla::Error&) {
      if (watch.thrown) std::rethrow_exception(watch.thrown);
      throw;
    }
  }
  // work(session, options) that reads ids.
  template <typename Work>
  auto Read(Work work) {
    return Call([&](krafla::Session& session, Watch* watch) {
      krafla_append_options options = KRAFLA_APPEND_OPTIONS_INIT;
      options.on_progress = Watch::Look;
      options.user = watch;
      return work(session, options);
    });
  }
  std::unique_ptr<PySession> Fork() {
    return Call([&](krafla::Session& session, Watch*) {
      return std::make_unique<PySession>(model_, session.Fork());
    });
  }
  size_t n_vocab() const { return static_cast<size_t>(model_->info().n_vocab); }
  size_t n_embd() const { return static_cast<size_t>(model_->info().n_embd); }

  // After Begin: to the end, or abandoned where a signal or a callback raises.
  void Run(const py::object& progress, int64_t total) {
    done_ = 0;
    try {
      do {
        CheckSignals();
        if (!progress.is_none()) progress(done_, total);
      } while (!Slice());
    } catch (...) {
      if (session_) krafla_session_abandon(session_->get());
      throw;
    }
    if (!progress.is_none()) progress(total, total);
  }

  void Append(const std::vector<int32_t>& ids, const py::object& progress) {
    krafla_append_options options = KRAFLA_APPEND_OPTIONS_INIT;
    options.user = &done_;
    options.on_progress = [](void* user, int64_t done, int64_t) {
      *static_cast<int64_t*>(user) = done;
      return 0;
    };
    get().Begin(ids, options);
    Run(progress, static_cast<int64_t>(ids.size()));
  }

  py::array_t<float> Rows(const std::vector<int32_t>& ids, bool hidden) {
    const size_t width = hidden ? n_embd() : n_vocab();
    py::array_t<float> rows({ids.size(), width});
    struct Out {
      float* at;
    } out{rows.mutable_data()};
    krafla_append_options options = KRAFLA_APPEND_OPTIONS_INIT;
    options.user = &out;
    const auto write = [](void* user, int64_t, const float* row, size_t n) -> int {
      auto& target = *static_cast<Out*>(user);
      target.at = std::copy(row, row + n, target.at);
      return 0;
    };
    if (hidden) {
      options.on_hidden = write;
      options.logits = KRAFLA_LOGITS_NONE;
    } else {
      options.on_logits = write;
      options.logits = KRAFLA_LOGITS_ALL;
    }
    get().Begin(ids, options);
    Run(py::none(), static_cast<int64_t>(ids.size()));
    return rows;
  }

  py::array_t<float> Embed(const std::vector<int32_t>& ids, int32_t pool, bool normalize) {
    py::array_t<float> out(std::vector<py::ssize_t>{static_cast<py::ssize_t>(n_embd())});
    float* data = out.mutable_data();
    krafla_embed_options options = KRAFLA_EMBED_OPTIONS_INIT;
    options.pool = pool;
    options.normalize = normalize ? 1 : 0;
    options.on_progress = Watch::Look;
    size_t n = 0;
    Call([&](krafla::Session& session, Watch* watch) {
      options.user = watch;
      krafla::Check(krafla_session_embed(session.get(), ids.data(), ids.size(), &options, data,
                                         n_embd(), &n));
    });
    return out;
  }

  void BeginGenerate(const std::shared_ptr<PySampler>& sampler, int64_t max_tokens,
                     std::vector<std::string> stops, std::vector<int32_t> end_ids, bool ignore_end,
                     bool logprobs, int32_t n_top, bool lookup, PySession* draft,
                     const krafla::Constraint* constraint) {
    krafla_speculation speculation = KRAFLA_SPECULATION_INIT;
    if (lookup) speculation.kind = KRAFLA_SPECULATE_LOOKUP;
    if (draft != nullptr) {
      speculation.kind = KRAFLA_SPECULATE_MODEL;
      speculation.draft = draft->get().get();
    }
    const ReplyOptions reply{max_tokens, std::move(stops), std::move(end_ids), ignore_end, logprobs,
                             n_top,      constraint};
    std::vector<krafla_string> strings;
    krafla_generate_options options = reply.Fill(&strings);
    options.speculation = &speculation;
    options.user = this;
    options.on_token = [](void* user, const krafla_token* token) {
      return static_cast<PySession*>(user)->OnToken(*token);
    };
    logprobs_ = reply.wants_logprobs();
    krafla::Check(krafla_session_begin_generate(get().get(), sampler->sampler.get(), &options));
    sampler_ = sampler;
    tokens_.clear();
    told_ = -1;
    draft_ = draft == nullptr ? nullptr : draft->session_;
    generating_ = true;
  }

  // The next token, or none where the reply has ended.
  std::optional<Token> Next() {
    while (generating_ && tokens_.empty()) {
      try {
        if (SliceToToken()) generating_ = false;
      } catch (const krafla::Error&) {  // cancelled: at once, not at the token's end
        if (session_) Abandon();
        sampler_->Rethrow();
        throw;
      }
      CheckSignals();
    }
    if (tokens_.empty()) return std::nullopt;
    Token token = std::move(tokens_.front());
    tokens_.pop_front();
    return token;
  }
  bool generating() const { return generating_ || !tokens_.empty(); }
  // The token that was given out last is read to its end, so that the session has read all of them;
  // those that a draft brought at once and that were not given out are forgotten.
  void Stop() {
    if (!session_) return;
    while (generating_ && told_ >= session_->info().length) {
      if (Call([](krafla::Session& session, Watch*) { return session.Step(0); })) {
        generating_ = false;
      }
      if (!session_) return;
    }
    Abandon();
    if (!tokens_.empty() && tokens_.front().id >= 0) session_->Truncate(tokens_.front().position);
    tokens_.clear();
  }

  py::bytes Save(bool cache) {
    krafla_save_options options = KRAFLA_SAVE_OPTIONS_INIT;
    options.content = cache ? KRAFLA_SAVE_CACHE : KRAFLA_SAVE_TOKENS;
    size_t size = 0;
    const int32_t code = krafla_session_save(get().get(), nullptr, 0, &size, &options);
    if (code != KRAFLA_E_BUFFER) krafla::Check(code);
    PyObject* bytes = PyBytes_FromStringAndSize(nullptr, static_cast<py::ssize_t>(size));
    if (bytes == nullptr) throw py::error_already_set();
    auto owner = py::reinterpret_steal<py::bytes>(bytes);
    krafla::Check(
        krafla_session_save(get().get(), PyBytes_AS_STRING(bytes), size, &size, &options));
    return owner;
  }

  void Close() {
    if (session_) Abandon();
    session_.reset();
  }

 private:
  void Abandon() {
    generating_ = false;
    krafla_session_abandon(session_->get());
  }
  // Until a token comes, or for a slice. True: the reply has ended.
  bool SliceToToken() {
    return Call([&](krafla::Session& session, Watch*) {
      const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(kSliceUs);
      bool done = false;
      while (!done && tokens_.empty() && std::chrono::steady_clock::now() < end) {
        done = session.Step(0);
      }
      return done;
    });
  }
  bool Slice() {
    return Call([](krafla::Session& session, Watch*) { return session.Step(kSliceUs); });
  }
  int OnToken(const krafla_token& token) {  // without the GIL
    if (token.id >= 0) told_ = token.position;
    tokens_.push_back(KeepToken(token, logprobs_));
    return 0;
  }

  std::shared_ptr<krafla::Model> model_;
  std::shared_ptr<krafla::Session> session_;  // a view of its logits may hold it too
  std::shared_ptr<PySampler> sampler_;        // of the generation
  int64_t done_ = 0;                          // of an append
  std::deque<Token> tokens_;                  // not given out yet
  int64_t told_ = -1;                         // the position of the last token that there was
  std::shared_ptr<krafla::Session> draft_;    // lives as long as a generation with it
  bool generating_ = false;
  bool logprobs_ = false;
};

// A read-only view of the row. It keeps the row's memory, also after close(); the session's next
// call changes what is in it.
py::array LogitsView(const py::object& self) {
  auto& session = self.cast<PySession&>();
  const krafla::Logits row = session.get().logits();
  const py::capsule owner(new std::shared_ptr<krafla::Session>(session.shared()), [](void* held) {
    delete static_cast<std::shared_ptr<krafla::Session>*>(held);
  });
  py::array_t<float> view({row.size}, {sizeof(float)}, row.data, owner);
  view.attr("setflags")(py::arg("write") = false);
  return std::move(view);
}

}  // namespace

void BindSession(py::module_& module) {
  py::class_<Token>(module, "Token")
      .def_readonly("id", &Token::id)
      .def_readonly("text", &Token::text)
      .def_readonly("logprob", &Token::logprob)
      .def_readonly("top", &Token::top)
      .def_readonly("chain_logprob", &Token::chain_logprob)
      .def_readonly("chain_top", &Token::chain_top)
      .def("__repr__", [](const Token& token) {
        return "Token(id=" + std::to_string(token.id) +
               ", text=" + py::cast<std::string>(py::repr(py::str(token.text))) + ")";
      });
  py::class_<PySession>(module, "Session")
      .def(py::init<std::shared_ptr<krafla::Model>, int64_t, int32_t, std::optional<int64_t>,
                    int64_t>())
      .def("append", &PySession::Append)
      .def("rows", &PySession::Rows)
      .def("embed", &PySession::Embed)
      .def("begin_generate", &PySession::BeginGenerate)
      .def("next", &PySession::Next)
      .def("generating", &PySession::generating)
      .def("stop", &PySession::Stop)
      .def("finish",
           [](PySession& self) {
             const krafla_generate_result result = self.get().result();
             return py::make_tuple(result.finish, result.n_tokens, result.stop);
           })
      .def("fork", &PySession::Fork)
      .def("truncate",
           [](PySession& self, int64_t length) {
             self.Call([&](krafla::Session& session, Watch*) { session.Truncate(length); });
           })
      .def("edit",
           [](PySession& self, const std::vector<int32_t>& ids) {
             self.Read([&](krafla::Session& session, const krafla_append_options& options) {
               session.Edit(ids, options);
             });
           })
      .def("append_chat",
           [](PySession& self, krafla::Chat& chat) {
             return self.Read([&](krafla::Session& session, const krafla_append_options& options) {
               return chat.Append(session, options);
             });
           })
      .def("cancel", [](PySession& self) { self.get().Cancel(); })
      .def("save", &PySession::Save)
      .def("restore",
           [](PySession& self, const py::bytes& bytes, bool replay) {
             const std::string_view data = bytes;
             krafla_restore_options options = KRAFLA_RESTORE_OPTIONS_INIT;
             options.replay = replay ? 1 : 0;
             options.on_progress = Watch::Look;
             self.Call([&](krafla::Session& session, Watch* watch) {
               options.user = watch;
               session.Restore(data.data(), data.size(), options);
             });
           })
      .def("logits", [](const py::object& self) { return LogitsView(self); })
      .def("ids", [](PySession& self) { return self.get().ids(); })
      .def("info",
           [](PySession& self) {
             const krafla_session_info info = self.get().info();
             return py::make_tuple(info.length, info.context, info.reused, info.recomputed,
                                   info.kv_bytes);
           })
      .def("close", &PySession::Close);
}

}  // namespace krafla_python
