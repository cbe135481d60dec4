// Sessions through the ABI: equal bits whatever the host's float mode and however the work is cut,
// one thread at a time, cancel, budgets, and text in whole code points.
#include <fenv.h>

#include <cstring>
#include <string>
#include <thread>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "lib/base/utf8.h"
#include "tests/capi/fixture.h"
#include "tests/support/catch.h"

namespace krafla::test {
namespace {

std::vector<float> ColdLogits(const krafla_model* model) {
  SessionHandle session = MakeSession(model);
  REQUIRE(krafla_session_append(session.get(), kPrompt.data(), kPrompt.size(), nullptr) ==
          KRAFLA_OK);
  return Logits(session.get());
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("the host's float mode changes no bit and is given back") {
  ModelHandle model = OpenTiny();
  const std::vector<float> expected = ColdLogits(model.get());
  for (const int rounding : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    REQUIRE(fesetround(rounding) == 0);
    SessionHandle session = MakeSession(model.get());
    const int32_t code =
        krafla_session_append(session.get(), kPrompt.data(), kPrompt.size(), nullptr);
    const int after = fegetround();
    fesetround(FE_TONEAREST);
    REQUIRE(code == KRAFLA_OK);
    REQUIRE(after == rounding);
    REQUIRE(SameBits(Logits(session.get()), expected));
  }
#if defined(__x86_64__)
  constexpr unsigned kFlushToZero = 0x8040;
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | kFlushToZero);
  const std::vector<float> flushed = ColdLogits(model.get());
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  REQUIRE((after & kFlushToZero) == kFlushToZero);
  REQUIRE(SameBits(flushed, expected));
#endif
}

TEST_CASE("stepped, forked, truncated and batched sessions equal a cold one bit for bit") {
  ModelHandle model = OpenTiny();
  const std::vector<float> expected = ColdLogits(model.get());

  SessionHandle stepped = MakeSession(model.get());
  REQUIRE(krafla_session_begin(stepped.get(), kPrompt.data(), kPrompt.size(), nullptr) ==
          KRAFLA_OK);
  int pauses = 0;
  int32_t code = KRAFLA_PAUSED;
  while ((code = krafla_session_step(stepped.get(), 0)) == KRAFLA_PAUSED) ++pauses;
  REQUIRE(code == KRAFLA_OK);
  REQUIRE(pauses > 5);
  REQUIRE(SameBits(Logits(stepped.get()), expected));

  SessionHandle base = MakeSession(model.get());
  REQUIRE(krafla_session_append(base.get(), kPrompt.data(), 5, nullptr) == KRAFLA_OK);
  krafla_session* raw = nullptr;
  REQUIRE(krafla_session_fork(&raw, base.get()) == KRAFLA_OK);
  SessionHandle fork(raw);
  const std::vector<int32_t> other = {7, 8, 9};
  REQUIRE(krafla_session_append(base.get(), other.data(), other.size(), nullptr) == KRAFLA_OK);
  REQUIRE(krafla_session_append(fork.get(), kPrompt.data() + 5, kPrompt.size() - 5, nullptr) ==
          KRAFLA_OK);
  REQUIRE(SameBits(Logits(fork.get()), expected));

  REQUIRE(krafla_session_truncate(base.get(), 5) == KRAFLA_OK);
  krafla_session* both[] = {base.get(), stepped.get()};
  REQUIRE(krafla_session_truncate(stepped.get(), 3) == KRAFLA_OK);
  const int32_t* ids[] = {kPrompt.data() + 5, kPrompt.data() + 3};
  const size_t n[] = {kPrompt.size() - 5, kPrompt.size() - 3};
  REQUIRE(krafla_session_append_batch(both, ids, n, 2) == KRAFLA_OK);
  REQUIRE(SameBits(Logits(base.get()), expected));
  REQUIRE(SameBits(Logits(stepped.get()), expected));
  krafla_session* twice[] = {base.get(), base.get()};
  REQUIRE(krafla_session_append_batch(twice, ids, n, 2) == KRAFLA_E_STATE);
}

TEST_CASE("a model opened from memory or through a reader equals the mapped one") {
  ModelHandle mapped = OpenTiny();
  const std::vector<float> expected = ColdLogits(mapped.get());
  FILE* file = std::fopen(TinyModelPath().c_str(), "rb");
  REQUIRE(file != nullptr);
  std::string bytes;
  char buffer[4096];
  for (size_t n = 0; (n = std::fread(buffer, 1, sizeof(buffer), file)) > 0;)
    bytes.append(buffer, n);
  std::fclose(file);

  krafla_model* raw = nullptr;
  REQUIRE(krafla_model_open_memory(&raw, nullptr, bytes.data(), bytes.size(), nullptr) ==
          KRAFLA_OK);
  ModelHandle in_memory(raw);
  REQUIRE(SameBits(ColdLogits(in_memory.get()), expected));

  krafla_reader reader = KRAFLA_READER_INIT;
  reader.user = &bytes;
  reader.size = bytes.size();
  reader.read = [](void* user, uint64_t offset, void* out, size_t n) -> int {
    const std::string& all = *static_cast<std::string*>(user);
    if (offset + n > all.size()) return 1;
    std::memcpy(out, all.data() + offset, n);
    return 0;
  };
  REQUIRE(krafla_model_open_reader(&raw, nullptr, &reader, nullptr) == KRAFLA_OK);
  ModelHandle read(raw);
  reader.user = nullptr;
  REQUIRE(SameBits(ColdLogits(read.get()), expected));

  reader.user = &bytes;
  reader.read = [](void*, uint64_t, void*, size_t) { return 5; };
  krafla_model* refused = nullptr;
  REQUIRE(krafla_model_open_reader(&refused, nullptr, &reader, nullptr) < 0);
  REQUIRE(refused == nullptr);
}

TEST_CASE("the host's log function is told what was opened, up to its level") {
  std::vector<std::pair<int32_t, std::string>> lines;
  krafla_runtime_options options = KRAFLA_RUNTIME_OPTIONS_INIT;
  options.threads = 1;
  options.log_user = &lines;
  options.log = [](void* user, int32_t level, const char* text, size_t length) {
    static_cast<decltype(lines)*>(user)->emplace_back(level, std::string(text, length));
  };
  krafla_runtime* raw = nullptr;
  REQUIRE(krafla_runtime_create(&raw, &options) == KRAFLA_OK);
  RuntimeHandle runtime(raw);
  ModelHandle model = OpenTiny(runtime.get());
  SessionHandle session =
      MakeSession(model.get());  // logged at KRAFLA_LOG_DEBUG, above the default
  REQUIRE(lines.size() == 1);
  REQUIRE(lines[0].first == KRAFLA_LOG_INFO);
  REQUIRE(lines[0].second.find(TinyModelPath()) != std::string::npos);
}

TEST_CASE("a second thread in the same session is refused") {
  ModelHandle model = OpenTiny();
  SessionHandle session = MakeSession(model.get());
  krafla_append_options options = KRAFLA_APPEND_OPTIONS_INIT;
  int32_t inner = KRAFLA_OK;
  struct Call {
    krafla_session* session;
    int32_t* code;
  } call{session.get(), &inner};
  options.user = &call;
  options.logits = KRAFLA_LOGITS_ALL;
  options.on_logits = [](void* user, int64_t, const float*, size_t) -> int {
    Call& c = *static_cast<Call*>(user);
    std::thread([&] {
      *c.code = krafla_session_append(c.session, kPrompt.data(), 1, nullptr);
    }).join();
    return 0;
  };
  REQUIRE(krafla_session_append(session.get(), kPrompt.data(), 2, &options) == KRAFLA_OK);
  REQUIRE(inner == KRAFLA_E_STATE);
  REQUIRE(Ids(session.get()).size() == 2);
}

TEST_CASE("cancel, callbacks and budgets leave the session as it was") {
  ModelHandle model = OpenTiny();
  SessionHandle session = MakeSession(model.get());
  REQUIRE(krafla_session_append(session.get(), kPrompt.data(), kPrompt.size(), nullptr) ==
          KRAFLA_OK);
  const std::vector<float> logits = Logits(session.get());
  const std::vector<int32_t> more(100, 9);

  REQUIRE(krafla_session_cancel(session.get()) == KRAFLA_OK);
  REQUIRE(krafla_session_append(session.get(), more.data(), more.size(), nullptr) ==
          KRAFLA_E_CANCELLED);
  krafla_append_options options = KRAFLA_APPEND_OPTIONS_INIT;
  options.on_progress = [](void*, int64_t, int64_t) { return 1; };
  REQUIRE(krafla_session_append(session.get(), more.data(), more.size(), &options) ==
          KRAFLA_E_CALLBACK);
  REQUIRE(Ids(session.get()) == kPrompt);
  REQUIRE(SameBits(Logits(session.get()), logits));

  krafla_plan plan{};
  plan.struct_size = sizeof(plan);
  krafla_session_options wanted = KRAFLA_SESSION_OPTIONS_INIT;
  wanted.context = 256;
  krafla_runtime_options limits = KRAFLA_RUNTIME_OPTIONS_INIT;
  limits.threads = 1;
  limits.has_budget = 1;
  for (const int64_t spare : {int64_t{0}, int64_t{-1}}) {
    krafla_runtime* raw_runtime = nullptr;
    limits.budget = UINT64_MAX - 1;
    REQUIRE(krafla_runtime_create(&raw_runtime, &limits) == KRAFLA_OK);
    RuntimeHandle planner(raw_runtime);
    ModelHandle planned = OpenTiny(planner.get());
    REQUIRE(krafla_plan_session(&plan, planned.get(), &wanted) == KRAFLA_OK);
    limits.budget = plan.total + static_cast<uint64_t>(spare);
    REQUIRE(krafla_runtime_create(&raw_runtime, &limits) == KRAFLA_OK);
    RuntimeHandle bounded(raw_runtime);
    ModelHandle tight = OpenTiny(bounded.get());
    krafla_session* raw = nullptr;
    const int32_t code = krafla_session_create(&raw, tight.get(), &wanted);
    SessionHandle created(raw);
    krafla_runtime_info info{};
    info.struct_size = sizeof(info);
    if (spare == 0) {
      REQUIRE(code == KRAFLA_OK);
      REQUIRE(krafla_runtime_get_info(bounded.get(), &info) == KRAFLA_OK);
      REQUIRE(info.used_bytes == plan.total);
    } else {
      REQUIRE(code == KRAFLA_E_BUDGET);
      REQUIRE(raw == nullptr);
      REQUIRE(krafla_runtime_get_info(bounded.get(), &info) == KRAFLA_OK);
      REQUIRE(info.used_bytes == 0);
    }
  }
}

TEST_CASE("generated text comes in whole code points and equals the decoded ids") {
  ModelHandle model = OpenTiny();
  krafla_tokenizer* raw_tokenizer = nullptr;
  REQUIRE(krafla_tokenizer_from_model(&raw_tokenizer, model.get()) == KRAFLA_OK);
  TokenizerHandle tokenizer(raw_tokenizer);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SessionHandle session = MakeSession(model.get());
    REQUIRE(krafla_session_append(session.get(), kPrompt.data(), kPrompt.size(), nullptr) ==
            KRAFLA_OK);
    krafla_sampler_options sampler_options = KRAFLA_SAMPLER_OPTIONS_INIT;
    sampler_options.seed = seed;
    sampler_options.has_seed = 1;
    krafla_sampler* raw = nullptr;
    REQUIRE(krafla_sampler_create(&raw, &sampler_options) == KRAFLA_OK);
    SamplerHandle sampler(raw);
    const krafla_param hot = {"t", 5.0};  // random bytes, so that code points break over tokens
    REQUIRE(krafla_sampler_add(sampler.get(), "temperature", 11, &hot, 1) == KRAFLA_OK);
    std::string text;
    krafla_generate_options options = KRAFLA_GENERATE_OPTIONS_INIT;
    options.max_tokens = 60;
    options.ignore_end = 1;
    options.user = &text;
    options.on_token = [](void* user, const krafla_token* token) -> int {
      const std::string_view piece(token->text, token->text_length);
      if (ValidUtf8Prefix(piece) != piece.size()) return 1;
      static_cast<std::string*>(user)->append(piece);
      return 0;
    };
    krafla_generate_result result = KRAFLA_GENERATE_RESULT_INIT;
    REQUIRE(krafla_session_generate(session.get(), sampler.get(), &options, &result) == KRAFLA_OK);
    REQUIRE(result.finish == KRAFLA_FINISH_LENGTH);
    REQUIRE(result.n_tokens == 60);
    const std::vector<int32_t> ids = Ids(session.get());
    std::string decoded(4096, ' ');
    size_t length = 0;
    REQUIRE(krafla_tokenizer_decode(tokenizer.get(), ids.data() + kPrompt.size(), 60,
                                    KRAFLA_DECODE_SKIP_SPECIAL, decoded.data(), decoded.size(),
                                    &length) == KRAFLA_OK);
    decoded.resize(length);
    REQUIRE(text == ReplaceInvalidUtf8(decoded));
  }
}

}  // namespace krafla::test
