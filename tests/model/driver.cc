// The driver over a network made for the test: order of the steps, pauses after every item, and
// recurrent state that reads A and writes B.
#include "lib/model/driver.h"

#include "tests/model/tiny_model.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

constexpr size_t kWidth = 16;
constexpr uint64_t kStateBytes = kWidth * sizeof(float);

// x = token in every column.
class TokenStep final : public Step {
 public:
  const char* name() const override { return "token"; }
  StepWork Work(const Pass& pass) const override { return {pass.rows.size(), 2000000, 0}; }
  void Run(const Pass& pass, size_t begin, size_t end, size_t) const override {
    for (size_t i = begin; i < end; ++i) {
      std::fill_n(pass.x + i * pass.ldx, kWidth, static_cast<float>(pass.rows[i].token));
    }
  }
};

// A column a item: s = s / 2 + x, x = s, token after token. Items cost a piece each, so that a
// pause may come between any two.
class DecayStep final : public Step {
 public:
  const char* name() const override { return "decay"; }
  StepWork Work(const Pass& pass) const override {
    return {pass.sequences.size() * kWidth, 2000000, 0};
  }
  void Run(const Pass& pass, size_t begin, size_t end, size_t) const override {
    for (size_t i = begin; i < end; ++i) {
      const PassSequence& sequence = pass.sequences[i / kWidth];
      const size_t column = i % kWidth;
      const auto* in = reinterpret_cast<const float*>(sequence.state->recurrent_in());
      auto* out = reinterpret_cast<float*>(sequence.state->recurrent_out());
      float s = sequence.position == 0 ? 0 : in[column];
      for (size_t t = 0; t < sequence.n_rows; ++t) {
        float& x = pass.x[(sequence.first_row + t) * pass.ldx + column];
        s = s / 2 + x;
        x = s;
      }
      out[column] = s;
    }
  }
};

class CopyStep final : public Step {
 public:
  const char* name() const override { return "copy"; }
  StepWork Work(const Pass& pass) const override { return {pass.logit_rows.size(), 0, 16}; }
  void Run(const Pass& pass, size_t begin, size_t end, size_t) const override {
    for (size_t i = begin; i < end; ++i) {
      std::copy_n(pass.x + pass.logit_rows[i] * pass.ldx, kWidth, pass.logits + i * pass.ld_logits);
    }
  }
};

Network DecayNetwork() {
  NetworkShape shape;
  shape.n_layers = 1;
  shape.n_embd = kWidth;
  shape.n_vocab = kWidth;
  shape.n_heads = 1;
  shape.n_kv_heads = 1;
  shape.head_dim = 2;
  shape.rope_width = 1;
  shape.act_width = kWidth;
  shape.quantized_width = kWidth;
  shape.wide = kWidth;
  shape.recurrent_bytes = kStateBytes;
  StepList embed;
  embed.push_back(std::make_unique<TokenStep>());
  std::vector<StepList> layers(1);
  layers[0].push_back(std::make_unique<DecayStep>());
  StepList head;
  head.push_back(std::make_unique<CopyStep>());
  return Network(shape, std::move(embed), std::move(layers), std::move(head));
}

struct Events final : DriverEvents {
  int checks = 0;
  int fail_at = 0;
  std::vector<float> seen;
  Status Check() override { return ++checks == fail_at ? CancelledError("test") : OkStatus(); }
  Status OnLogits(size_t, int64_t, const float* row) override {
    seen.push_back(row[3]);
    return OkStatus();
  }
};

float Decayed(std::span<const int32_t> tokens) {
  float s = 0;
  for (const int32_t token : tokens) s = s / 2 + static_cast<float>(token);
  return s;
}

struct Fixture {
  Network network = DecayNetwork();
  std::shared_ptr<Runtime> runtime = test::MakeRuntime(2);
  std::unique_ptr<Driver> driver =
      *Driver::Create(network, *runtime, /*max_rows=*/40, /*context=*/512);
  State state = *State::Create(runtime->memory(), network.shape().kv(KvType::kF32), kStateBytes,
                               512, 512, 512);
  std::vector<float> logits = std::vector<float>(kWidth);

  void Begin(std::span<const int32_t> tokens, int64_t position, bool all = false) {
    BatchSequence sequence;
    sequence.state = &state;
    sequence.tokens = tokens;
    sequence.position = position;
    sequence.all_logits = all;
    sequence.last_logits = logits.data();
    driver->Begin({&sequence, 1});
  }
};

TEST_CASE("recurrent state is read from A, written to B, and committed or dropped") {
  Fixture f;
  Events events;
  const std::vector<int32_t> tokens = {3, 1, 4, 1, 5, 9, 2, 6};
  const std::span<const int32_t> all(tokens);
  f.Begin(all.first(4), 0);
  REQUIRE(*f.driver->Run(events, {}));
  f.state.Commit();
  CHECK(f.logits[7] == Decayed(all.first(4)));

  for (int attempt = 0; attempt < 2; ++attempt) {
    f.Begin(all.subspan(4, 2), 4);  // two passes of one step: the second goes on from B
    REQUIRE(*f.driver->Run(events, {}));
    f.Begin(all.subspan(6, 2), 6);
    REQUIRE(*f.driver->Run(events, {}));
    CHECK(f.logits[7] == Decayed(all));
    f.state.Drop();
  }
  const int32_t other = 8;
  f.Begin({&other, 1}, 4);
  REQUIRE(*f.driver->Run(events, {}));
  f.state.Commit();
  CHECK(f.logits[0] == Decayed(all.first(4)) / 2 + 8);
}

TEST_CASE("an interrupted pass goes on at its next item") {
  Fixture f;
  std::vector<int32_t> tokens(40);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>(i * 7 % 11);
  const std::span<const int32_t> all(tokens);
  Events whole;
  f.Begin(tokens, 0, /*all=*/true);
  REQUIRE(*f.driver->Run(whole, {}));
  REQUIRE(whole.seen.size() == 40);
  for (size_t i = 0; i < 40; ++i) CHECK(whole.seen[i] == Decayed(all.first(i + 1)));
  CHECK(f.logits[5] == Decayed(tokens));
  CHECK(f.driver->stages_done() == f.driver->stages());

  f.state.Drop();
  Events paused;
  f.Begin(tokens, 0, /*all=*/true);
  int runs = 1;
  Driver::Pause pause;
  pause.each_item = true;
  while (!*f.driver->Run(paused, pause)) ++runs;
  CHECK(runs >= 20 + 8);  // 40 rows and 16 columns, two threads a piece each
  CHECK(paused.seen == whole.seen);

  for (int fail_at = 1; fail_at < 30; fail_at += 7) {
    f.state.Drop();
    Events failing;
    failing.fail_at = fail_at;
    f.Begin(tokens, 0, /*all=*/true);
    CHECK(f.driver->Run(failing, {}).status().code() == absl::StatusCode::kCancelled);
    REQUIRE(*f.driver->Run(failing, {}));
    CHECK(failing.seen == whole.seen);
  }
  f.state.Drop();
  f.Begin(tokens, 0, /*all=*/true);
  Events late;
  pause.each_item = false;
  pause.deadline = Driver::Clock::now();
  CHECK(!*f.driver->Run(late, pause));
}

}  // namespace
}  // namespace krafla
