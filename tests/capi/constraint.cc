// Constraints through the ABI: replies are what they must be, the same ones alone, in slices, with
// drafts and in a scheduler; they end only where they may; everything else that a generation can do
// goes on beside them.
#include <cmath>
#include <string>
#include <thread>

#include "krafla/krafla_batch.h"
#include "krafla/krafla_constraint.h"
#include "tests/capi/constrained.h"
#include "tests/capi/fixture.h"
#include "tests/support/catch.h"

namespace krafla::test {
namespace {

int Collect(void* user, const krafla_token* token) {
  Reply& reply = *static_cast<Reply*>(user);
  reply.text.append(token->text, token->text_length);
  if (token->id < 0) return 0;
  reply.ids.push_back(token->id);
  reply.logprobs.push_back(token->chain_logprob);
  return 0;
}

krafla_generate_options Options(const krafla_constraint* constraint, Reply* reply = nullptr) {
  krafla_generate_options options = KRAFLA_GENERATE_OPTIONS_INIT;
  options.constraint = constraint;
  options.max_tokens = 60;
  options.logprobs = 1;
  if (reply != nullptr) {
    options.on_token = Collect;
    options.user = reply;
  }
  return options;
}

Reply Alone(const krafla_model* model, const krafla_constraint* constraint, double t,
            const krafla_speculation* speculation = nullptr, bool slices = false) {
  Reply reply;
  SessionHandle session = Prompted(model);
  SamplerHandle sampler = MakeSampler(t);
  krafla_generate_options options = Options(constraint, &reply);
  options.speculation = speculation;
  krafla_generate_result result = KRAFLA_GENERATE_RESULT_INIT;
  if (slices) {
    REQUIRE(krafla_session_begin_generate(session.get(), sampler.get(), &options) == KRAFLA_OK);
    int32_t code = KRAFLA_PAUSED;
    while (code == KRAFLA_PAUSED) code = krafla_session_step(session.get(), 0);
    REQUIRE(code == KRAFLA_OK);
    REQUIRE(krafla_session_get_result(session.get(), &result) == KRAFLA_OK);
  } else {
    const int32_t code = krafla_session_generate(session.get(), sampler.get(), &options, &result);
    INFO(krafla_error_message());
    REQUIRE(code == KRAFLA_OK);
  }
  reply.finish = result.finish;
  std::vector<int32_t> read = kPrompt;
  read.insert(read.end(), reply.ids.begin(), reply.ids.end());
  CHECK(Ids(session.get()) == read);
  return reply;
}

Reply Scheduled(const krafla_model* model, const krafla_constraint* constraint, double t) {
  krafla_scheduler_options options = KRAFLA_SCHEDULER_OPTIONS_INIT;
  options.context = 256;
  krafla_scheduler* scheduler = nullptr;
  REQUIRE(krafla_scheduler_create(&scheduler, model, &options) == KRAFLA_OK);
  const krafla_generate_options generate = Options(constraint);
  krafla_request* request = nullptr;
  REQUIRE(krafla_scheduler_add(&request, scheduler, kPrompt.data(), kPrompt.size(),
                               MakeSampler(t).get(), &generate, nullptr) == KRAFLA_OK);
  REQUIRE(krafla_scheduler_step(scheduler, -1) == KRAFLA_OK);
  Reply reply;
  krafla_event event = KRAFLA_EVENT_INIT;
  while (krafla_request_poll(request, &event, -1) == KRAFLA_OK) {
    if (event.kind == KRAFLA_EVENT_END) break;
    if (event.kind != KRAFLA_EVENT_TOKEN) continue;
    reply.text.append(event.text, event.text_length);
    if (event.id < 0) continue;
    reply.ids.push_back(event.id);
    reply.logprobs.push_back(event.chain_logprob);
  }
  CHECK(event.code == KRAFLA_OK);
  reply.finish = event.finish;
  krafla_request_free(request);
  krafla_scheduler_free(scheduler);
  return reply;
}

// Whether the text is a whole one, or (ended by a length) the beginning of one.
void CheckText(const krafla_constraint* constraint, const Reply& reply) {
  INFO(reply.text);
  StateHandle state = MakeState(constraint);
  REQUIRE(krafla_constraint_state_accept_text(state.get(), reply.text.data(), reply.text.size()) ==
          KRAFLA_OK);
  const krafla_constraint_state_info info = InfoOf(state.get());
  if (reply.finish != KRAFLA_FINISH_LENGTH) CHECK(info.complete != 0);
  CHECK((reply.finish == KRAFLA_FINISH_COMPLETE) == (info.open == 0));
}

struct Source {
  int32_t kind;
  const char* text;
};
constexpr Source kSources[] = {
    {KRAFLA_CONSTRAINT_REGEX, "[A-Z][a-z]{2,7}( [a-z]{1,9}){3,6}\\."},
    {KRAFLA_CONSTRAINT_REGEX, "(a|b)*c{3,40}"},
    {KRAFLA_CONSTRAINT_GBNF,
     "root ::= \"[\" (item (\", \" item){0,4})? \"]\"\n"
     "item ::= [0-9]{1,3} | root | \"And it was so\""},
    {KRAFLA_CONSTRAINT_JSON_SCHEMA,
     R"({"type":"object","properties":{"name":{"type":"string","maxLength":12},)"
     R"("day":{"type":"integer","minimum":1,"maximum":31},"good":{"type":"boolean"}},)"
     R"("required":["name","day"],"additionalProperties":false})"},
};

}  // namespace

TEST_CASE("a reply is what its constraint says, however it is decoded") {
  ModelHandle model = OpenTiny();
  TokenizerHandle tokenizer = MakeTokenizer(model.get());
  for (const Source& source : kSources) {
    ConstraintHandle constraint = Compile(tokenizer.get(), source.kind, {source.text});
    for (const double t : {0.0, 0.7, 2.0}) {
      INFO(source.text << " t " << t);
      const Reply plain = Alone(model.get(), constraint.get(), t);
      CHECK_FALSE(plain.text.empty());
      CheckText(constraint.get(), plain);
      CHECK(Alone(model.get(), constraint.get(), t, nullptr, true) == plain);
      CHECK(Scheduled(model.get(), constraint.get(), t) == plain);
      krafla_speculation speculation = KRAFLA_SPECULATION_INIT;
      speculation.always = 1;
      speculation.kind = KRAFLA_SPECULATE_LOOKUP;
      CHECK(Alone(model.get(), constraint.get(), t, &speculation) == plain);
      CHECK(Alone(model.get(), constraint.get(), t, &speculation, true) == plain);
      SessionHandle draft = MakeSession(model.get());
      speculation.kind = KRAFLA_SPECULATE_MODEL;
      speculation.draft = draft.get();
      CHECK(Alone(model.get(), constraint.get(), t, &speculation) == plain);
    }
  }
}

TEST_CASE("a choice is taken and then nothing can follow") {
  ModelHandle model = OpenTiny();
  TokenizerHandle tokenizer = MakeTokenizer(model.get());
  ConstraintHandle choice =
      Compile(tokenizer.get(), KRAFLA_CONSTRAINT_CHOICES, {"north", "south-east", "wait"});
  for (const double t : {0.0, 5.0}) {
    const Reply reply = Alone(model.get(), choice.get(), t);
    CHECK((reply.text == "north" || reply.text == "south-east" || reply.text == "wait"));
    CHECK(reply.finish == KRAFLA_FINISH_COMPLETE);
  }
  ConstraintHandle nothing = Compile(tokenizer.get(), KRAFLA_CONSTRAINT_GBNF, {"root ::= \"\""});
  const Reply none = Alone(model.get(), nothing.get(), 1);
  CHECK(none.ids.empty());
  CHECK(none.finish == KRAFLA_FINISH_COMPLETE);
}

TEST_CASE("tokens that end a reply come only where the text may end") {
  ModelHandle model = OpenTiny();
  TokenizerHandle tokenizer = MakeTokenizer(model.get());
  ConstraintHandle letters = Compile(tokenizer.get(), KRAFLA_CONSTRAINT_REGEX, {"[a-z]{7,}"});
  const int32_t end = 2;  // <|im_end|>
  SessionHandle session = Prompted(model.get());
  SamplerHandle sampler = MakeSampler(1);
  const krafla_bias wanted = {1e6, end, 0};
  REQUIRE(krafla_sampler_set_bias(sampler.get(), &wanted, 1) == KRAFLA_OK);
  Reply reply;
  krafla_generate_options options = Options(letters.get(), &reply);
  options.end_ids = &end;
  options.n_end_ids = 1;
  krafla_generate_result result = KRAFLA_GENERATE_RESULT_INIT;
  REQUIRE(krafla_session_generate(session.get(), sampler.get(), &options, &result) == KRAFLA_OK);
  CHECK(result.finish == KRAFLA_FINISH_END);
  CHECK(result.end_id == end);
  CHECK(reply.text.size() >= 7);
  CHECK(reply.text.size() < 20);
  // Without end tokens it goes on to the length.
  options.ignore_end = 1;
  options.n_end_ids = 0;
  SessionHandle other = Prompted(model.get());
  REQUIRE(krafla_session_generate(other.get(), sampler.get(), &options, &result) == KRAFLA_OK);
  CHECK(result.finish == KRAFLA_FINISH_LENGTH);
  // A letter as the end: never within the first seven.
  std::vector<int32_t> ends;
  for (int32_t id = 3; id < 200; ++id) ends.push_back(id);
  reply = {};
  options.end_ids = ends.data();
  options.n_end_ids = ends.size();
  SessionHandle third = Prompted(model.get());
  const int32_t code = krafla_session_generate(third.get(), sampler.get(), &options, &result);
  INFO(krafla_error_message());
  REQUIRE(code == KRAFLA_OK);
  CHECK(reply.text.size() >= 7);
}

TEST_CASE("stages, stop strings and a full context work beside a constraint") {
  ModelHandle model = OpenTiny();
  TokenizerHandle tokenizer = MakeTokenizer(model.get());
  ConstraintHandle digits = Compile(tokenizer.get(), KRAFLA_CONSTRAINT_REGEX, {"[0-9]+"});
  // The host's stage sees only what is allowed, and may choose among that.
  SamplerHandle sampler = MakeSampler(1);
  struct Seen {
    size_t calls = 0, most = 0;
  } seen;
  krafla_custom_stage stage = KRAFLA_CUSTOM_STAGE_INIT;
  stage.user = &seen;
  stage.apply = [](void* user, krafla_candidate*, size_t* n, const int32_t*, size_t) {
    Seen& s = *static_cast<Seen*>(user);
    ++s.calls;
    s.most = std::max(s.most, *n);
    return 0;
  };
  REQUIRE(krafla_sampler_set_custom(sampler.get(), &stage) == KRAFLA_OK);
  Reply reply;
  krafla_generate_options options = Options(digits.get(), &reply);
  options.max_tokens = 10;
  krafla_generate_result result = KRAFLA_GENERATE_RESULT_INIT;
  SessionHandle session = Prompted(model.get());
  REQUIRE(krafla_session_generate(session.get(), sampler.get(), &options, &result) == KRAFLA_OK);
  CHECK(seen.calls >= static_cast<size_t>(result.n_tokens));
  CHECK(seen.most < 60);
  // A bias that bans everything allowed is an error, and what was read stays.
  std::vector<krafla_bias> bans;
  for (int32_t id = 0; id < 512; ++id) bans.push_back({-INFINITY, id, 0});
  SamplerHandle banning = MakeSampler(0);
  REQUIRE(krafla_sampler_set_bias(banning.get(), bans.data(), bans.size()) == KRAFLA_OK);
  SessionHandle other = Prompted(model.get());
  CHECK(krafla_session_generate(other.get(), banning.get(), &options, &result) ==
        KRAFLA_E_ARGUMENT);
  CHECK(result.n_tokens == 0);
  CHECK(Ids(other.get()) == kPrompt);
  // A stop string.
  ConstraintHandle counted =
      Compile(tokenizer.get(), KRAFLA_CONSTRAINT_REGEX, {"one two three( four)*"});
  reply = {};
  options.constraint = counted.get();
  const krafla_string stop = {"o th", 4};
  options.stops = &stop;
  options.n_stops = 1;
  REQUIRE(krafla_session_generate(other.get(), MakeSampler(0).get(), &options, &result) ==
          KRAFLA_OK);
  CHECK(result.finish == KRAFLA_FINISH_STOP);
  CHECK(reply.text == "one tw");
  // The context's end.
  options = Options(digits.get());
  options.max_tokens = 0;
  options.ignore_end = 1;
  REQUIRE(krafla_session_generate(other.get(), MakeSampler(1).get(), &options, &result) ==
          KRAFLA_OK);
  CHECK(result.finish == KRAFLA_FINISH_CONTEXT);
}

TEST_CASE("one constraint serves threads at once and may be freed while it is used") {
  ModelHandle model = OpenTiny();
  TokenizerHandle tokenizer = MakeTokenizer(model.get());
  ConstraintHandle constraint = Compile(tokenizer.get(), kSources[3].kind, {kSources[3].text});
  const Reply plain = Alone(model.get(), constraint.get(), 1);
  std::vector<Reply> replies(4);
  std::vector<SessionHandle> sessions;
  std::vector<SamplerHandle> samplers;
  for (Reply& reply : replies) {
    sessions.push_back(Prompted(model.get()));
    samplers.push_back(MakeSampler(1));
    const krafla_generate_options options = Options(constraint.get(), &reply);
    REQUIRE(krafla_session_begin_generate(sessions.back().get(), samplers.back().get(), &options) ==
            KRAFLA_OK);
  }
  constraint.reset();
  tokenizer.reset();
  std::vector<std::thread> threads;
  for (SessionHandle& session : sessions) {
    threads.emplace_back([&session] { krafla_session_step(session.get(), -1); });
  }
  for (std::thread& thread : threads) thread.join();
  for (Reply& reply : replies) {
    reply.finish = plain.finish;
    CHECK(reply == plain);
  }
}

TEST_CASE("what cannot be compiled or used is refused by name") {
  ModelHandle model = OpenTiny();
  TokenizerHandle tokenizer = MakeTokenizer(model.get());
  krafla_constraint* out = nullptr;
  const auto compile = [&](int32_t kind, std::vector<std::string> texts,
                           const krafla_constraint_options* options = nullptr) {
    std::vector<krafla_string> raw;
    for (const std::string& text : texts) raw.push_back({text.data(), text.size()});
    const int32_t code =
        krafla_constraint_compile(&out, tokenizer.get(), kind, raw.data(), raw.size(), options);
    CHECK(out == nullptr);
    return code;
  };
  const auto says = [](const char* what) {
    INFO(krafla_error_message());
    return std::string(krafla_error_message()).find(what) != std::string::npos;
  };
  CHECK(compile(0, {"a"}) == KRAFLA_E_ARGUMENT);
  CHECK(compile(5, {"a"}) == KRAFLA_E_ARGUMENT);
  CHECK(says("kind: got 5"));
  CHECK(compile(KRAFLA_CONSTRAINT_REGEX, {"a", "b"}) == KRAFLA_E_ARGUMENT);
  CHECK(compile(KRAFLA_CONSTRAINT_REGEX, {}) == KRAFLA_E_ARGUMENT);
  CHECK(compile(KRAFLA_CONSTRAINT_CHOICES, {}) == KRAFLA_E_ARGUMENT);
  CHECK(compile(KRAFLA_CONSTRAINT_REGEX, {"ab(c"}) == KRAFLA_E_ARGUMENT);
  CHECK(says("byte"));
  CHECK(compile(KRAFLA_CONSTRAINT_GBNF, {"root ::= a"}) == KRAFLA_E_ARGUMENT);
  CHECK(compile(KRAFLA_CONSTRAINT_JSON_SCHEMA, {R"({"contains": {}})"}) == KRAFLA_E_UNSUPPORTED);
  CHECK(says("contains"));
  krafla_constraint_options options = KRAFLA_CONSTRAINT_OPTIONS_INIT;
  options.space = 3;
  CHECK(compile(KRAFLA_CONSTRAINT_JSON_SCHEMA, {"{}"}, &options) == KRAFLA_E_ARGUMENT);
  options.space = 0;
  options.max_nodes = 600001;
  CHECK(compile(KRAFLA_CONSTRAINT_JSON_SCHEMA, {"{}"}, &options) == KRAFLA_E_ARGUMENT);
  options.max_nodes = 20;
  CHECK(compile(KRAFLA_CONSTRAINT_JSON_SCHEMA, {"{}"}, &options) == KRAFLA_E_UNSUPPORTED);
  CHECK(says("20 nodes"));
  CHECK(krafla_constraint_compile(&out, nullptr, 1, nullptr, 0, nullptr) == KRAFLA_E_ARGUMENT);
  CHECK(krafla_constraint_compile(&out, tokenizer.get(), 1, nullptr, 2, nullptr) ==
        KRAFLA_E_ARGUMENT);
  krafla_constraint_free(nullptr);
  krafla_constraint_state_free(nullptr);

  // A model without a tokenizer has no text to constrain.
  ModelHandle hybrid = Open(TinyHybridPath());
  SessionHandle session = Prompted(hybrid.get());
  ConstraintHandle constraint = Compile(tokenizer.get(), KRAFLA_CONSTRAINT_REGEX, {"a"});
  krafla_generate_options generate = Options(constraint.get());
  CHECK(krafla_session_generate(session.get(), MakeSampler(0).get(), &generate, nullptr) ==
        KRAFLA_E_NOT_FOUND);
  CHECK(says("tokenizer"));
}

TEST_CASE("a host that samples by itself gets what a generation gets") {
  ModelHandle model = OpenTiny();
  TokenizerHandle tokenizer = MakeTokenizer(model.get());
  // Nothing of it is forced, so that masks are all that there is.
  ConstraintHandle constraint =
      Compile(tokenizer.get(), KRAFLA_CONSTRAINT_REGEX, {"[a-z]{3}[ .][A-Z0-9]{4}"});
  for (const double t : {0.0, 1.5}) {
    const Reply plain = Alone(model.get(), constraint.get(), t);
    StateHandle state = MakeState(constraint.get());
    SessionHandle session = Prompted(model.get());
    SamplerHandle sampler = MakeSampler(t);
    std::vector<int32_t> ids;
    while (InfoOf(state.get()).open != 0) {
      size_t n = 0;
      REQUIRE(krafla_constraint_state_get_mask(state.get(), nullptr, 0, &n) == KRAFLA_E_BUFFER);
      std::vector<uint32_t> mask(n);
      REQUIRE(krafla_constraint_state_get_mask(state.get(), mask.data(), n, &n) == KRAFLA_OK);
      const std::vector<float> logits = Logits(session.get());
      int32_t id = -1;
      REQUIRE(krafla_sampler_sample_masked(sampler.get(), logits.data(), logits.size(), mask.data(),
                                           n, &id) == KRAFLA_OK);
      krafla_constraint_state* raw = nullptr;
      REQUIRE(krafla_constraint_state_clone(&raw, state.get()) == KRAFLA_OK);
      StateHandle before(raw);
      REQUIRE(krafla_constraint_state_accept(state.get(), id) == KRAFLA_OK);
      CHECK(krafla_constraint_state_accept(before.get(), id) == KRAFLA_OK);
      CHECK(krafla_constraint_state_accept(state.get(), 1) == KRAFLA_E_ARGUMENT);
      REQUIRE(krafla_sampler_accept(sampler.get(), id) == KRAFLA_OK);
      REQUIRE(krafla_session_append(session.get(), &id, 1, nullptr) == KRAFLA_OK);
      ids.push_back(id);
    }
    CHECK(ids == plain.ids);
  }
  StateHandle state = MakeState(constraint.get());
  CHECK(krafla_constraint_state_accept_text(state.get(), "abcd", 4) == KRAFLA_E_ARGUMENT);
  CHECK(krafla_constraint_state_accept_text(state.get(), "abc ", 4) == KRAFLA_OK);
  const float logits[512] = {};
  const uint32_t none[16] = {};
  int32_t id = -1;
  CHECK(krafla_sampler_sample_masked(MakeSampler(0).get(), logits, 512, none, 16, &id) ==
        KRAFLA_E_ARGUMENT);
  CHECK(krafla_sampler_sample_masked(MakeSampler(0).get(), logits, 512, nullptr, 0, &id) ==
        KRAFLA_E_ARGUMENT);

  ConstraintHandle forced =
      Compile(tokenizer.get(), KRAFLA_CONSTRAINT_REGEX, {"In the beginning (God|there)"});
  StateHandle start = MakeState(forced.get());
  size_t n = 0;
  REQUIRE(krafla_constraint_state_get_forced(start.get(), nullptr, 0, &n) == KRAFLA_E_BUFFER);
  std::vector<int32_t> ids(n);
  REQUIRE(krafla_constraint_state_get_forced(start.get(), ids.data(), n, &n) == KRAFLA_OK);
  for (const int32_t token : ids) {
    REQUIRE(krafla_constraint_state_accept(start.get(), token) == KRAFLA_OK);
  }
}

}  // namespace krafla::test
