// ml_server: models over HTTP. The socket is there from the beginning, so that whoever waits for
// the server can ask it; models are loaded meanwhile.
#include <exception>
#include <thread>

#include "tools/output.h"
#include "tools/progress.h"
#include "tools/server/http/server.h"
#include "tools/server/router.h"
#include "tools/server/server_args.h"
#include "tools/server/stop_signal.h"

namespace krafla::server {
namespace {

using namespace krafla::tools;  // NOLINT: this file is the program

constexpr std::chrono::seconds kLastMoment{5};  // for requests that are cancelled

template <typename... Args>
void Say(fmt::format_string<Args...> format, Args&&... args) {
  WriteStderr(fmt::format(format, std::forward<Args>(args)...) + "\n");
}

void PrintLog(void*, int32_t, const char* text, size_t length) {
  PrintError(std::string_view(text, length));
}

struct Loading {
  State* state;
  Progress* progress;
};

int OnProgress(void* user, uint64_t done, uint64_t total) {
  const Loading& loading = *static_cast<Loading*>(user);
  loading.state->loaded_bytes = done;
  loading.state->total_bytes = total;
  (void)Progress::Callback(loading.progress, done, total);
  return StopAsked() ? 1 : 0;
}

ExitCode Load(const ServerArgs& args, Runtime* runtime, State* state) {
  std::vector<ModelSettings> all;
  if (ExitCode e = ModelsOf(args, &all)) return e;
  for (ModelSettings& settings : all) {
    Progress progress("B");
    Loading loading{state, &progress};
    settings.progress = OnProgress;
    settings.progress_user = &loading;
    try {
      state->models.push_back(std::make_unique<ServedModel>(settings, runtime));
    } catch (const Error& error) {
      progress.Clear();
      if (StopAsked()) return kExitOk;
      return Fail(settings.path.empty() ? kExitModelFile : ExitCodeOf(error.code()), "{}: {}",
                  settings.name, error.what());
    }
    progress.Clear();
    const ServedModel& model = *state->models.back();
    Say("{}: {}, {} layers, context {}, {} at once", model.name(), model.info().arch,
        model.info().n_layers, model.context(), args.parallel);
  }
  state->ready = true;
  return kExitOk;
}

bool IsLoopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

std::string ConnectionMetrics(const HttpServer& server) {
  return fmt::format(
      "# HELP krafla_connections Open connections\n# TYPE krafla_connections gauge\n"
      "krafla_connections {}\n"
      "# HELP krafla_connections_refused_total Connections beyond the limit\n"
      "# TYPE krafla_connections_refused_total counter\nkrafla_connections_refused_total {}\n",
      server.connections(), server.refused());
}

ExitCode Serve(const ServerArgs& args, Listener listener) {
  krafla_runtime_options runtime_options = KRAFLA_RUNTIME_OPTIONS_INIT;
  runtime_options.threads = static_cast<int32_t>(args.model.threads);
  runtime_options.log_level = KRAFLA_LOG_WARNING;
  runtime_options.log = PrintLog;
  Runtime runtime(runtime_options);

  State state;
  state.access = args.access;
  state.parallel = args.parallel;
  const auto handler = [&](const HttpRequest& request, HttpReply& reply) {
    const Clock::time_point began = Clock::now();
    Route(state, request, reply);
    if (!args.log_requests) return;
    const std::chrono::duration<double> took = Clock::now() - began;
    Say("{} {} {} {} {:.3f}s", request.peer, request.method, request.path, reply.status(),
        took.count());
  };
  HttpServer server(std::move(listener), LimitsOf(args), args.max_connections, handler,
                    TransportErrorBody);
  state.connection_metrics = [&server] { return ConnectionMetrics(server); };

  std::atomic<bool> over{false};
  std::thread accepting([&] { server.Run([&] { return over.load() || StopAsked(); }); });
  ExitCode exit_code = kExitOther;
  try {
    exit_code = Load(args, &runtime, &state);
  } catch (const std::exception& error) {
    PrintError(error.what());
  }
  if (exit_code == kExitOk && !StopAsked()) Say("ready");
  over = exit_code != kExitOk;
  accepting.join();
  if (exit_code == kExitOk) Say("stopping: requests at work end first");
  if (!server.Drain(std::chrono::seconds(args.drain_seconds))) {
    state.stopping = true;
    if (!server.Drain(kLastMoment)) {
      PrintError("some connections did not end");
      // Their threads use the rest of what would be taken apart here.
      for (const auto& model : state.models) model->CloseScheduler();
      std::_Exit(kExitOther);
    }
  }
  return exit_code;
}

ExitCode Run(int argc, char** argv) {
  ServerArgs args;
  bool finished = false;
  if (ExitCode e = ParseArgs(argc, argv, &args, &finished); finished || e != kExitOk) return e;
  InstallStopSignal();
  Listener listener;
  const std::string error = listener.Open(args.host, static_cast<int>(args.port));
  if (!error.empty()) {
    return Fail(kExitArguments, "--host {} --port {}: {}", args.host, args.port, error);
  }
  if (!IsLoopback(args.host) && args.access.keys.empty()) {
    Say("warning: everyone who reaches {} may use this server: think of --api-key-file", args.host);
  }
  const bool six = args.host.find(':') != std::string::npos;
  Say("listening at http://{}{}{}:{}", six ? "[" : "", args.host, six ? "]" : "", listener.port());
  return Serve(args, std::move(listener));
}

}  // namespace
}  // namespace krafla::server

int main(int argc, char** argv) {
  return krafla::tools::RunProgram("ml_server", argc, argv, krafla::server::Run);
}
