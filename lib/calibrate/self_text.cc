// See self_text.h. All sequences grow together, one token each a pass, so that a pass shares its
// reading of the weights. Every second one goes on from a token at random behind the first: what a
// model of chats says after BOS alone is always the same few things.
#include "lib/calibrate/self_text.h"

#include <span>

#include "lib/sampler/sampler.h"
#include "lib/session/session.h"

namespace krafla {
namespace {

int32_t FirstToken(const Config& config) {
  if (config.bos_id >= 0) return static_cast<int32_t>(config.bos_id);
  return config.end_ids.empty() ? 0 : static_cast<int32_t>(config.end_ids[0]);
}

// The i-th of a sequence of numbers, by the constants of Steele and Vigna's splitmix64.
uint64_t Scattered(uint64_t seed, uint64_t i) {
  uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace

StatusOr<TokenSequences> WriteText(const std::shared_ptr<const Model>& model, size_t count,
                                   size_t length, uint64_t seed, const StopCheck& stop) {
  SessionOptions options;
  options.context = static_cast<int64_t>(length);
  options.kv = KvType::kF32;
  options.batch = static_cast<int64_t>(count);
  TokenSequences text(count, {FirstToken(model->config())});
  std::vector<std::unique_ptr<Session>> sessions(count);
  std::vector<std::unique_ptr<Sampler>> samplers(count);
  std::vector<Session*> batch(count);
  for (size_t i = 0; i < count; ++i) {
    KRAFLA_ASSIGN_OR_RETURN(sessions[i], Session::Create(model, options));
    KRAFLA_ASSIGN_OR_RETURN(samplers[i], Sampler::Create(seed + i));
    const SamplerParam params[] = {{"t", 1}};
    KRAFLA_RETURN_IF_ERROR(samplers[i]->AddStage("temperature", params));
    batch[i] = sessions[i].get();
  }
  std::vector<std::span<const int32_t>> ids(count);
  const auto n_vocab = static_cast<size_t>(model->config().n_vocab);
  while (text[0].size() < length) {
    for (size_t i = 0; i < count; ++i) ids[i] = std::span(text[i]).last(1);
    KRAFLA_RETURN_IF_ERROR(Session::AppendBatch(batch, ids));
    for (size_t i = 0; i < count; ++i) {
      if (text[i].size() == 1 && i % 2 == 1) {
        text[i].push_back(static_cast<int32_t>(Scattered(seed, i) % n_vocab));
        continue;
      }
      KRAFLA_ASSIGN_OR_RETURN(const int32_t id,
                              samplers[i]->Sample(sessions[i]->logits().first(n_vocab)));
      text[i].push_back(id);
    }
    KRAFLA_RETURN_IF_ERROR(stop());
  }
  return text;
}

}  // namespace krafla
