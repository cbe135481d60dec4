// ml_server's command line.
#ifndef KRAFLA_TOOLS_SERVER_SERVER_ARGS_H_
#define KRAFLA_TOOLS_SERVER_SERVER_ARGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/exit_code.h"
#include "tools/model_args.h"
#include "tools/server/http/connection.h"
#include "tools/server/model.h"
#include "tools/server/security.h"

namespace krafla::server {

struct ServerArgs {
  std::vector<std::string> models;  // PATH or NAME=PATH
  tools::ModelArgs model;           // what holds for all: context, kv, load, threads
  std::string host = "127.0.0.1";
  int64_t port = 8080;
  int64_t parallel = 8;
  int64_t queue = 64;
  int64_t rows = 0;
  int64_t cache_mib = 256;
  std::string cache_dir;
  int64_t cache_dir_mib = 4096;
  int64_t max_connections = 256;
  int64_t max_body_mib = 16;
  int64_t drain_seconds = 30;
  std::string key_file;
  AccessRules access;
  bool log_requests = false;
};

// *finished: there is nothing more to do.
tools::ExitCode ParseArgs(int argc, char** argv, ServerArgs* args, bool* finished);
// The settings of each model, which point into args; its name is the file's without .mlb where none
// is given.
tools::ExitCode ModelsOf(const ServerArgs& args, std::vector<ModelSettings>* models);
HttpLimits LimitsOf(const ServerArgs& args);

}  // namespace krafla::server

#endif  // KRAFLA_TOOLS_SERVER_SERVER_ARGS_H_
