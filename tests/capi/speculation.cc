// Speculation through the ABI: whatever is drafted, tokens, text, log-probabilities and the session
// afterwards are those of plain decoding; greedy and sampled, dense and hybrid, at once, in slices
// and on the library's thread.
#include <cstring>
#include <string>
#include <thread>

#include "krafla/krafla_batch.h"
#include "tests/capi/fixture.h"
#include "tests/support/catch.h"

namespace krafla::test {
namespace {

struct Sampling {
  double temperature;
  double repeat;
};
constexpr Sampling kSamplings[] = {{0, 1}, {0, 1.3}, {0.4, 1}, {1, 1.1}, {3, 1}};

SamplerHandle MakeSampler(const Sampling& given, uint64_t seed) {
  krafla_sampler_options options = KRAFLA_SAMPLER_OPTIONS_INIT;
  options.seed = seed;
  options.has_seed = 1;
  krafla_sampler* raw = nullptr;
  REQUIRE(krafla_sampler_create(&raw, &options) == KRAFLA_OK);
  SamplerHandle sampler(raw);
  const krafla_param repeat = {"repeat", given.repeat};
  const krafla_param temperature = {"t", given.temperature};
  REQUIRE(krafla_sampler_add(raw, "penalties", 9, &repeat, 1) == KRAFLA_OK);
  REQUIRE(krafla_sampler_add(raw, "temperature", 11, &temperature, 1) == KRAFLA_OK);
  return sampler;
}

struct Reply {
  std::string text;
  std::vector<int32_t> ids;
  std::vector<int64_t> positions;
  std::vector<float> logprobs;
  size_t stop_after = SIZE_MAX;
};

int Collect(void* user, const krafla_token* token) {
  Reply& reply = *static_cast<Reply*>(user);
  reply.text.append(token->text, token->text_length);
  if (token->id < 0) return 0;
  reply.ids.push_back(token->id);
  reply.positions.push_back(token->position);
  reply.logprobs.push_back(token->logprob);
  return reply.ids.size() >= reply.stop_after ? 1 : 0;
}

// A text that repeats itself, so that there is something to look up.
std::vector<int32_t> Prompt() {
  std::vector<int32_t> ids;
  for (int i = 0; i < 3; ++i) ids.insert(ids.end(), kPrompt.begin(), kPrompt.end());
  return ids;
}

enum class Form { kAtOnce, kSlices, kThread };

struct Run {
  Reply reply;
  krafla_generate_result result = KRAFLA_GENERATE_RESULT_INIT;
  std::vector<int32_t> ids;
  std::vector<float> logits;
  int32_t next_sampled = -1;  // with the sampler as it is afterwards
};

struct Request {
  const krafla_model* model = nullptr;
  Sampling sampling{};
  uint64_t seed = 1;
  Form form = Form::kAtOnce;
  size_t stop_after = SIZE_MAX;
  const krafla_string* stop = nullptr;
  int64_t max_tokens = 70;
};

void Generate(krafla_session* session, krafla_sampler* sampler, const Form form,
              const krafla_generate_options& given, Reply* reply) {
  krafla_generate_options options = given;
  if (form == Form::kThread) {
    options.on_token = nullptr;
    REQUIRE(krafla_session_start(session, nullptr, 0, sampler, &options) == KRAFLA_OK);
    krafla_event event = KRAFLA_EVENT_INIT;
    while (krafla_session_poll(session, &event, -1) == KRAFLA_OK) {
      if (event.kind == KRAFLA_EVENT_END) break;
      if (event.kind != KRAFLA_EVENT_TOKEN) continue;
      reply->text.append(event.text, event.text_length);
      if (event.id >= 0) reply->ids.push_back(event.id);
    }
    REQUIRE(event.code == KRAFLA_OK);
  } else if (form == Form::kSlices) {
    REQUIRE(krafla_session_begin_generate(session, sampler, &options) == KRAFLA_OK);
    int32_t code = KRAFLA_PAUSED;
    for (int64_t i = 0; code == KRAFLA_PAUSED; ++i) {
      code = krafla_session_step(session, i % 2);  // one item, one microsecond
    }
    REQUIRE(code == KRAFLA_OK);
  } else {
    REQUIRE(krafla_session_generate(session, sampler, &options, nullptr) == KRAFLA_OK);
  }
}

Run RunOne(const Request& request, const krafla_speculation* speculation) {
  Run run;
  SessionHandle session = MakeSession(request.model);
  const auto prompt = Prompt();
  REQUIRE(krafla_session_append(session.get(), prompt.data(), prompt.size(), nullptr) == KRAFLA_OK);
  SamplerHandle sampler = MakeSampler(request.sampling, request.seed);
  run.reply.stop_after = request.stop_after;
  krafla_generate_options options = KRAFLA_GENERATE_OPTIONS_INIT;
  options.max_tokens = request.max_tokens;
  options.ignore_end = 1;
  options.on_token = Collect;
  options.user = &run.reply;
  options.logprobs = 1;
  options.stops = request.stop;
  options.n_stops = request.stop != nullptr ? 1 : 0;
  options.speculation = speculation;
  Generate(session.get(), sampler.get(), request.form, options, &run.reply);
  REQUIRE(krafla_session_get_result(session.get(), &run.result) == KRAFLA_OK);
  run.ids = Ids(session.get());
  run.logits = Logits(session.get());
  REQUIRE(krafla_sampler_sample(sampler.get(), run.logits.data(), run.logits.size(),
                                &run.next_sampled) == KRAFLA_OK);
  return run;
}

void CheckSame(const Run& a, const Run& b, Form form) {
  CHECK(a.reply.text == b.reply.text);
  CHECK(a.reply.ids == b.reply.ids);
  if (form != Form::kThread) {
    CHECK(a.reply.positions == b.reply.positions);
    CHECK(a.reply.logprobs == b.reply.logprobs);
  }
  CHECK(a.ids == b.ids);
  REQUIRE(a.logits.size() == b.logits.size());
  CHECK(std::memcmp(a.logits.data(), b.logits.data(), a.logits.size() * sizeof(float)) == 0);
  CHECK(a.next_sampled == b.next_sampled);
  CHECK(a.result.n_tokens == b.result.n_tokens);
  CHECK(a.result.finish == b.result.finish);
  CHECK(a.result.stop == b.result.stop);
  CHECK(b.result.accepted <= b.result.drafted);
}

}  // namespace

TEST_CASE("speculation by lookup gives what plain decoding gives") {
  for (const std::string& path : {TinyModelPath(), TinyHybridPath()}) {
    ModelHandle model = Open(path);
    int64_t accepted = 0, rejected = 0;
    for (const Sampling& sampling : kSamplings) {
      for (const Form form : {Form::kAtOnce, Form::kSlices, Form::kThread}) {
        Request request{model.get(), sampling, 5, form};
        const Run plain = RunOne(request, nullptr);
        for (const int32_t always : {0, 1}) {
          INFO(path << " t " << sampling.temperature << " form " << static_cast<int>(form));
          krafla_speculation speculation = KRAFLA_SPECULATION_INIT;
          speculation.kind = KRAFLA_SPECULATE_LOOKUP;
          speculation.always = always;
          const Run fast = RunOne(request, &speculation);
          CheckSame(plain, fast, form);
          accepted += fast.result.accepted;
          rejected += fast.result.drafted - fast.result.accepted;
        }
      }
    }
    CHECK(accepted > 20);
    CHECK(rejected > 100);
  }
}

TEST_CASE("speculation by a model gives what plain decoding gives, whatever the model says") {
  for (const std::string& path : {TinyModelPath(), TinyHybridPath()}) {
    ModelHandle model = Open(path);
    for (const Sampling& sampling : kSamplings) {
      for (const Form form : {Form::kAtOnce, Form::kSlices, Form::kThread}) {
        INFO(path << " t " << sampling.temperature << " form " << static_cast<int>(form));
        Request request{model.get(), sampling, 9, form};
        const Run plain = RunOne(request, nullptr);
        krafla_speculation speculation = KRAFLA_SPECULATION_INIT;
        speculation.kind = KRAFLA_SPECULATE_MODEL;
        speculation.max_tokens = 5;
        speculation.always = 1;
        // The model itself is always right, since it draws the same tokens.
        SessionHandle same = MakeSession(model.get());
        speculation.draft = same.get();
        const Run right = RunOne(request, &speculation);
        CheckSame(plain, right, form);
        CHECK(right.result.accepted == right.result.drafted);
        CHECK(right.result.accepted > 50);
        // With a coarser cache it is not.
        SessionHandle draft = MakeSession(model.get(), KRAFLA_KV_K4V4);
        speculation.draft = draft.get();
        CheckSame(plain, RunOne(request, &speculation), form);
        // And once more with what the draft's session holds now; with what pays.
        speculation.always = 0;
        request.seed = 10;
        CheckSame(RunOne(request, nullptr), RunOne(request, &speculation), form);
      }
    }
  }
}

TEST_CASE("a callback, a stop string or a full context ends a draft where it ends plain decoding") {
  ModelHandle model = OpenTiny();
  krafla_speculation speculation = KRAFLA_SPECULATION_INIT;
  speculation.kind = KRAFLA_SPECULATE_LOOKUP;
  speculation.always = 1;
  for (const Sampling& sampling : kSamplings) {
    Request request{model.get(), sampling};
    const Run whole = RunOne(request, nullptr);
    for (const size_t n : {1, 2, 3, 7, 20, 33}) {
      request.stop_after = n;
      request.stop = nullptr;
      request.max_tokens = 70;
      CheckSame(RunOne(request, nullptr), RunOne(request, &speculation), Form::kAtOnce);
      request.stop_after = SIZE_MAX;
      request.max_tokens = static_cast<int64_t>(n);
      CheckSame(RunOne(request, nullptr), RunOne(request, &speculation), Form::kAtOnce);
    }
    request.max_tokens = 0;
    CheckSame(RunOne(request, nullptr), RunOne(request, &speculation), Form::kAtOnce);
    size_t middle = whole.reply.text.size() / 2;
    while (middle > 0 && (whole.reply.text[middle] & 0xC0) == 0x80) --middle;
    size_t end = std::min(middle + 3, whole.reply.text.size());
    while (end < whole.reply.text.size() && (whole.reply.text[end] & 0xC0) == 0x80) ++end;
    const std::string text = whole.reply.text.substr(middle, end - middle);
    const krafla_string stop = {text.data(), text.size()};
    request.stop = &stop;
    CheckSame(RunOne(request, nullptr), RunOne(request, &speculation), Form::kAtOnce);
  }
}

TEST_CASE("speculation that cannot be is refused by name") {
  ModelHandle model = OpenTiny();
  ModelHandle other = Open(TinyHybridPath());
  SessionHandle session = MakeSession(model.get());
  SessionHandle draft = MakeSession(other.get());
  SamplerHandle sampler = MakeSampler({0, 1}, 1);
  REQUIRE(krafla_session_append(session.get(), kPrompt.data(), kPrompt.size(), nullptr) ==
          KRAFLA_OK);
  krafla_speculation speculation = KRAFLA_SPECULATION_INIT;
  krafla_generate_options options = KRAFLA_GENERATE_OPTIONS_INIT;
  options.speculation = &speculation;
  const auto code = [&] {
    return krafla_session_generate(session.get(), sampler.get(), &options, nullptr);
  };
  speculation.kind = 3;
  CHECK(code() == KRAFLA_E_ARGUMENT);
  speculation.kind = KRAFLA_SPECULATE_LOOKUP;
  for (const int32_t n : {-1, 16, INT32_MAX}) {
    speculation.max_tokens = n;
    CHECK(code() == KRAFLA_E_ARGUMENT);
  }
  speculation.max_tokens = 0;
  speculation.kind = KRAFLA_SPECULATE_MODEL;
  CHECK(code() == KRAFLA_E_ARGUMENT);
  speculation.draft = session.get();
  CHECK(code() == KRAFLA_E_ARGUMENT);
  speculation.draft = draft.get();
  CHECK(code() == KRAFLA_E_UNSUPPORTED);
  CHECK(std::string(krafla_error_message()).find("tokenizer") != std::string::npos);
  CHECK(Ids(session.get()) == kPrompt);
}

TEST_CASE("a generation with drafts goes on after a cancel") {
  for (const std::string& path : {TinyModelPath(), TinyHybridPath()}) {
    ModelHandle model = Open(path);
    const Request request{model.get(), {0.4, 1}, 3};
    const Run plain = RunOne(request, nullptr);
    for (const int32_t kind : {KRAFLA_SPECULATE_LOOKUP, KRAFLA_SPECULATE_MODEL}) {
      SessionHandle session = MakeSession(model.get());
      SessionHandle draft = MakeSession(model.get());
      SamplerHandle sampler = MakeSampler(request.sampling, request.seed);
      const auto prompt = Prompt();
      REQUIRE(krafla_session_append(session.get(), prompt.data(), prompt.size(), nullptr) ==
              KRAFLA_OK);
      krafla_speculation speculation = KRAFLA_SPECULATION_INIT;
      speculation.kind = kind;
      speculation.draft = draft.get();
      speculation.always = 1;
      krafla_generate_options options = KRAFLA_GENERATE_OPTIONS_INIT;
      options.max_tokens = request.max_tokens;
      options.ignore_end = 1;
      options.speculation = &speculation;
      REQUIRE(krafla_session_begin_generate(session.get(), sampler.get(), &options) == KRAFLA_OK);
      int32_t code = KRAFLA_PAUSED;
      int cancelled = 0;
      for (int i = 0; code != KRAFLA_OK; ++i) {
        if (i % 3 == 0) REQUIRE(krafla_session_cancel(session.get()) == KRAFLA_OK);
        code = krafla_session_step(session.get(), 0);
        cancelled += code == KRAFLA_E_CANCELLED ? 1 : 0;
        REQUIRE((code == KRAFLA_OK || code == KRAFLA_PAUSED || code == KRAFLA_E_CANCELLED));
      }
      CHECK(cancelled > 10);
      CHECK(Ids(session.get()) == plain.ids);
    }
  }
}

}  // namespace krafla::test
