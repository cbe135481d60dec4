// See server_args.h.
#include "tools/server/server_args.h"

#include <algorithm>
#include <filesystem>

#include "tools/options.h"
#include "tools/output.h"
#include "tools/system.h"

namespace krafla::server {
namespace {

using namespace krafla::tools;  // NOLINT: this file is its command line

constexpr char kFooter[] =
    "\nEndpoints: /v1/chat/completions /v1/completions /v1/embeddings /v1/responses /v1/models "
    "/health\n/metrics /props /tokenize /detokenize /apply-template, and a page to talk to at /.\n"
    "SIGTERM or Ctrl-C: requests at work end first; a second Ctrl-C ends at once.\n"
    "Exit codes: 0; 2 arguments; 3 wrong CPU; 4 model file; 5 memory; 1 anything else.";

void AddList(CLI::App& app, const char* flag, std::vector<std::string>* list, const char* type,
             const char* help) {
  app.add_option(flag, *list, help)->type_name(type)->allow_extra_args(false);
}

ExitCode ReadKeys(const std::string& path, std::vector<std::string>* keys) {
  std::string text;
  if (ExitCode e = ReadFile(path, &text)) return e;
  size_t before = keys->size();
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = std::string_view(text).substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    line = Trim(line);
    if (!line.empty() && !line.starts_with('#')) keys->emplace_back(line);
    begin = end + 1;
  }
  if (keys->size() == before) return Fail(kExitArguments, "--api-key-file: {} has no key", path);
  return kExitOk;
}

// The library makes the last folder of the path.
ExitCode CheckCacheDir(const std::string& given) {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::absolute(PathOf(given), error);
  const auto state = std::filesystem::status(folder, error);
  if (std::filesystem::is_directory(state)) return kExitOk;
  if (std::filesystem::exists(state)) {
    return Fail(kExitArguments, "--cache-dir: {} is no folder", given);
  }
  if (folder.filename().empty()) folder = folder.parent_path();
  const std::filesystem::path above = folder.parent_path();
  if (std::filesystem::is_directory(above, error)) return kExitOk;
  return Fail(kExitArguments, "--cache-dir: got {}, but there is no folder {}", given,
              TextOf(above));
}

}  // namespace

ExitCode ParseArgs(int argc, char** argv, ServerArgs* args, bool* finished) {
  CLI::App app("Serves language models over HTTP, as OpenAI's API has it.");
  SetUp(app, "ml_server");
  app.add_option("MODEL", args->models, "Model files (.mlb); NAME=FILE gives one a name")
      ->required()
      ->type_name("");
  app.add_option("--host", args->host,
                 "Address to listen at (default 127.0.0.1: this machine only)")
      ->type_name("ADDRESS");
  AddInteger(app, "--port", &args->port, 0, 65535, "Port (default 8080; 0: any free one)");
  AddInteger(app, "--ctx", &args->model.context, 2, kMaxPositions,
             "Positions of each request's context (default: the smaller of 4096 and the model's "
             "maximum)");
  AddInteger(app, "--parallel", &args->parallel, 1, 1024, "Requests at work at once (default 8)");
  AddInteger(app, "--queue", &args->queue, 1, 1 << 20,
             "Requests that may wait (default 64); those beyond get 429");
  AddInteger(app, "--rows", &args->rows, 2, 65536,
             "Positions of one pass: more reads prompts faster, fewer keeps replies flowing "
             "(default: 64 or twice --parallel)");
  AddInteger(app, "--cache-mib", &args->cache_mib, 0, 1 << 24,
             "Memory for texts that later requests may begin with (default 256; 0: none)");
  app.add_option("--cache-dir", args->cache_dir,
                 "Folder for texts beyond these, and for all at the end: the next start goes on "
                 "with them. It holds what was said")
      ->type_name("DIR");
  AddInteger(app, "--cache-dir-mib", &args->cache_dir_mib, 1, 1 << 30,
             "Size of each model's texts there (default 4096)");
  AddKv(app, &args->model, "f16");
  AddLoad(app, &args->model);
  AddStream(app, &args->model.stream);
  AddThreads(app, &args->model);
  AddList(app, "--api-key", &args->access.keys, "KEY",
          "Ask for this key; as often as needed. Visible to all who may list processes: better "
          "--api-key-file");
  app.add_option("--api-key-file", args->key_file, "A file with a key on each line")
      ->type_name("FILE");
  AddList(app, "--allow-host", &args->access.hosts, "NAME",
          "A name of this server in requests' Host, besides addresses and localhost (*: any)");
  AddList(app, "--allow-origin", &args->access.origins, "ORIGIN",
          "Web pages from there may use this server: https://app.example (*: any)");
  AddInteger(app, "--max-connections", &args->max_connections, 1, 65536,
             "Connections at once (default 256)");
  AddInteger(app, "--max-body-mib", &args->max_body_mib, 1, 1024,
             "Size of a request's body (default 16)");
  AddInteger(app, "--drain-seconds", &args->drain_seconds, 0, 86400,
             "Time for requests at work to end after SIGTERM (default 30)");
  app.add_flag("--log-requests", args->log_requests,
               "Print a line for each request: method, path, status, time; no prompts");
  app.footer(kFooter);
  if (ExitCode e = Parse(app, argc, argv, finished); *finished) return e;
  if (!args->cache_dir.empty() && args->cache_mib == 0) {
    return Fail(kExitArguments, "--cache-dir: got --cache-mib 0 beside it, want memory for texts");
  }
  if (!args->cache_dir.empty()) {
    if (ExitCode e = CheckCacheDir(args->cache_dir)) return e;
  }
  if (!args->key_file.empty()) {
    if (ExitCode e = ReadKeys(args->key_file, &args->access.keys)) return e;
  }
  for (const std::string& key : args->access.keys) {
    if (key.empty()) return Fail(kExitArguments, "--api-key: got \"\", want a key");
  }
  for (std::string& host : args->access.hosts) host = LowerCase(host);
  for (std::string& origin : args->access.origins) {
    std::string known = origin == "*" ? origin : NormalOrigin(origin);
    if (known.empty()) {
      return Fail(
          kExitArguments,
          "--allow-origin: got \"{}\", want SCHEME://HOST, with :PORT where that is not the "
          "scheme's own, or *",
          origin);
    }
    origin = std::move(known);
  }
  return kExitOk;
}

ExitCode ModelsOf(const ServerArgs& args, std::vector<ModelSettings>* models) {
  for (const std::string& given : args.models) {
    ModelSettings settings;
    settings.path = given;
    const size_t equals = given.find('=');
    if (equals != std::string::npos && equals > 0 && equals < given.find_first_of("/\\")) {
      settings.name = given.substr(0, equals);
      settings.path = given.substr(equals + 1);
    } else {
      settings.name = given.substr(given.find_last_of("/\\") + 1);
      if (settings.name.ends_with(".mlb")) settings.name.resize(settings.name.size() - 4);
    }
    for (const ModelSettings& other : *models) {
      if (other.name == settings.name) {
        return Fail(kExitArguments, "MODEL: two have the name {}: give one another with NAME=FILE",
                    settings.name);
      }
    }
    const krafla_session_options session = SessionOptions(args.model);
    settings.scheduler.context = session.context;
    settings.scheduler.kv = session.kv;
    settings.scheduler.rows = args.rows;
    settings.scheduler.parallel = args.parallel;
    settings.scheduler.queue = args.queue;
    settings.scheduler.cache_bytes = static_cast<uint64_t>(args.cache_mib) << 20;
    settings.scheduler.has_cache_bytes = 1;
    if (!args.cache_dir.empty()) {
      settings.scheduler.folder = args.cache_dir.data();
      settings.scheduler.folder_length = args.cache_dir.size();
      settings.scheduler.folder_bytes = static_cast<uint64_t>(args.cache_dir_mib) << 20;
    }
    settings.load = args.model.load == "map"    ? KRAFLA_LOAD_MAP
                    : args.model.load == "read" ? KRAFLA_LOAD_READ
                                                : KRAFLA_LOAD_AUTO;
    if (args.model.stream.budget) settings.residency = ResidencyOptions(args.model.stream);
    models->push_back(std::move(settings));
  }
  if (models->size() > 1 && !args.model.stream.heat_map.empty()) {
    return Fail(kExitArguments, "--heat-map: is of one model, got {}", models->size());
  }
  return kExitOk;
}

HttpLimits LimitsOf(const ServerArgs& args) {
  HttpLimits limits;
  limits.body_bytes = static_cast<uint64_t>(args.max_body_mib) << 20;
  return limits;
}

}  // namespace krafla::server
