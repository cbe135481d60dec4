// krafla_sampler_*. Stages and parameters come by name from the library's own table (AllStages), so
// a new stage needs no new function here.
#include <string.h>

#include <algorithm>
#include <vector>

#include "capi/guard.h"
#include "capi/handles.h"
#include "capi/structs.h"
#include "include/krafla/krafla_constraint.h"
#include "lib/sampler/logprobs.h"
#include "lib/sampler/stage.h"

using namespace krafla;  // NOLINT: the definitions below are the global C functions
using capi::Busy;
using capi::Guard;

namespace {

constexpr size_t kMaxParams = 64;  // far more than any stage has
constexpr size_t kMaxTop = 1024;
constexpr size_t kMaxNameBytes = 64;

// A name that must be terminated; what is far too long for one is no name of ours.
StatusOr<std::string_view> ReadName(const char* name, const char* what) {
  if (name == nullptr) return ArgumentError("{}: got NULL, want a name", what);
  return std::string_view(name, strnlen(name, kMaxNameBytes));
}

StatusOr<std::span<const float>> ReadLogits(const float* logits, size_t n) {
  KRAFLA_CHECK_POINTER(logits);
  KRAFLA_RETURN_IF_ERROR(capi::CheckArray(logits, n, "logits"));
  KRAFLA_RETURN_IF_ERROR(CheckLogits({logits, n}));
  return std::span<const float>(logits, n);
}

Status Sample(krafla_sampler* sampler, const float* logits, size_t n,
              std::optional<std::span<const uint32_t>> mask, int32_t* id) {
  KRAFLA_CHECK_POINTER(sampler);
  KRAFLA_CHECK_POINTER(logits);
  KRAFLA_CHECK_POINTER(id);
  KRAFLA_RETURN_IF_ERROR(capi::CheckArray(logits, n, "logits"));
  Busy busy(sampler->shared->busy);
  KRAFLA_RETURN_IF_ERROR(busy.status());
  KRAFLA_ASSIGN_OR_RETURN(*id, sampler->shared->sampler->Sample({logits, n}, mask));
  return OkStatus();
}

}  // namespace

extern "C" {

int32_t krafla_sampler_create(krafla_sampler** out, const krafla_sampler_options* options) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(out);
    krafla_sampler_options given;
    KRAFLA_RETURN_IF_ERROR(capi::ReadOptions(options, "krafla_sampler_options", &given));
    auto sampler = std::make_unique<krafla_sampler>();
    sampler->shared = std::make_shared<capi::SharedSampler>();
    KRAFLA_ASSIGN_OR_RETURN(
        sampler->shared->sampler,
        Sampler::Create(given.has_seed != 0 ? std::optional<uint64_t>(given.seed) : std::nullopt));
    *out = sampler.release();
    return OkStatus();
  });
}

void krafla_sampler_free(krafla_sampler* sampler) { delete sampler; }

int32_t krafla_sampler_add(krafla_sampler* sampler, const char* stage, size_t length,
                           const krafla_param* params, size_t n_params) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(sampler);
    KRAFLA_ASSIGN_OR_RETURN(std::string_view name, capi::ReadString(stage, length, "stage"));
    KRAFLA_RETURN_IF_ERROR(capi::CheckArray(params, n_params, "params"));
    if (n_params > kMaxParams) {
      return ArgumentError("params: n: got {}, want at most {}", n_params, kMaxParams);
    }
    std::vector<SamplerParam> inner;
    for (size_t i = 0; i < n_params; ++i) {
      if (params[i].name == nullptr)
        return ArgumentError("params[{}].name: got NULL, want a name", i);
      inner.push_back({params[i].name, params[i].value});
    }
    Busy busy(sampler->shared->busy);
    KRAFLA_RETURN_IF_ERROR(busy.status());
    return sampler->shared->sampler->AddStage(name, inner);
  });
}

int32_t krafla_sampler_add_default(krafla_sampler* sampler) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(sampler);
    Busy busy(sampler->shared->busy);
    KRAFLA_RETURN_IF_ERROR(busy.status());
    return sampler->shared->sampler->AddDefaultStages();
  });
}

int32_t krafla_sampler_set(krafla_sampler* sampler, const char* stage, const char* name,
                           double value) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(sampler);
    KRAFLA_ASSIGN_OR_RETURN(const std::string_view stage_name, ReadName(stage, "stage"));
    KRAFLA_ASSIGN_OR_RETURN(const std::string_view param_name, ReadName(name, "name"));
    Busy busy(sampler->shared->busy);
    KRAFLA_RETURN_IF_ERROR(busy.status());
    return sampler->shared->sampler->SetParam(stage_name, param_name, value);
  });
}

int32_t krafla_sampler_set_bias(krafla_sampler* sampler, const krafla_bias* biases, size_t n) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(sampler);
    KRAFLA_RETURN_IF_ERROR(capi::CheckArray(biases, n, "biases"));
    Busy busy(sampler->shared->busy);
    KRAFLA_RETURN_IF_ERROR(busy.status());
    return sampler->shared->sampler->SetBiases({biases, n});
  });
}

int32_t krafla_sampler_set_custom(krafla_sampler* sampler, const krafla_custom_stage* stage) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(sampler);
    krafla_custom_stage given;
    KRAFLA_RETURN_IF_ERROR(capi::ReadOptions(stage, "krafla_custom_stage", &given));
    Busy busy(sampler->shared->busy);
    KRAFLA_RETURN_IF_ERROR(busy.status());
    sampler->shared->sampler->SetCustom(given);
    return OkStatus();
  });
}

int32_t krafla_sampler_set_breakers(krafla_sampler* sampler, const krafla_tokenizer* tokenizer,
                                    const krafla_string* breakers, size_t n) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(sampler);
    KRAFLA_RETURN_IF_ERROR(capi::CheckArray(breakers, n, "breakers"));
    if (n > Breakers::kMaxTexts) {
      return ArgumentError("breakers: n: got {}, want at most {}", n, Breakers::kMaxTexts);
    }
    std::vector<std::string_view> texts;
    for (size_t i = 0; i < n; ++i) {
      KRAFLA_ASSIGN_OR_RETURN(const std::string_view text,
                              capi::ReadString(breakers[i].text, breakers[i].length, "breakers"));
      texts.push_back(text);
    }
    std::shared_ptr<const Breakers> made;
    if (n > 0) {
      KRAFLA_CHECK_POINTER(tokenizer);
      // The tokenizer's owner keeps the bytes of its tokens.
      const auto bytes = [owner = tokenizer->owner, inner = tokenizer->tokenizer](int32_t id) {
        const auto text = inner->TokenBytes(id);
        return text.ok() ? *text : std::string_view();
      };
      KRAFLA_ASSIGN_OR_RETURN(made,
                              Breakers::Create(texts, tokenizer->tokenizer->vocab_size(), bytes));
    }
    Busy busy(sampler->shared->busy);
    KRAFLA_RETURN_IF_ERROR(busy.status());
    sampler->shared->sampler->SetBreakers(std::move(made));
    return OkStatus();
  });
}

int32_t krafla_sampler_stage_at(size_t i, krafla_stage_info* info) {
  return Guard([&]() -> Status {
    KRAFLA_RETURN_IF_ERROR(capi::CheckInfo(info, "krafla_stage_info"));
    const std::span<const StageInfo> stages = AllStages();
    if (i >= stages.size()) return NotFoundError("stage: entry {} of {}", i, stages.size());
    krafla_stage_info filled{};
    filled.name = stages[i].name.data();
    filled.summary = stages[i].summary.data();
    filled.n_params = static_cast<int32_t>(stages[i].params.size());
    filled.in_default_chain = stages[i].in_default_chain ? 1 : 0;
    capi::WriteInfo(filled, info);
    return OkStatus();
  });
}

int32_t krafla_sampler_param_at(size_t i, krafla_param_info* info) {
  return Guard([&]() -> Status {
    KRAFLA_RETURN_IF_ERROR(capi::CheckInfo(info, "krafla_param_info"));
    size_t seen = 0;
    for (const StageInfo& stage : AllStages()) {
      if (i - seen >= stage.params.size()) {
        seen += stage.params.size();
        continue;
      }
      const StageParam& param = stage.params[i - seen];
      krafla_param_info filled{};
      filled.stage = stage.name.data();
      filled.name = param.name.data();
      filled.min = param.min;
      filled.max = param.max;
      filled.default_value = param.initial;
      filled.integer = param.is_integer ? 1 : 0;
      filled.min_excluded = param.min_excluded ? 1 : 0;
      capi::WriteInfo(filled, info);
      return OkStatus();
    }
    return NotFoundError("parameter: entry {} of {}", i, seen);
  });
}

int32_t krafla_sampler_sample(krafla_sampler* sampler, const float* logits, size_t n, int32_t* id) {
  return Guard([&] { return Sample(sampler, logits, n, std::nullopt, id); });
}

int32_t krafla_sampler_sample_masked(krafla_sampler* sampler, const float* logits, size_t n,
                                     const uint32_t* mask, size_t n_words, int32_t* id) {
  return Guard([&]() -> Status {
    KRAFLA_RETURN_IF_ERROR(capi::CheckArray(mask, n_words, "mask"));
    return Sample(sampler, logits, n, std::span(mask, n_words), id);
  });
}

int32_t krafla_sampler_get_chosen(krafla_sampler* sampler, float* logprob, size_t k, int32_t* ids,
                                  float* logprobs, size_t* n) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(sampler);
    if (k > kMaxTop) return ArgumentError("k: got {}, want at most {}", k, kMaxTop);
    KRAFLA_RETURN_IF_ERROR(capi::CheckArray(ids, k, "ids"));
    KRAFLA_RETURN_IF_ERROR(capi::CheckArray(logprobs, k, "logprobs"));
    Busy busy(sampler->shared->busy);
    KRAFLA_RETURN_IF_ERROR(busy.status());
    Sampler& inner = *sampler->shared->sampler;
    if (!inner.has_choice()) return StateError("sampler: nothing was sampled");
    const size_t found = inner.TopOfChain({ids, k}, {logprobs, k});
    if (logprob != nullptr) *logprob = inner.ChosenLogProb();
    if (n != nullptr) *n = found;
    return OkStatus();
  });
}

int32_t krafla_sampler_accept(krafla_sampler* sampler, int32_t id) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(sampler);
    Busy busy(sampler->shared->busy);
    KRAFLA_RETURN_IF_ERROR(busy.status());
    return sampler->shared->sampler->Accept(id);
  });
}

int32_t krafla_sampler_reset(krafla_sampler* sampler) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(sampler);
    Busy busy(sampler->shared->busy);
    KRAFLA_RETURN_IF_ERROR(busy.status());
    sampler->shared->sampler->Reset();
    return OkStatus();
  });
}

int32_t krafla_sampler_get_seed(const krafla_sampler* sampler, uint64_t* seed) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(sampler);
    KRAFLA_CHECK_POINTER(seed);
    *seed = sampler->shared->sampler->seed();
    return OkStatus();
  });
}

int32_t krafla_sampler_clone(krafla_sampler** out, const krafla_sampler* sampler) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(out);
    KRAFLA_CHECK_POINTER(sampler);
    Busy busy(sampler->shared->busy);
    KRAFLA_RETURN_IF_ERROR(busy.status());
    auto clone = std::make_unique<krafla_sampler>();
    clone->shared = std::make_shared<capi::SharedSampler>();
    clone->shared->sampler = sampler->shared->sampler->Clone();
    *out = clone.release();
    return OkStatus();
  });
}

int32_t krafla_logits_to_logprobs(const float* logits, size_t n, float* logprobs) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(logprobs);
    KRAFLA_ASSIGN_OR_RETURN(const std::span<const float> row, ReadLogits(logits, n));
    const double scale = LogSumExp(row);
    for (size_t i = 0; i < n; ++i) logprobs[i] = LogProb(row[i], scale);
    return OkStatus();
  });
}

int32_t krafla_logits_get_top(const float* logits, size_t n, size_t k, int32_t* ids,
                              float* logprobs) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(ids);
    KRAFLA_CHECK_POINTER(logprobs);
    KRAFLA_ASSIGN_OR_RETURN(const std::span<const float> row, ReadLogits(logits, n));
    if (k > std::min(n, kMaxTop)) {
      return ArgumentError("k: got {}, want at most {}", k, std::min(n, kMaxTop));
    }
    TopLogProbs(row, LogSumExp(row), {ids, k}, {logprobs, k});
    return OkStatus();
  });
}

}  // extern "C"
