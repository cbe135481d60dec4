// The list of architectures: one row each.
#include <algorithm>

#include "lib/model/arch.h"

namespace krafla {

#define KRAFLA_ARCHS(X) \
  X(kGemma2Arch)        \
  X(kGemma3Arch)        \
  X(kGptOssArch)        \
  X(kGraniteArch)       \
  X(kLlamaArch)         \
  X(kMiniMaxM2Arch)     \
  X(kMistralArch)       \
  X(kMixtralArch)       \
  X(kOlmo2Arch)         \
  X(kPhi3Arch)          \
  X(kQwen2Arch)         \
  X(kQwen2MoeArch)      \
  X(kQwen3Arch)         \
  X(kQwen35Arch)        \
  X(kQwen35MoeArch)     \
  X(kQwen3MoeArch)      \
  X(kQwen3NextArch)     \
  X(kSmolLm3Arch)

#define X(name) extern const Arch name;
KRAFLA_ARCHS(X)
#undef X

namespace {

#define X(name) &name,
constexpr const Arch* kArchs[] = {KRAFLA_ARCHS(X)};
#undef X

const Arch* Find(std::string_view name, std::span<const std::string_view> Arch::*names) {
  for (const Arch* arch : kArchs) {
    const auto& list = arch->*names;
    if (std::find(list.begin(), list.end(), name) != list.end()) return arch;
  }
  return nullptr;
}

}  // namespace

std::span<const Arch* const> AllArchs() { return kArchs; }

const Arch* FindArch(std::string_view name) {
  for (const Arch* arch : kArchs) {
    if (arch->name == name) return arch;
  }
  return nullptr;
}

const Arch* FindHfArch(std::string_view name) { return Find(name, &Arch::hf_names); }
const Arch* FindGgufArch(std::string_view name) { return Find(name, &Arch::gguf_names); }

}  // namespace krafla
