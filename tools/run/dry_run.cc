// See dry_run.h.
#include "tools/run/dry_run.h"

#include <fmt/format.h>

#include "tools/output.h"

namespace krafla::tools {

ExitCode DryRun(const ModelArgs& args) {
  krafla_residency_options residency{};
  const krafla_model_options model_options = ModelOptions(args, &residency);
  const krafla_session_options session_options = SessionOptions(args);
  krafla_plan plan{};
  plan.struct_size = sizeof(plan);
  const int32_t code = krafla_plan_path(&plan, args.model.data(), args.model.size(), &model_options,
                                        &session_options);
  if (code != KRAFLA_OK) return FailWith(code, args.model);
  std::string text = fmt::format(
      "weights mapped   {:>15}\nweights read     {:>15}\nattention cache  {:>15}\n"
      "recurrent state  {:>15}\nscratch          {:>15}\nmemory in all    {:>15}\n",
      plan.weights_mapped, plan.weights_read, plan.kv, plan.state, plan.scratch, plan.total);
  if (args.stream.budget) {
    text += fmt::format("experts          {:>15} of {}\nleast budget     {:>15}\n",
                        plan.expert_slots, plan.experts, plan.least_budget);
    if (*args.stream.budget != 0 && *args.stream.budget < plan.least_budget) {
      if (ExitCode e = WriteStdout(text)) return e;
      return Fail(kExitMemory, "{}: a budget of {} bytes for weights, want at least {}", args.model,
                  *args.stream.budget, plan.least_budget);
    }
  }
  return WriteStdout(text);
}

}  // namespace krafla::tools
