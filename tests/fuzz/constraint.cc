// A choice, a regular expression, a grammar or a JSON schema, by the first byte: read, compiled,
// and walked along an allowed way, on which every state must have a way on or be complete.
#include <string_view>
#include <vector>

#include "lib/constraint/automaton.h"
#include "lib/constraint/schema.h"
#include "lib/constraint/walker.h"
#include "tests/fuzz/target.h"

namespace {

using namespace krafla;  // NOLINT: one target

StatusOr<Grammar> Read(uint8_t kind, std::string_view text) {
  switch (kind % 4) {
    case 0: {
      std::vector<std::string_view> choices;
      for (size_t at = 0; at <= text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        choices.push_back(text.substr(at, end - at));
        at = end + 1;
      }
      return ReadChoices(choices);
    }
    case 1:
      return ReadRegex(text);
    case 2:
      return ReadGbnf(text);
    default: {
      SchemaOptions options;
      options.space = static_cast<JsonSpace>(kind / 4 % 3);
      options.in_order = (kind / 12) % 2 != 0;
      options.lenient = (kind / 24) % 2 != 0;
      return ReadJsonSchema(text, options);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const StatusOr<Grammar> grammar = Read(data[0], text);
  if (!grammar.ok()) {
    KRAFLA_MUST(!Message(grammar.status()).empty());
    return 0;
  }
  const StatusOr<Automaton> automaton = Automaton::Build(*grammar, 50000);
  if (!automaton.ok()) return 0;
  Walker walker(&*automaton, nullptr);
  ConfigId config = walker.Start();
  for (size_t i = 0; i < 200 && config != Walker::kTooLarge; ++i) {
    KRAFLA_MUST(config != Walker::kDead);
    if (!walker.open(config)) {
      KRAFLA_MUST(walker.complete(config));
      break;
    }
    // The first possible byte from one that the input chooses on.
    ConfigId next = Walker::kDead;
    const size_t first = data[i % size];
    for (size_t k = 0; k < 256 && next == Walker::kDead; ++k) {
      next = walker.Next(config, static_cast<uint8_t>(first + k));
    }
    KRAFLA_MUST(next != Walker::kDead);
    config = next;
  }
  return 0;
}
