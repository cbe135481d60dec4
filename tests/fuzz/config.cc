// config.json and generation_config.json: every architecture reads the same values.
#include "lib/model/config.h"

#include "lib/convert/json_values.h"
#include "lib/model/arch.h"
#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace krafla;  // NOLINT: one function
  const auto values = JsonValues::Parse({reinterpret_cast<const char*>(data), size}, "config.json");
  if (!values.ok()) return 0;
  (void)values->StringInList("chat_template", "name", "default", "template");
  (void)values->StringMembers("weight_map");
  for (const Arch* arch : AllArchs()) {
    Config config;
    if (!arch->config_from_hf(*values, &config).ok() || !ValidateConfig(config).ok()) continue;
    if (config.n_layers > 64) continue;  // names of tensors by the thousand teach a fuzzer nothing
    for (const TensorSpec& spec : arch->tensors(config)) {
      KRAFLA_MUST(!spec.name.empty() && spec.rows >= 0 && spec.cols > 0);
    }
  }
  return 0;
}
