// ml_run --dry-run: what a run would take, without taking it.
#ifndef KRAFLA_TOOLS_RUN_DRY_RUN_H_
#define KRAFLA_TOOLS_RUN_DRY_RUN_H_

#include "tools/model_args.h"

namespace krafla::tools {

// Prints the plan to stdout.
ExitCode DryRun(const ModelArgs& args);

}  // namespace krafla::tools

#endif  // KRAFLA_TOOLS_RUN_DRY_RUN_H_
