// What the programs have in common about models: the arguments that name one, and opening it.
#ifndef KRAFLA_TOOLS_MODEL_ARGS_H_
#define KRAFLA_TOOLS_MODEL_ARGS_H_

#include <cstdint>
#include <string>

#include "tools/exit_code.h"
#include "tools/handles.h"
#include "tools/stream_args.h"

namespace CLI {
class App;
}

namespace krafla::tools {

struct ModelArgs {
  std::string model;      // path of a .mlb
  std::string tokenizer;  // path of a .mlt that overrides the model's own; "": none
  std::string kv;         // "f16", "f32"
  std::string load;       // "auto", "map", "read"; "": auto
  int64_t threads = 0;
  int64_t batch = 0;
  int64_t context = 0;
  StreamArgs stream;
};

// The last longest text that a session can have; far above any model's maximum.
inline constexpr int64_t kMaxPositions = int64_t{1} << 31;

void AddModel(CLI::App& app, ModelArgs* args, const char* name = "MODEL");
void AddTokenizerOverride(CLI::App& app, ModelArgs* args);
void AddThreads(CLI::App& app, ModelArgs* args);
void AddBatch(CLI::App& app, ModelArgs* args);
void AddLoad(CLI::App& app, ModelArgs* args);
void AddKv(CLI::App& app, ModelArgs* args, const char* standard);
// The same for a cache of another name: sets *kv to `standard`, and the help says which that is.
void AddKv(CLI::App& app, const char* flag, std::string* kv, const char* standard,
           const char* what);

// The library's warnings and errors go to stderr.
ExitCode OpenRuntime(int64_t threads, RuntimePtr* runtime);
ExitCode OpenModel(const ModelArgs& args, const krafla_runtime* runtime, ModelPtr* model);
// The tokenizer that -z names, else the model's own.
ExitCode OpenTokenizer(const ModelArgs& args, const krafla_model* model, TokenizerPtr* tokenizer);
ExitCode CreateSession(const ModelArgs& args, const krafla_model* model, SessionPtr* session);

// Points into args and to *residency, which it fills.
krafla_model_options ModelOptions(const ModelArgs& args, krafla_residency_options* residency);
krafla_session_options SessionOptions(const ModelArgs& args);
krafla_model_info ModelInfo(const krafla_model* model);

}  // namespace krafla::tools

#endif  // KRAFLA_TOOLS_MODEL_ARGS_H_
