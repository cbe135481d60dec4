// Generation through the ABI: stop strings, slices, the library's own thread, log-probabilities.
// Each form gives the tokens that one plain call gives.
#include <atomic>
#include <chrono>
#include <cmath>
#include <string>
#include <thread>

#include "lib/base/utf8.h"
#include "tests/capi/fixture.h"
#include "tests/support/catch.h"

namespace krafla::test {
namespace {

struct Reply {
  std::string text;
  std::vector<int32_t> ids;
  std::vector<float> logprobs;
  bool whole = true;  // every piece was whole code points
};

SamplerHandle HotSampler(uint64_t seed) {
  krafla_sampler_options options = KRAFLA_SAMPLER_OPTIONS_INIT;
  options.seed = seed;
  options.has_seed = 1;
  krafla_sampler* raw = nullptr;
  REQUIRE(krafla_sampler_create(&raw, &options) == KRAFLA_OK);
  SamplerHandle sampler(raw);
  const krafla_param hot = {"t", 5.0};  // random bytes, so that code points break over tokens
  REQUIRE(krafla_sampler_add(sampler.get(), "temperature", 11, &hot, 1) == KRAFLA_OK);
  return sampler;
}

int Collect(void* user, const krafla_token* token) {
  Reply& reply = *static_cast<Reply*>(user);
  const std::string_view piece(token->text, token->text_length);
  reply.whole &= ValidUtf8Prefix(piece) == piece.size();
  reply.text += piece;
  if (token->id >= 0) {
    reply.ids.push_back(token->id);
    reply.logprobs.push_back(token->logprob);
  }
  return 0;
}

krafla_generate_options Options(Reply* reply) {
  krafla_generate_options options = KRAFLA_GENERATE_OPTIONS_INIT;
  options.max_tokens = 60;
  options.ignore_end = 1;
  options.on_token = Collect;
  options.user = reply;
  return options;
}

Reply Plain(const krafla_model* model, uint64_t seed) {
  Reply reply;
  SessionHandle session = Prompted(model);
  const krafla_generate_options options = Options(&reply);
  REQUIRE(krafla_session_generate(session.get(), HotSampler(seed).get(), &options, nullptr) ==
          KRAFLA_OK);
  return reply;
}

}  // namespace

TEST_CASE("a stop string ends the reply wherever it lies, and no part of it is given out") {
  ModelHandle model = OpenTiny();
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const Reply plain = Plain(model.get(), seed);
    // A piece of the text that begins and ends anywhere between code points.
    for (const size_t where : {size_t{0}, plain.text.size() / 3, plain.text.size() / 2}) {
      size_t begin = where;
      while ((plain.text[begin] & 0xC0) == 0x80) ++begin;
      size_t end = begin + 5;
      while (end < plain.text.size() && (plain.text[end] & 0xC0) == 0x80) ++end;
      const std::string stop = plain.text.substr(begin, end - begin);
      const std::string other = stop + "never follows";
      const krafla_string stops[] = {{other.data(), other.size()}, {stop.data(), stop.size()}};
      Reply reply;
      krafla_generate_options options = Options(&reply);
      options.stops = stops;
      options.n_stops = 2;
      krafla_generate_result result = KRAFLA_GENERATE_RESULT_INIT;
      SessionHandle session = Prompted(model.get());
      REQUIRE(krafla_session_generate(session.get(), HotSampler(seed).get(), &options, &result) ==
              KRAFLA_OK);
      REQUIRE(result.finish == KRAFLA_FINISH_STOP);
      REQUIRE(result.stop == 1);
      REQUIRE(reply.whole);
      REQUIRE(reply.text == plain.text.substr(0, plain.text.find(stop)));
      REQUIRE(Ids(session.get()).size() == kPrompt.size() + static_cast<size_t>(result.n_tokens));
    }
    // One that is begun at the very end is text after all.
    const std::string begun = plain.text.substr(plain.text.size() - 1) + "x";
    if (ValidUtf8Prefix(begun) != begun.size()) continue;
    const krafla_string stops[] = {{begun.data(), begun.size()}};
    Reply reply;
    krafla_generate_options options = Options(&reply);
    options.stops = stops;
    options.n_stops = 1;
    SessionHandle session = Prompted(model.get());
    REQUIRE(krafla_session_generate(session.get(), HotSampler(seed).get(), &options, nullptr) ==
            KRAFLA_OK);
    if (plain.text.find(begun) == std::string::npos) REQUIRE(reply.text == plain.text);
  }
}

TEST_CASE("bad stops and alternatives are refused") {
  ModelHandle model = OpenTiny();
  SessionHandle session = Prompted(model.get());
  SamplerHandle sampler = HotSampler(1);
  krafla_generate_options options = KRAFLA_GENERATE_OPTIONS_INIT;
  const std::string long_stop(5000, 'x');
  const krafla_string bad[] = {
      {"", 0}, {"\xFF", 1}, {long_stop.data(), long_stop.size()}, {nullptr, 3}, {"x", SIZE_MAX}};
  options.n_stops = 1;
  for (const krafla_string& stop : bad) {
    options.stops = &stop;
    REQUIRE(krafla_session_generate(session.get(), sampler.get(), &options, nullptr) ==
            KRAFLA_E_ARGUMENT);
  }
  options.n_stops = SIZE_MAX;
  REQUIRE(krafla_session_generate(session.get(), sampler.get(), &options, nullptr) ==
          KRAFLA_E_ARGUMENT);
  options.n_stops = 0;
  for (const int32_t n : {-1, 65, INT32_MAX}) {
    options.n_top = n;
    REQUIRE(krafla_session_generate(session.get(), sampler.get(), &options, nullptr) ==
            KRAFLA_E_ARGUMENT);
  }
  REQUIRE(Ids(session.get()) == kPrompt);
}

TEST_CASE("a generation in slices gives what one call gives") {
  ModelHandle model = OpenTiny();
  const Reply plain = Plain(model.get(), 3);
  for (const int64_t max_us : {int64_t{0}, int64_t{1}, int64_t{200}, int64_t{-1}}) {
    Reply reply;
    const krafla_generate_options options = Options(&reply);
    SessionHandle session = Prompted(model.get());
    {
      SamplerHandle sampler = HotSampler(3);
      REQUIRE(krafla_session_begin_generate(session.get(), sampler.get(), &options) == KRAFLA_OK);
    }
    REQUIRE(krafla_session_truncate(session.get(), 1) == KRAFLA_E_STATE);
    REQUIRE(krafla_session_append(session.get(), kPrompt.data(), 1, nullptr) == KRAFLA_E_STATE);
    int32_t code = KRAFLA_PAUSED;
    int pauses = 0;
    while ((code = krafla_session_step(session.get(), max_us)) == KRAFLA_PAUSED) ++pauses;
    REQUIRE(code == KRAFLA_OK);
    if (max_us == 0) REQUIRE(pauses > 60);  // a work item each
    if (max_us < 0) REQUIRE(pauses == 0);
    REQUIRE(reply.ids == plain.ids);
    REQUIRE(reply.text == plain.text);
    krafla_generate_result result = KRAFLA_GENERATE_RESULT_INIT;
    REQUIRE(krafla_session_get_result(session.get(), &result) == KRAFLA_OK);
    REQUIRE(result.n_tokens == 60);
    REQUIRE(krafla_session_truncate(session.get(), 1) == KRAFLA_OK);
  }
}

TEST_CASE("a generation that is abandoned keeps its whole tokens") {
  ModelHandle model = OpenTiny();
  const Reply plain = Plain(model.get(), 3);
  Reply reply;
  const krafla_generate_options options = Options(&reply);
  SessionHandle session = Prompted(model.get());
  SamplerHandle sampler = HotSampler(3);
  REQUIRE(krafla_session_begin_generate(session.get(), sampler.get(), &options) == KRAFLA_OK);
  for (int i = 0; i < 100; ++i) REQUIRE(krafla_session_step(session.get(), 0) == KRAFLA_PAUSED);
  REQUIRE(krafla_session_abandon(session.get()) == KRAFLA_OK);
  std::vector<int32_t> ids = Ids(session.get());
  REQUIRE(ids.size() > kPrompt.size());
  REQUIRE(std::equal(ids.begin() + static_cast<ptrdiff_t>(kPrompt.size()), ids.end(),
                     plain.ids.begin()));
  REQUIRE(krafla_session_append(session.get(), kPrompt.data(), 1, nullptr) == KRAFLA_OK);
}

TEST_CASE("a tokenizer may be freed while replies go on with it") {
  ModelHandle model = OpenTiny();
  const Reply plain = Plain(model.get(), 3);
  Reply reply;
  krafla_generate_options options = Options(&reply);
  SessionHandle session = Prompted(model.get());
  {
    krafla_tokenizer* raw = nullptr;
    REQUIRE(krafla_tokenizer_open_path(&raw, TinyModelPath().data(), TinyModelPath().size()) ==
            KRAFLA_OK);
    const TokenizerHandle tokenizer(raw);
    options.tokenizer = raw;
    REQUIRE(krafla_session_begin_generate(session.get(), HotSampler(3).get(), &options) ==
            KRAFLA_OK);
  }
  REQUIRE(krafla_session_step(session.get(), -1) == KRAFLA_OK);
  REQUIRE(reply.text == plain.text);
}

TEST_CASE("the library's own thread gives the same through polled events") {
  ModelHandle model = OpenTiny();
  const Reply plain = Plain(model.get(), 3);
  SessionHandle session = MakeSession(model.get());
  krafla_event event = KRAFLA_EVENT_INIT;
  REQUIRE(krafla_session_poll(session.get(), &event, 0) == KRAFLA_E_STATE);
  krafla_generate_options options = Options(nullptr);
  REQUIRE(krafla_session_start(session.get(), kPrompt.data(), kPrompt.size(), nullptr, &options) ==
          KRAFLA_E_ARGUMENT);
  options.on_token = nullptr;
  for (int round = 0; round < 3; ++round) {
    SamplerHandle sampler = HotSampler(3);
    REQUIRE(krafla_session_start(session.get(), kPrompt.data(), kPrompt.size(), sampler.get(),
                                 &options) == KRAFLA_OK);
    sampler.reset();
    Reply reply;
    int64_t prompt = 0;
    event.kind = 0;  // not the last round's end
    do {
      const int32_t code = krafla_session_poll(session.get(), &event, round == 0 ? -1 : 1000);
      if (code == KRAFLA_PAUSED) continue;
      REQUIRE(code == KRAFLA_OK);
      if (event.kind != KRAFLA_EVENT_END) {
        REQUIRE(krafla_session_truncate(session.get(), 0) == KRAFLA_E_STATE);
      }
      if (event.kind == KRAFLA_EVENT_PROMPT) prompt = event.done;
      if (event.kind == KRAFLA_EVENT_TOKEN) {
        reply.text.append(event.text, event.text_length);
        if (event.id >= 0) reply.ids.push_back(event.id);
      }
    } while (event.kind != KRAFLA_EVENT_END);
    REQUIRE(event.code == KRAFLA_OK);
    REQUIRE(event.finish == KRAFLA_FINISH_LENGTH);
    REQUIRE(event.n_tokens == 60);
    REQUIRE(prompt == static_cast<int64_t>(kPrompt.size()));
    REQUIRE(reply.ids == plain.ids);
    REQUIRE(reply.text == plain.text);
    REQUIRE(krafla_session_truncate(session.get(), 0) == KRAFLA_OK);
  }
  // Failures come as the end, with their message.
  const std::vector<int32_t> too_many(300, 1);
  REQUIRE(krafla_session_start(session.get(), too_many.data(), too_many.size(), nullptr, nullptr) ==
          KRAFLA_OK);
  REQUIRE(krafla_session_poll(session.get(), &event, -1) == KRAFLA_OK);
  REQUIRE(event.kind == KRAFLA_EVENT_END);
  REQUIRE(event.code == KRAFLA_E_CONTEXT);
  REQUIRE(event.text_length > 5);
  // Freed while it works, or cancelled.
  REQUIRE(krafla_session_append(session.get(), kPrompt.data(), kPrompt.size(), nullptr) ==
          KRAFLA_OK);
  SamplerHandle sampler = HotSampler(4);
  options.max_tokens = 0;
  // The first token waits for the cancel: a busy machine might else end the reply before it.
  std::atomic<bool> cancelled{false};
  krafla_custom_stage wait = KRAFLA_CUSTOM_STAGE_INIT;
  wait.user = &cancelled;
  wait.apply = [](void* user, krafla_candidate*, size_t*, const int32_t*, size_t) {
    while (!static_cast<std::atomic<bool>*>(user)->load()) std::this_thread::yield();
    return 0;
  };
  REQUIRE(krafla_sampler_set_custom(sampler.get(), &wait) == KRAFLA_OK);
  REQUIRE(krafla_session_start(session.get(), nullptr, 0, sampler.get(), &options) == KRAFLA_OK);
  REQUIRE(krafla_session_cancel(session.get()) == KRAFLA_OK);
  cancelled = true;
  do {
    REQUIRE(krafla_session_poll(session.get(), &event, -1) == KRAFLA_OK);
  } while (event.kind != KRAFLA_EVENT_END);
  REQUIRE(event.code == KRAFLA_E_CANCELLED);
  REQUIRE(krafla_sampler_set_custom(sampler.get(), nullptr) == KRAFLA_OK);
  REQUIRE(krafla_session_start(session.get(), nullptr, 0, sampler.get(), &options) == KRAFLA_OK);
}

TEST_CASE("log-probabilities are those of the model's logits") {
  ModelHandle model = OpenTiny();
  SessionHandle session = Prompted(model.get());
  std::vector<float> logits = Logits(session.get());
  std::vector<float> logprobs(logits.size());
  REQUIRE(krafla_logits_to_logprobs(logits.data(), logits.size(), logprobs.data()) == KRAFLA_OK);
  double sum = 0;
  for (const float value : logprobs) sum += std::exp(static_cast<double>(value));
  REQUIRE(std::abs(sum - 1) < 1e-5);
  int32_t top[5];
  float top_logprobs[5];
  REQUIRE(krafla_logits_get_top(logits.data(), logits.size(), 5, top, top_logprobs) == KRAFLA_OK);
  for (int i = 0; i < 5; ++i) {
    REQUIRE(top_logprobs[i] == logprobs[static_cast<size_t>(top[i])]);
    if (i > 0) REQUIRE(top_logprobs[i] <= top_logprobs[i - 1]);
    size_t better = 0;
    for (const float value : logprobs) better += value > top_logprobs[i];
    REQUIRE(better <= static_cast<size_t>(i));
  }
  Reply reply;
  krafla_generate_options options = Options(&reply);
  options.logprobs = 1;
  options.n_top = 3;
  options.max_tokens = 1;
  krafla_sampler* raw = nullptr;
  REQUIRE(krafla_sampler_create(&raw, nullptr) == KRAFLA_OK);
  SamplerHandle greedy(raw);
  REQUIRE(krafla_session_generate(session.get(), greedy.get(), &options, nullptr) == KRAFLA_OK);
  REQUIRE(reply.ids[0] == top[0]);
  REQUIRE(reply.logprobs[0] == top_logprobs[0]);
  const float bad[] = {0, NAN};
  float out[2];
  REQUIRE(krafla_logits_to_logprobs(bad, 2, out) == KRAFLA_E_ARGUMENT);
  REQUIRE(krafla_logits_to_logprobs(bad, 0, out) == KRAFLA_E_ARGUMENT);
  REQUIRE(krafla_logits_get_top(logits.data(), 4, 5, top, top_logprobs) == KRAFLA_E_ARGUMENT);
}

TEST_CASE("embeddings pool hidden states and do not depend on what follows") {
  ModelHandle model = OpenTiny();
  krafla_model_info info{};
  info.struct_size = sizeof(info);
  REQUIRE(krafla_model_get_info(model.get(), &info) == KRAFLA_OK);
  std::vector<float> mean(static_cast<size_t>(info.n_embd));
  std::vector<float> last(mean.size());
  std::vector<float> first(mean.size());
  size_t n = 0;
  SessionHandle session = MakeSession(model.get());
  krafla_embed_options options = KRAFLA_EMBED_OPTIONS_INIT;
  REQUIRE(krafla_session_embed(session.get(), kPrompt.data(), 3, &options, nullptr, 0, &n) ==
          KRAFLA_E_BUFFER);
  REQUIRE(n == mean.size());
  REQUIRE(krafla_session_embed(session.get(), kPrompt.data(), 2, &options, mean.data(), n, &n) ==
          KRAFLA_OK);
  REQUIRE(krafla_session_truncate(session.get(), 0) == KRAFLA_OK);
  options.pool = KRAFLA_POOL_FIRST;
  REQUIRE(krafla_session_embed(session.get(), kPrompt.data(), 2, &options, first.data(), n, &n) ==
          KRAFLA_OK);
  REQUIRE(krafla_session_truncate(session.get(), 0) == KRAFLA_OK);
  options.pool = KRAFLA_POOL_LAST;
  REQUIRE(krafla_session_embed(session.get(), kPrompt.data(), 2, &options, last.data(), n, &n) ==
          KRAFLA_OK);
  for (size_t i = 0; i < n; ++i) {
    REQUIRE(mean[i] ==
            static_cast<float>((static_cast<double>(first[i]) + static_cast<double>(last[i])) / 2));
  }
  options.normalize = 1;
  REQUIRE(krafla_session_truncate(session.get(), 0) == KRAFLA_OK);
  REQUIRE(krafla_session_embed(session.get(), kPrompt.data(), 2, &options, last.data(), n, &n) ==
          KRAFLA_OK);
  double squares = 0;
  for (const float value : last) squares += static_cast<double>(value) * value;
  REQUIRE(std::abs(squares - 1) < 1e-6);
  options.pool = 9;
  REQUIRE(krafla_session_embed(session.get(), kPrompt.data(), 2, &options, last.data(), n, &n) ==
          KRAFLA_E_ARGUMENT);
}

TEST_CASE("a session is saved and restored through buffers and files, and edited") {
  ModelHandle model = OpenTiny();
  SessionHandle session = Prompted(model.get());
  const std::vector<float> logits = Logits(session.get());
  const std::string path = TinyModelPath() + ".session";
  for (const int32_t content : {KRAFLA_SAVE_CACHE, KRAFLA_SAVE_TOKENS}) {
    krafla_save_options options = KRAFLA_SAVE_OPTIONS_INIT;
    options.content = content;
    size_t size = 0;
    REQUIRE(krafla_session_save(session.get(), nullptr, 0, &size, &options) == KRAFLA_E_BUFFER);
    std::string bytes(size, ' ');
    REQUIRE(krafla_session_save(session.get(), bytes.data(), size, &size, &options) == KRAFLA_OK);
    SessionHandle other = MakeSession(model.get());
    REQUIRE(krafla_session_restore(other.get(), bytes.data(), size, nullptr) == KRAFLA_OK);
    REQUIRE(Ids(other.get()) == kPrompt);
    REQUIRE(Logits(other.get()) == logits);
    REQUIRE(krafla_session_save_path(session.get(), path.data(), path.size(), &options) ==
            KRAFLA_OK);
    SessionHandle third = MakeSession(model.get(), KRAFLA_KV_F32);
    const int32_t code =
        krafla_session_restore_path(third.get(), path.data(), path.size(), nullptr);
    REQUIRE(code == (content == KRAFLA_SAVE_CACHE ? KRAFLA_E_UNSUPPORTED : KRAFLA_OK));
    std::remove(path.c_str());
    REQUIRE(krafla_session_restore_path(third.get(), path.data(), path.size(), nullptr) ==
            KRAFLA_E_NOT_FOUND);
    options.content = 5;
    REQUIRE(krafla_session_save(session.get(), nullptr, 0, &size, &options) == KRAFLA_E_ARGUMENT);
    bytes[bytes.size() / 2] ^= 1;
    REQUIRE(krafla_session_restore(other.get(), bytes.data(), size, nullptr) == KRAFLA_E_FILE);
    REQUIRE(Logits(other.get()) == logits);
  }
  std::vector<int32_t> edited = kPrompt;
  edited[8] = 2;
  REQUIRE(krafla_session_edit(session.get(), edited.data(), edited.size(), nullptr) == KRAFLA_OK);
  krafla_session_info info{};
  info.struct_size = sizeof(info);
  REQUIRE(krafla_session_get_info(session.get(), &info) == KRAFLA_OK);
  REQUIRE(info.reused == 8);
  REQUIRE(info.recomputed == 4);
  SessionHandle cold = MakeSession(model.get());
  REQUIRE(krafla_session_append(cold.get(), edited.data(), edited.size(), nullptr) == KRAFLA_OK);
  REQUIRE(Logits(session.get()) == Logits(cold.get()));
}

}  // namespace krafla::test
