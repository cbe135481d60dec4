// A complete tiny model (tests/data/models/tiny-chat) behind the C ABI, converted once a process.
#ifndef KRAFLA_TESTS_CAPI_FIXTURE_H_
#define KRAFLA_TESTS_CAPI_FIXTURE_H_

#include <memory>
#include <string>
#include <vector>

#include "krafla/krafla_tools.h"

namespace krafla::test {

template <typename T, void (*kFree)(T*)>
struct Deleter {
  void operator()(T* handle) const { kFree(handle); }
};
using ModelHandle = std::unique_ptr<krafla_model, Deleter<krafla_model, krafla_model_free>>;
using SessionHandle = std::unique_ptr<krafla_session, Deleter<krafla_session, krafla_session_free>>;
using SamplerHandle = std::unique_ptr<krafla_sampler, Deleter<krafla_sampler, krafla_sampler_free>>;
using RuntimeHandle = std::unique_ptr<krafla_runtime, Deleter<krafla_runtime, krafla_runtime_free>>;
using TokenizerHandle =
    std::unique_ptr<krafla_tokenizer, Deleter<krafla_tokenizer, krafla_tokenizer_free>>;

// The folder of the checkpoint, and a .mlb made from it with q8 matrices (removed at exit).
std::string CheckpointFolder();
const std::string& TinyModelPath();

// Of a hybrid with recurrent state, without a tokenizer.
const std::string& TinyHybridPath();
// Of a mixture of experts, likewise.
const std::string& TinyMixturePath();

ModelHandle Open(const std::string& path, krafla_runtime* runtime = nullptr);
ModelHandle OpenTiny(krafla_runtime* runtime = nullptr);
SessionHandle MakeSession(const krafla_model* model, int32_t kv = KRAFLA_KV_F16);
// A session with kPrompt in it.
SessionHandle Prompted(const krafla_model* model);
std::vector<float> Logits(const krafla_session* session);
std::vector<int32_t> Ids(const krafla_session* session);

inline const std::vector<int32_t> kPrompt = {1, 40, 41, 300, 12, 77, 500, 3, 260, 99, 400, 6};

}  // namespace krafla::test

#endif  // KRAFLA_TESTS_CAPI_FIXTURE_H_
