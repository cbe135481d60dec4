// Requests to a scheduler, and what each would get from a session of its own.
#ifndef KRAFLA_TESTS_BATCH_REPLIES_H_
#define KRAFLA_TESTS_BATCH_REPLIES_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "lib/batch/scheduler.h"
#include "lib/sampler/sampler.h"
#include "tests/session/fixture.h"

namespace krafla::test {

struct Wanted {
  std::vector<int32_t> prompt;
  size_t n_tokens = 0;
  uint64_t seed = 0;  // 0: greedy
};

inline std::unique_ptr<Sampler> MakeSampler(uint64_t seed) {
  auto sampler = Sampler::Create(seed);
  REQUIRE(sampler.ok());
  if (seed != 0) REQUIRE((*sampler)->AddStage("temperature").ok());
  return *std::move(sampler);
}

class Reply final : public Task {
 public:
  explicit Reply(const Wanted& wanted) : sampler_(MakeSampler(wanted.seed)), n_(wanted.n_tokens) {}
  void Began(const std::shared_ptr<Session>& session) override { reused = session->length(); }
  StatusOr<std::span<const int32_t>> Next(const Session& session, size_t most) override {
    REQUIRE(most >= 1);
    if (ids.size() >= n_ || session.length() >= session.context()) {
      return std::span<const int32_t>();
    }
    KRAFLA_ASSIGN_OR_RETURN(id_, sampler_->Sample(session.logits()));
    return std::span<const int32_t>(&id_, 1);
  }
  StatusOr<bool> Took() override {
    ids.push_back(id_);
    return false;
  }
  void Ended(const Status& status) noexcept override {
    code = status.code();
    ++ended;
  }

  std::vector<int32_t> ids;
  int64_t reused = -1;
  absl::StatusCode code = absl::StatusCode::kUnknown;
  std::atomic<int> ended{0};

 private:
  std::unique_ptr<Sampler> sampler_;
  size_t n_;
  int32_t id_ = -1;
};

inline std::vector<int32_t> Solo(const std::shared_ptr<const Model>& model,
                                 const SessionOptions& options, const Wanted& wanted) {
  const auto session = NewSession(model, options);
  const auto sampler = MakeSampler(wanted.seed);
  REQUIRE(session->Append(wanted.prompt, {}).ok());
  std::vector<int32_t> ids;
  while (ids.size() < wanted.n_tokens && session->length() < session->context()) {
    const auto id = sampler->Sample(session->logits());
    REQUIRE(id.ok());
    ids.push_back(*id);
    REQUIRE(session->Append({&*id, 1}, {}).ok());
  }
  return ids;
}

inline std::unique_ptr<Scheduler> NewScheduler(const std::shared_ptr<const Model>& model,
                                               const SchedulerOptions& options) {
  auto scheduler = Scheduler::Create(model, options);
  INFO(Message(scheduler.status()));
  REQUIRE(scheduler.ok());
  return *std::move(scheduler);
}

inline void Drain(Scheduler& scheduler, int64_t max_us = -1) {
  for (bool done = false; !done;) {
    const auto step = scheduler.Step(max_us);
    INFO(Message(step.status()));
    REQUIRE(step.ok());
    done = *step;
  }
}

}  // namespace krafla::test

#endif  // KRAFLA_TESTS_BATCH_REPLIES_H_
