// Models larger than memory through the C ABI: plans, figures, trimming, refusals.
#include <cstring>

#include "krafla/krafla_residency.h"
#include "tests/capi/fixture.h"
#include "tests/support/catch.h"

namespace krafla::test {
namespace {

krafla_residency_info InfoOf(const krafla_model* model) {
  krafla_residency_info info{};
  info.struct_size = sizeof(info);
  REQUIRE(krafla_model_get_residency(model, &info) == KRAFLA_OK);
  return info;
}

krafla_plan PlanOf(const std::string& path, const krafla_model_options& options) {
  krafla_plan plan{};
  plan.struct_size = sizeof(plan);
  REQUIRE(krafla_plan_path(&plan, path.data(), path.size(), &options, nullptr) == KRAFLA_OK);
  return plan;
}

std::vector<float> LogitsBehind(const krafla_model* model) {
  const SessionHandle session = MakeSession(model);
  REQUIRE(krafla_session_append(session.get(), kPrompt.data(), kPrompt.size(), nullptr) ==
          KRAFLA_OK);
  return Logits(session.get());
}

TEST_CASE("a mixture runs with the least budget that its plan names") {
  const std::string& path = TinyMixturePath();
  krafla_residency_options residency = KRAFLA_RESIDENCY_OPTIONS_INIT;
  krafla_model_options options = KRAFLA_MODEL_OPTIONS_INIT;
  options.residency = &residency;
  residency.budget = uint64_t{1} << 40;
  const krafla_plan most = PlanOf(path, options);
  CHECK(most.expert_slots == most.experts);
  CHECK(most.weights_mapped == 0);
  CHECK(most.least_budget < most.weights_read);

  residency.budget = most.least_budget;
  krafla_model* raw = nullptr;
  REQUIRE(krafla_model_open_path(&raw, nullptr, path.data(), path.size(), &options) == KRAFLA_OK);
  const ModelHandle model(raw);
  CHECK(LogitsBehind(model.get()) == LogitsBehind(Open(path).get()));
  const krafla_residency_info info = InfoOf(model.get());
  CHECK(info.misses > 0);
  CHECK(info.bytes_read >= info.misses);
  CHECK(info.slots < info.experts);
  CHECK(info.dense_bytes + info.slab_bytes <= most.least_budget);
  CHECK(info.reader != KRAFLA_READ_AUTO);
  uint64_t left = 0;
  REQUIRE(krafla_model_trim(model.get(), 0, &left) == KRAFLA_OK);
  CHECK(left == InfoOf(model.get()).slab_bytes);

  residency.budget = most.least_budget - 1;
  CHECK(krafla_model_open_path(&raw, nullptr, path.data(), path.size(), &options) ==
        KRAFLA_E_BUDGET);
  residency.budget = most.least_budget;
  residency.reader = 9;
  CHECK(krafla_model_open_path(&raw, nullptr, path.data(), path.size(), &options) ==
        KRAFLA_E_ARGUMENT);
  CHECK(std::strstr(krafla_error_message(), "reader") != nullptr);
}

TEST_CASE("what streams nothing says so") {
  const ModelHandle model = OpenTiny();
  krafla_residency_info info{};
  info.struct_size = sizeof(info);
  CHECK(krafla_model_get_residency(model.get(), &info) == KRAFLA_E_STATE);
  CHECK(krafla_model_trim(model.get(), 0, nullptr) == KRAFLA_E_STATE);
  // A model in memory has no file to stream from.
  const krafla_residency_options residency = KRAFLA_RESIDENCY_OPTIONS_INIT;
  krafla_model_options options = KRAFLA_MODEL_OPTIONS_INIT;
  options.residency = &residency;
  krafla_model* raw = nullptr;
  std::vector<char> bytes(4096);
  CHECK(krafla_model_open_memory(&raw, nullptr, bytes.data(), bytes.size(), &options) < 0);
  CHECK(raw == nullptr);
}

}  // namespace
}  // namespace krafla::test
