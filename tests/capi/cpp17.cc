// krafla.hpp compiles as C++17 and does what it says: owners move, failures throw krafla::Error.
#include <cstdio>
#include <string>
#include <type_traits>

#include "krafla/krafla.hpp"

static_assert(std::is_nothrow_move_constructible_v<krafla::Session>);
static_assert(!std::is_copy_constructible_v<krafla::Session>);
static_assert(!std::is_copy_constructible_v<krafla::Model>);
static_assert(!std::is_constructible_v<krafla::Session, krafla::Tokenizer>);

int main() {
  try {
    krafla::Model::Open("/nonexistent.mlb");
    return 1;
  } catch (const krafla::Error& error) {
    if (error.code() >= 0 ||
        std::string(error.what()).find("/nonexistent.mlb") == std::string::npos)
      return 1;
    std::printf("%s: %s\n", error.name(), error.what());
  }
  krafla::Sampler sampler(7);
  sampler.Add("temperature", {{"t", 0.5}});
  krafla::Sampler moved = std::move(sampler);
  const float logits[] = {0, 9};
  return moved.seed() == 7 && moved.Sample(logits, 2) == 1 ? 0 : 1;
}
