// What drift and quality share: the call's options, and its figures as JSON.
#ifndef KRAFLA_TOOLS_EVAL_DRIFT_H_
#define KRAFLA_TOOLS_EVAL_DRIFT_H_

#include <krafla/krafla_tools.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "tools/eval/commands.h"
#include "tools/progress.h"

namespace krafla::tools {

// args and progress must outlive it.
struct DriftCall {
  DriftCall(const EvalArgs& args, const ModelArgs& reference_args, Progress* progress);
  DriftCall(const DriftCall&) = delete;
  DriftCall& operator=(const DriftCall&) = delete;

  krafla_session_options reference;
  krafla_session_options model;
  krafla_drift_options options = KRAFLA_DRIFT_OPTIONS_INIT;
};

// FailWith, where the message may be about the cache instead.
ExitCode FailMeasuring(const EvalArgs& args, int32_t code, std::string_view what);

nlohmann::ordered_json DriftJson(const krafla_drift& drift, int64_t top_k);

}  // namespace krafla::tools

#endif  // KRAFLA_TOOLS_EVAL_DRIFT_H_
