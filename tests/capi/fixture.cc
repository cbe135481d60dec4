// See fixture.h.
#include "tests/capi/fixture.h"

#include <unistd.h>

#include <filesystem>
#include <stdexcept>

namespace krafla::test {
namespace {

void Must(int32_t code) {
  if (code != KRAFLA_OK) throw std::runtime_error(krafla_error_message());
}

class ConvertedModel {
 public:
  explicit ConvertedModel(const std::string& name) {
    path = (std::filesystem::temp_directory_path() /
            ("krafla-capi-" + std::to_string(getpid()) + name + ".mlb"))
               .string();
    const std::string folder = KRAFLA_TEST_DATA "/models/" + name;
    krafla_convert_options options = KRAFLA_CONVERT_OPTIONS_INIT;
    options.kind = KRAFLA_CONVERT_HF;
    options.input = folder.c_str();
    options.output = path.c_str();
    Must(krafla_convert(&options));
  }
  ~ConvertedModel() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
  std::string path;
};

}  // namespace

std::string CheckpointFolder() { return KRAFLA_TEST_DATA "/models/tiny-chat"; }

const std::string& TinyModelPath() {
  static const ConvertedModel model("tiny-chat");
  return model.path;
}

const std::string& TinyHybridPath() {
  static const ConvertedModel model("qwen3_5");
  return model.path;
}

const std::string& TinyMixturePath() {
  static const ConvertedModel model("qwen3_moe");
  return model.path;
}

ModelHandle OpenTiny(krafla_runtime* runtime) { return Open(TinyModelPath(), runtime); }

ModelHandle Open(const std::string& path, krafla_runtime* runtime) {
  krafla_model* model = nullptr;
  Must(krafla_model_open_path(&model, runtime, path.data(), path.size(), nullptr));
  return ModelHandle(model);
}

SessionHandle MakeSession(const krafla_model* model, int32_t kv) {
  krafla_session_options options = KRAFLA_SESSION_OPTIONS_INIT;
  options.context = 256;
  options.kv = kv;
  krafla_session* session = nullptr;
  Must(krafla_session_create(&session, model, &options));
  return SessionHandle(session);
}

SessionHandle Prompted(const krafla_model* model) {
  SessionHandle session = MakeSession(model);
  Must(krafla_session_append(session.get(), kPrompt.data(), kPrompt.size(), nullptr));
  return session;
}

std::vector<float> Logits(const krafla_session* session) {
  const float* row = nullptr;
  size_t n = 0;
  Must(krafla_session_get_logits(session, &row, &n));
  return {row, row + n};
}

std::vector<int32_t> Ids(const krafla_session* session) {
  const int32_t* ids = nullptr;
  size_t n = 0;
  Must(krafla_session_get_ids(session, &ids, &n));
  return {ids, ids + n};
}

}  // namespace krafla::test
