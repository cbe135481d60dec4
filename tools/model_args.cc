// Opening a model is interruptible: a copy over a slow network takes long.
#include "tools/model_args.h"

#include <krafla/krafla.h>

#include "tools/interrupt.h"
#include "tools/options.h"

namespace krafla::tools {
namespace {

constexpr int64_t kMaxThreads = 1024;

void PrintLog(void*, int32_t, const char* text, size_t length) {
  PrintError(std::string_view(text, length));
}

int StopWhenInterrupted(void*, uint64_t, uint64_t) { return Interrupted() ? 1 : 0; }

}  // namespace

void AddModel(CLI::App& app, ModelArgs* args, const char* name) {
  app.add_option(name, args->model, "The model file (.mlb)")->required()->type_name("");
}

void AddTokenizerOverride(CLI::App& app, ModelArgs* args) {
  app.add_option("-z", args->tokenizer, "Tokenizer and chat template to use instead of the model's")
      ->type_name("FILE.mlt");
}

void AddThreads(CLI::App& app, ModelArgs* args) {
  AddInteger(app, "-t,--threads", &args->threads, 1, kMaxThreads,
             "Threads (default: one per physical core)");
}

void AddBatch(CLI::App& app, ModelArgs* args) {
  AddInteger(app, "--batch", &args->batch, 1, 65536,
             "Prompt positions computed together (default 256); never changes the result");
}

void AddKv(CLI::App& app, ModelArgs* args, const char* standard) {
  AddKv(app, "--kv", &args->kv, standard, "Numbers of the attention cache");
}

void AddKv(CLI::App& app, const char* flag, std::string* kv, const char* standard,
           const char* what) {
  *kv = standard;
  const std::string help = fmt::format("{} (default {})", what, standard);
  AddChoice(app, flag, kv, {"f32", "f16", "q8", "k8v4", "k6v6", "k4v4"}, {}, help.c_str());
}

void AddLoad(CLI::App& app, ModelArgs* args) {
  AddChoice(app, "--load", &args->load, {"auto", "map", "read"}, {},
            "Use the weights where they lie in the file, or copy them into memory in large pages, "
            "from which they are read faster (auto: the copy, where it takes at most half of the "
            "memory that is left)");
}

ExitCode OpenRuntime(int64_t threads, RuntimePtr* runtime) {
  krafla_runtime_options options = KRAFLA_RUNTIME_OPTIONS_INIT;
  options.threads = static_cast<int32_t>(threads);
  options.log_level = KRAFLA_LOG_WARNING;
  options.log = PrintLog;
  const int32_t code = Create(runtime, krafla_runtime_create, &options);
  return code == KRAFLA_OK ? kExitOk : FailWith(code, "runtime");
}

krafla_model_options ModelOptions(const ModelArgs& args, krafla_residency_options* residency) {
  krafla_model_options options = KRAFLA_MODEL_OPTIONS_INIT;
  options.load = args.load == "map"    ? KRAFLA_LOAD_MAP
                 : args.load == "read" ? KRAFLA_LOAD_READ
                                       : KRAFLA_LOAD_AUTO;
  options.progress = StopWhenInterrupted;
  *residency = ResidencyOptions(args.stream);
  if (args.stream.budget) options.residency = residency;
  return options;
}

ExitCode OpenModel(const ModelArgs& args, const krafla_runtime* runtime, ModelPtr* model) {
  krafla_residency_options residency{};
  const krafla_model_options options = ModelOptions(args, &residency);
  const int32_t code = Create(model, krafla_model_open_path, const_cast<krafla_runtime*>(runtime),
                              args.model.data(), args.model.size(), &options);
  if (code == KRAFLA_E_ARGUMENT && !args.stream.heat_map.empty()) {
    return Fail(kExitArguments, "--heat-map: {}", krafla_error_message());
  }
  // Else only the file can be wrong here: an empty name is one that does not exist.
  if (code == KRAFLA_E_ARGUMENT) return FailAs(kExitModelFile, args.model);
  return code == KRAFLA_OK ? kExitOk : FailWith(code, args.model);
}

ExitCode OpenTokenizer(const ModelArgs& args, const krafla_model* model, TokenizerPtr* tokenizer) {
  if (!args.tokenizer.empty()) {
    const int32_t code =
        Create(tokenizer, krafla_tokenizer_open_path, args.tokenizer.data(), args.tokenizer.size());
    return code == KRAFLA_OK ? kExitOk : FailWith(code, args.tokenizer);
  }
  const int32_t code = Create(tokenizer, krafla_tokenizer_from_model, model);
  if (code == KRAFLA_E_NOT_FOUND) {
    return Fail(kExitModelFile,
                "{}: the model has no tokenizer, so it takes ids only: give one with -z FILE.mlt",
                args.model);
  }
  return code == KRAFLA_OK ? kExitOk : FailWith(code, args.model);
}

namespace {

int32_t KvOf(const std::string& name) {
  if (name == "f32") return KRAFLA_KV_F32;
  if (name == "q8") return KRAFLA_KV_Q8;
  if (name == "k8v4") return KRAFLA_KV_K8V4;
  if (name == "k6v6") return KRAFLA_KV_K6V6;
  return name == "k4v4" ? KRAFLA_KV_K4V4 : KRAFLA_KV_F16;
}

}  // namespace

krafla_session_options SessionOptions(const ModelArgs& args) {
  krafla_session_options options = KRAFLA_SESSION_OPTIONS_INIT;
  options.context = args.context;
  options.batch = args.batch;
  options.kv = KvOf(args.kv);
  // Memory is taken as the text grows, not for a whole context that most texts never fill.
  options.has_reserve = 1;
  return options;
}

ExitCode CreateSession(const ModelArgs& args, const krafla_model* model, SessionPtr* session) {
  const krafla_session_options options = SessionOptions(args);
  const int32_t code = Create(session, krafla_session_create, model, &options);
  return code == KRAFLA_OK ? kExitOk : FailWith(code, "session");
}

krafla_model_info ModelInfo(const krafla_model* model) {
  krafla_model_info info{};
  info.struct_size = sizeof(info);
  (void)krafla_model_get_info(model, &info);
  return info;
}

}  // namespace krafla::tools
