// krafla_loader.h: several instruction sets in one process, each a library of its own; a session
// saved by one goes on in another with equal bits; KRAFLA_ISA chooses. KRAFLA_FOLDER: where the
// libraries are.
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "krafla/krafla_loader.h"
#include "tests/capi/fixture.h"
#include "tests/support/catch.h"

namespace krafla::test {
namespace {

const std::vector<int32_t> kMore = {5, 6, 7, 300, 2, 9, 44};

struct Library {
  explicit Library(const char* isa) {
    char message[512];
    open = krafla_load_one(&k, KRAFLA_FOLDER, isa, message, sizeof(message)) == 0;
    INFO(message);
    // One that is not built, or not for this processor, is refused with a reason.
    if (!open) REQUIRE(std::strlen(message) > 10);
  }
  ~Library() { krafla_unload(&k); }
  Library(const Library&) = delete;
  krafla_functions k;
  bool open = false;
};

struct Run {
  std::string saved;          // after kPrompt
  std::vector<float> logits;  // after kMore
};

Run Continue(const krafla_functions& k, const std::string* saved) {
  krafla_model* model = nullptr;
  krafla_session* session = nullptr;
  krafla_session_options options = KRAFLA_SESSION_OPTIONS_INIT;
  options.context = 256;
  const std::string& path = TinyModelPath();
  REQUIRE(k.model_open_path(&model, nullptr, path.data(), path.size(), nullptr) == KRAFLA_OK);
  REQUIRE(k.session_create(&session, model, &options) == KRAFLA_OK);
  if (saved == nullptr) {
    REQUIRE(k.session_append(session, kPrompt.data(), kPrompt.size(), nullptr) == KRAFLA_OK);
  } else {
    REQUIRE(k.session_restore(session, saved->data(), saved->size(), nullptr) == KRAFLA_OK);
  }
  Run run;
  size_t size = 0;
  REQUIRE(k.session_save(session, nullptr, 0, &size, nullptr) == KRAFLA_E_BUFFER);
  run.saved.resize(size);
  REQUIRE(k.session_save(session, run.saved.data(), size, &size, nullptr) == KRAFLA_OK);
  REQUIRE(k.session_append(session, kMore.data(), kMore.size(), nullptr) == KRAFLA_OK);
  const float* row = nullptr;
  REQUIRE(k.session_get_logits(session, &row, &size) == KRAFLA_OK);
  run.logits.assign(row, row + size);
  k.session_free(session);
  k.model_free(model);
  return run;
}

}  // namespace

TEST_CASE("several sets in one process: a saved session goes on in any with equal bits") {
  std::map<std::string, std::unique_ptr<Library>> libraries;
  for (const char* isa : krafla_load_order) {
    auto library = std::make_unique<Library>(isa);
    if (!library->open) continue;
    REQUIRE(std::string(library->k.isa()) == isa);
    libraries[isa] = std::move(library);
  }
  REQUIRE(libraries.size() >= 2);
  const Run first = Continue(libraries.begin()->second->k, nullptr);
  for (const auto& [isa, library] : libraries) {
    INFO(isa);
    const Run cold = Continue(library->k, nullptr);
    REQUIRE(cold.saved == first.saved);
    REQUIRE(std::memcmp(cold.logits.data(), first.logits.data(), 4 * first.logits.size()) == 0);
    for (const auto& [other_isa, other] : libraries) {
      const Run restored = Continue(other->k, &cold.saved);
      REQUIRE(std::memcmp(restored.logits.data(), first.logits.data(), 4 * first.logits.size()) ==
              0);
    }
  }
}

TEST_CASE("the fastest is chosen, KRAFLA_ISA overrides, and a failure says why") {
  krafla_functions k;
  char message[512] = "";
  REQUIRE(krafla_load(&k, KRAFLA_FOLDER, message, sizeof(message)) == 0);
  const std::string best = k.isa();
  krafla_unload(&k);
  REQUIRE(best != "scalar");
  setenv("KRAFLA_ISA", "scalar", 1);
  REQUIRE(krafla_load(&k, KRAFLA_FOLDER, message, sizeof(message)) == 0);
  REQUIRE(std::string(k.isa()) == "scalar");
  krafla_unload(&k);
  REQUIRE(k.library == nullptr);
  setenv("KRAFLA_ISA", "z80", 1);
  REQUIRE(krafla_load(&k, KRAFLA_FOLDER, message, sizeof(message)) != 0);
  REQUIRE(std::string(message).find("z80") != std::string::npos);
  unsetenv("KRAFLA_ISA");
  REQUIRE(krafla_load(&k, "/nonexistent", message, sizeof(message)) != 0);
}

}  // namespace krafla::test
