// Scheduler and Request: the library's own thread works, Python waits for events without the GIL.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reply.h"
#include "sampler.h"

namespace krafla_python {
namespace {

constexpr int64_t kWaitUs = 20000;  // between looks at signals

class PyRequest {
 public:
  PyRequest(krafla::Request request, bool logprobs)
      : request_(std::move(request)), logprobs_(logprobs) {}

  // The next token; none where the reply has ended, or no token has come for a moment.
  std::optional<Token> Next() {
    krafla_event event = KRAFLA_EVENT_INIT;
    bool any = false;
    {
      const py::gil_scoped_release release;
      any = request_.Poll(&event, ended_ ? 0 : kWaitUs);
    }
    CheckSignals();
    if (!any) return std::nullopt;
    if (event.kind == KRAFLA_EVENT_TOKEN) return KeepToken(event, logprobs_);
    if (event.kind == KRAFLA_EVENT_END) {
      ended_ = true;
      finish_ = event.finish;
      if (event.code != KRAFLA_OK) {
        throw krafla::Error(event.code, std::string(event.text, event.text_length));
      }
    }
    return std::nullopt;
  }
  bool ended() const { return ended_; }
  int32_t finish() const { return finish_; }
  void Cancel() { request_.Cancel(); }
  py::tuple Info() const {
    const krafla_request_info info = request_.info();
    return py::make_tuple(info.prompt_tokens, info.reused, info.n_tokens);
  }

 private:
  krafla::Request request_;
  const bool logprobs_;
  bool ended_ = false;
  int32_t finish_ = 0;
};

class PyScheduler {
 public:
  PyScheduler(std::shared_ptr<krafla::Model> model, int64_t context, int32_t kv, int64_t rows,
              int64_t parallel, int64_t queue, std::optional<uint64_t> cache_bytes,
              const std::optional<std::string>& folder, uint64_t folder_bytes)
      : model_(std::move(model)) {
    krafla_scheduler_options options = KRAFLA_SCHEDULER_OPTIONS_INIT;
    options.context = context;
    options.kv = kv;
    options.rows = rows;
    options.parallel = parallel;
    options.queue = queue;
    options.own_thread = 1;
    options.has_cache_bytes = cache_bytes ? 1 : 0;
    options.cache_bytes = cache_bytes.value_or(0);
    if (folder) {
      options.folder = folder->data();
      options.folder_length = folder->size();
      options.folder_bytes = folder_bytes;
    }
    const py::gil_scoped_release release;
    scheduler_.emplace(*model_, options);
  }

  std::unique_ptr<PyRequest> Add(const std::vector<int32_t>& ids, const PySampler& sampler,
                                 int64_t max_tokens, std::vector<std::string> stops,
                                 std::vector<int32_t> end_ids, bool ignore_end, bool logprobs,
                                 int32_t n_top, const krafla::Constraint* constraint,
                                 int32_t priority) {
    const ReplyOptions reply{max_tokens, std::move(stops), std::move(end_ids), ignore_end, logprobs,
                             n_top,      constraint};
    std::vector<krafla_string> strings;
    return std::make_unique<PyRequest>(
        get().Add(ids, &sampler.sampler, reply.Fill(&strings), priority), reply.wants_logprobs());
  }
  py::tuple Info() {
    const krafla_scheduler_info info = get().info();
    return py::make_tuple(info.running, info.waiting, info.passes, info.prompt_tokens,
                          info.reused_tokens, info.reply_tokens, info.cache_bytes, info.cached,
                          info.folder_bytes, info.in_folder);
  }
  void Close() {
    const py::gil_scoped_release release;  // its thread ends
    scheduler_.reset();
  }

 private:
  krafla::Scheduler& get() {
    if (!scheduler_) throw krafla::Error(KRAFLA_E_STATE, "scheduler: it is closed");
    return *scheduler_;
  }

  std::shared_ptr<krafla::Model> model_;
  std::optional<krafla::Scheduler> scheduler_;
};

}  // namespace

void BindScheduler(py::module_& module) {
  py::class_<PyRequest>(module, "Request")
      .def("next", &PyRequest::Next)
      .def("ended", &PyRequest::ended)
      .def("finish", &PyRequest::finish)
      .def("cancel", &PyRequest::Cancel)
      .def("info", &PyRequest::Info);
  py::class_<PyScheduler>(module, "Scheduler")
      .def(py::init<std::shared_ptr<krafla::Model>, int64_t, int32_t, int64_t, int64_t, int64_t,
                    std::optional<uint64_t>, std::optional<std::string>, uint64_t>())
      .def("add", &PyScheduler::Add)
      .def("info", &PyScheduler::Info)
      .def("close", &PyScheduler::Close);
}

}  // namespace krafla_python
