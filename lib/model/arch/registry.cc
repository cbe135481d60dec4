// The list of architectures: one row each.
#include <algorithm>
#include <array>

#include "lib/model/arch.h"

namespace krafla {

extern const Arch kGemma2Arch;
extern const Arch kGemma3Arch;
extern const Arch kGraniteArch;
extern const Arch kLlamaArch;
extern const Arch kMistralArch;
extern const Arch kOlmo2Arch;
extern const Arch kPhi3Arch;
extern const Arch kQwen2Arch;
extern const Arch kQwen3Arch;
extern const Arch kSmolLm3Arch;

namespace {

constexpr std::array kArchs = {
    &kGemma2Arch, &kGemma3Arch, &kGraniteArch, &kLlamaArch, &kMistralArch,
    &kOlmo2Arch,  &kPhi3Arch,   &kQwen2Arch,   &kQwen3Arch, &kSmolLm3Arch,
};

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
