// Fails the n-th allocation, for every n, in each operation of the ABI. malloc itself is replaced
// here, so that operator new, the libraries beneath and the C library are all counted; the host
// allocator hands large buffers to the same malloc. After a failure: a code, nothing leaked, the
// object as it was.
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>

#include "include/krafla/krafla_chat.h"
#include "include/krafla/krafla_constraint.h"
#include "include/krafla/krafla_residency.h"
#include "tests/capi/fixture.h"
#include "tests/support/catch.h"

extern "C" {
void* __libc_malloc(size_t size);
void __libc_free(void* data);
void* __libc_calloc(size_t n, size_t size);
void* __libc_realloc(void* data, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
}

namespace {

std::atomic<bool> armed{false};
std::atomic<int64_t> countdown{0};  // allocations until the one that fails; counts on below zero
std::atomic<int64_t> live{0};       // blocks not yet freed
std::atomic<int64_t> asked{0};      // every request

bool Refuse() {
  ++asked;
  if (!armed.load() || countdown.fetch_sub(1) != 0) return false;
  errno = ENOMEM;  // the C library asserts it
  return true;
}

void* Counted(void* data) {
  if (data != nullptr) ++live;
  return data;
}

}  // namespace

extern "C" {
void* malloc(size_t size) { return Refuse() ? nullptr : Counted(__libc_malloc(size)); }
void* calloc(size_t n, size_t size) { return Refuse() ? nullptr : Counted(__libc_calloc(n, size)); }
void* realloc(void* data, size_t size) {
  if (Refuse()) return nullptr;
  if (data == nullptr) return Counted(__libc_realloc(data, size));
  if (size == 0) --live;
  return __libc_realloc(data, size);
}
void* memalign(size_t alignment, size_t size) {
  return Refuse() ? nullptr : Counted(__libc_memalign(alignment, size));
}
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** out, size_t alignment, size_t size) {
  void* data = memalign(alignment, size);
  if (data == nullptr) return 12;
  *out = data;
  return 0;
}
void free(void* data) {
  if (data == nullptr) return;
  --live;
  __libc_free(data);
}
}

namespace krafla::test {
namespace {

void* HostAllocate(void*, size_t bytes, size_t alignment) {
  return aligned_alloc(alignment, bytes);
}
void HostRelease(void*, void* data, size_t, size_t) { free(data); }

RuntimeHandle CountedRuntime() {
  krafla_runtime_options options = KRAFLA_RUNTIME_OPTIONS_INIT;
  options.threads = 1;
  options.allocate = HostAllocate;
  options.release = HostRelease;
  krafla_runtime* runtime = nullptr;
  REQUIRE(krafla_runtime_create(&runtime, &options) == KRAFLA_OK);
  return RuntimeHandle(runtime);
}

// Runs attempt() with the n-th allocation failing, for n = 0, 1, ... until it succeeds without
// having met the failure. check() looks at the object after each failed attempt; discard() undoes
// an attempt that did without what it was refused. Returns the number of attempts.
int FailEach(
    const std::function<int32_t()>& attempt, const std::function<void()>& check,
    const std::function<void()>& discard = [] {}) {
  constexpr int kMostGrown = 20;
  int grown = 0;
  for (int n = 0;; ++n) {
    const int64_t before = live.load();
    countdown = n;
    armed = true;
    const int32_t code = attempt();
    armed = false;
    const int64_t after = live.load();  // before Catch2 allocates
    if (countdown.load() >= 0) {
      REQUIRE(code == KRAFLA_OK);
      return n;
    }
    INFO("allocation " << n << ": " << krafla_error_name(code) << ": " << krafla_error_message());
    // A library may do without what it was refused (a cache, a faster path): then all is well.
    if (code == KRAFLA_OK) {
      discard();
      continue;
    }
    REQUIRE((code == KRAFLA_E_MEMORY || code == KRAFLA_E_IO));
    check();
    // The C library keeps some of what it has made for threads; a leak comes with every refusal.
    if (after > before && ++grown < kMostGrown) {
      --n;
      continue;
    }
    REQUIRE(after <= before);
  }
}

}  // namespace

TEST_CASE("opening a model survives every failing allocation") {
  const std::string& path = TinyModelPath();
  RuntimeHandle runtime = CountedRuntime();
  for (const int32_t load : {KRAFLA_LOAD_MAP, KRAFLA_LOAD_READ}) {
    krafla_model_options options = KRAFLA_MODEL_OPTIONS_INIT;
    options.load = load;
    krafla_model* model = nullptr;
    const int n = FailEach(
        [&] {
          return krafla_model_open_path(&model, runtime.get(), path.data(), path.size(), &options);
        },
        [&] { REQUIRE(model == nullptr); },
        [&] {
          krafla_model_free(model);
          model = nullptr;
        });
    REQUIRE(n > 10);
    krafla_model* by_handle = nullptr;
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    REQUIRE(fd >= 0);
    FailEach([&] { return krafla_model_open_fd(&by_handle, runtime.get(), fd, 0, 0, &options); },
             [&] { REQUIRE(by_handle == nullptr); },
             [&] {
               krafla_model_free(by_handle);
               by_handle = nullptr;
             });
    krafla_model_free(by_handle);
    close(fd);
    krafla_tokenizer* tokenizer = nullptr;
    FailEach([&] { return krafla_tokenizer_from_model(&tokenizer, model); },
             [&] { REQUIRE(tokenizer == nullptr); },
             [&] {
               krafla_tokenizer_free(tokenizer);
               tokenizer = nullptr;
             });
    krafla_template* chat = nullptr;
    FailEach([&] { return krafla_template_from_model(&chat, model); },
             [&] { REQUIRE(chat == nullptr); },
             [&] {
               krafla_template_free(chat);
               chat = nullptr;
             });
    const std::string json =
        R"({"messages":[{"role":"user","content":"In the beginning"}],"add_generation_prompt":true})";
    krafla_rendered* rendered = nullptr;
    FailEach(
        [&] {
          return krafla_template_render(&rendered, chat, tokenizer, json.data(), json.size());
        },
        [&] { REQUIRE(rendered == nullptr); },
        [&] {
          krafla_rendered_free(rendered);
          rendered = nullptr;
        });
    const krafla_piece* pieces = nullptr;
    size_t n_pieces = 0;
    REQUIRE(krafla_rendered_get_pieces(rendered, &pieces, &n_pieces) == KRAFLA_OK);
    int32_t ids[64];
    size_t n_ids = 0;
    FailEach(
        [&] {
          return krafla_tokenizer_encode_pieces(tokenizer, pieces, n_pieces, 0, ids, 64, &n_ids);
        },
        [] {});
    REQUIRE(n_ids > 5);
    krafla_rendered_free(rendered);
    krafla_template_free(chat);
    krafla_tokenizer_free(tokenizer);
    krafla_model_free(model);
  }
}

TEST_CASE("a session survives every failing allocation") {
  RuntimeHandle runtime = CountedRuntime();
  ModelHandle model = OpenTiny(runtime.get());
  krafla_session_options options = KRAFLA_SESSION_OPTIONS_INIT;
  options.context = 256;
  options.has_reserve = 1;  // nothing reserved: appends must allocate
  krafla_session* raw = nullptr;
  FailEach([&] { return krafla_session_create(&raw, model.get(), &options); },
           [&] { REQUIRE(raw == nullptr); });
  SessionHandle session(raw);

  FailEach(
      [&] { return krafla_session_append(session.get(), kPrompt.data(), kPrompt.size(), nullptr); },
      [&] { REQUIRE(Ids(session.get()).empty()); });
  const std::vector<float> logits = Logits(session.get());
  const auto unchanged = [&] {
    REQUIRE(Ids(session.get()) == kPrompt);
    REQUIRE(Logits(session.get()) == logits);
  };

  krafla_session* forked = nullptr;
  FailEach([&] { return krafla_session_fork(&forked, session.get()); },
           [&] {
             REQUIRE(forked == nullptr);
             unchanged();
           });
  SessionHandle fork(forked);
  const std::vector<int32_t> more(40, 5);  // over the next page's border; copies the shared page
  FailEach([&] { return krafla_session_append(fork.get(), more.data(), more.size(), nullptr); },
           [&] {
             REQUIRE(Ids(fork.get()) == kPrompt);
             REQUIRE(Logits(fork.get()) == logits);
             unchanged();
           });
  const std::vector<float> long_logits = Logits(fork.get());
  FailEach([&] { return krafla_session_truncate(fork.get(), 30); },
           [&] {
             REQUIRE(Ids(fork.get()).size() == kPrompt.size() + more.size());
             REQUIRE(Logits(fork.get()) == long_logits);
           });
  unchanged();

  // Saved, restored over another text, edited, embedded, begun in slices.
  const std::string path = TinyModelPath() + ".saved";
  FailEach(
      [&] { return krafla_session_save_path(session.get(), path.data(), path.size(), nullptr); },
      [&] { REQUIRE(!std::filesystem::exists(path)); });
  const std::vector<int32_t> fork_ids = Ids(fork.get());
  const std::vector<float> fork_logits = Logits(fork.get());
  const auto fork_unchanged = [&] {
    REQUIRE(Ids(fork.get()) == fork_ids);
    REQUIRE(Logits(fork.get()) == fork_logits);
  };
  FailEach(
      [&] {
        return krafla_session_edit(fork.get(), kPrompt.data() + 1, kPrompt.size() - 1, nullptr);
      },
      fork_unchanged);
  REQUIRE(krafla_session_edit(fork.get(), fork_ids.data(), fork_ids.size(), nullptr) == KRAFLA_OK);
  FailEach(
      [&] { return krafla_session_restore_path(fork.get(), path.data(), path.size(), nullptr); },
      fork_unchanged);
  REQUIRE(Ids(fork.get()) == kPrompt);
  REQUIRE(Logits(fork.get()) == logits);
  std::filesystem::remove(path);
  std::vector<float> embedding(4096);
  size_t n_embd = 0;
  FailEach(
      [&] {
        return krafla_session_embed(fork.get(), kPrompt.data(), kPrompt.size(), nullptr,
                                    embedding.data(), embedding.size(), &n_embd);
      },
      [&] { REQUIRE(Logits(fork.get()) == logits); });
  krafla_sampler* sampler = nullptr;
  FailEach([&] { return krafla_sampler_create(&sampler, nullptr); },
           [&] { REQUIRE(sampler == nullptr); });
  SamplerHandle greedy(sampler);
  krafla_generate_options generate = KRAFLA_GENERATE_OPTIONS_INIT;
  const krafla_string stop = {"no such text at all", 19};
  generate.stops = &stop;
  generate.n_stops = 1;
  generate.max_tokens = 20;
  FailEach([&] { return krafla_session_begin_generate(session.get(), greedy.get(), &generate); },
           unchanged, [&] { krafla_session_abandon(session.get()); });
  REQUIRE(krafla_session_abandon(session.get()) == KRAFLA_OK);
  krafla_sampler* clone = nullptr;
  FailEach([&] { return krafla_sampler_clone(&clone, greedy.get()); },
           [&] { REQUIRE(clone == nullptr); });
  krafla_sampler_free(clone);
  FailEach([&] { return krafla_sampler_add_default(greedy.get()); }, [] {});
  krafla_tokenizer* tokenizer = nullptr;
  REQUIRE(krafla_tokenizer_from_model(&tokenizer, model.get()) == KRAFLA_OK);
  const TokenizerHandle owner(tokenizer);
  const krafla_string breaker = {"\n", 1};
  FailEach([&] { return krafla_sampler_set_breakers(greedy.get(), tokenizer, &breaker, 1); },
           [] {});
  const krafla_bias biases[] = {{-1, 7, 0}, {1, 8, 0}};
  FailEach([&] { return krafla_sampler_set_bias(greedy.get(), biases, 2); }, [] {});
  REQUIRE(krafla_sampler_set(greedy.get(), "temperature", "t", 1) == KRAFLA_OK);
  REQUIRE(krafla_sampler_set(greedy.get(), "dry", "multiplier", 1) == KRAFLA_OK);
  // On a clone of its own, since a call that fails keeps the memory that it had got.
  int32_t id = -1;
  const auto choose = [&] {
    krafla_sampler* own = nullptr;
    int32_t code = krafla_sampler_clone(&own, greedy.get());
    if (code == KRAFLA_OK) code = krafla_sampler_accept(own, 9);
    if (code == KRAFLA_OK) code = krafla_sampler_sample(own, logits.data(), logits.size(), &id);
    krafla_sampler_free(own);
    return code;
  };
  REQUIRE(choose() == KRAFLA_OK);
  const int32_t expected = std::exchange(id, -1);
  FailEach(choose, [&] { REQUIRE(id == -1); });
  REQUIRE(id == expected);
}

TEST_CASE("conversations survive every failing allocation") {
  RuntimeHandle runtime = CountedRuntime();
  ModelHandle model = OpenTiny(runtime.get());
  SessionHandle session = MakeSession(model.get());
  krafla_tokenizer* tokenizer = nullptr;
  REQUIRE(krafla_tokenizer_from_model(&tokenizer, model.get()) == KRAFLA_OK);
  const TokenizerHandle tokenizer_owner(tokenizer);
  krafla_template* chatml = nullptr;  // short prompts
  REQUIRE(krafla_template_builtin(&chatml, "chatml", 6) == KRAFLA_OK);
  krafla_chat* chat = nullptr;
  FailEach([&] { return krafla_chat_from_model(&chat, model.get(), nullptr); },
           [&] { REQUIRE(chat == nullptr); });
  krafla_chat_free(std::exchange(chat, nullptr));
  FailEach([&] { return krafla_chat_create(&chat, tokenizer, chatml, nullptr); },
           [&] { REQUIRE(chat == nullptr); });
  krafla_template_free(chatml);
  const std::string tools =
      R"([{"name":"add","parameters":{"properties":{"a":{"type":"string"}}}}])";
  const std::string calls =
      R"([{"role":"user","content":"x"},{"role":"assistant","content":"","tool_calls":)"
      R"([{"function":{"name":"add","arguments":"{\"a\": 1}"}}]}])";
  const auto count = [&] {
    const char* json = nullptr;
    size_t length = 0, n = 99;
    REQUIRE(krafla_chat_get_json(chat, &json, &length, &n) == KRAFLA_OK);
    return n;
  };
  FailEach([&] { return krafla_chat_set_tools(chat, tools.data(), tools.size()); }, [] {});
  FailEach([&] { return krafla_chat_set_variables(chat, "{\"a\": [1]}", 10); }, [] {});
  FailEach([&] { return krafla_chat_add_json(chat, calls.data(), calls.size()); },
           [&] { REQUIRE(count() == 0); });
  REQUIRE(count() == 2);
  FailEach([&] { return krafla_chat_add(chat, "user", 4, "And then?", 9); },
           [&] { REQUIRE(count() == 2); });
  FailEach([&] { return krafla_chat_append(chat, session.get(), nullptr, nullptr); },
           [&] { REQUIRE(Ids(session.get()).empty()); });
  REQUIRE(Ids(session.get()).size() > 20);
  krafla_chat_free(chat);
}

TEST_CASE("constraints survive every failing allocation") {
  RuntimeHandle runtime = CountedRuntime();
  ModelHandle model = OpenTiny(runtime.get());
  krafla_tokenizer* tokenizer = nullptr;
  REQUIRE(krafla_tokenizer_from_model(&tokenizer, model.get()) == KRAFLA_OK);
  const TokenizerHandle owner(tokenizer);
  const char* schema = R"({"enum":[{"a":"x"},7]})";
  const krafla_string texts[] = {{schema, std::strlen(schema)}, {"(ab|cd){2,3}", 12}};
  for (const int which : {0, 1}) {
    krafla_constraint* constraint = nullptr;
    const int32_t kind = which == 0 ? KRAFLA_CONSTRAINT_JSON_SCHEMA : KRAFLA_CONSTRAINT_REGEX;
    // The vocabulary, once made, stays.
    REQUIRE(krafla_constraint_compile(&constraint, tokenizer, kind, &texts[which], 1, nullptr) ==
            KRAFLA_OK);
    krafla_constraint_free(std::exchange(constraint, nullptr));
    FailEach(
        [&] {
          return krafla_constraint_compile(&constraint, tokenizer, kind, &texts[which], 1, nullptr);
        },
        [&] { REQUIRE(constraint == nullptr); },
        [&] { krafla_constraint_free(std::exchange(constraint, nullptr)); });

    // A walk grows what the constraint remembers; a failure leaves the state where it was. (Which
    // memory stays is not looked at: what was remembered may.)
    krafla_constraint_state* state = nullptr;
    REQUIRE(krafla_constraint_state_create(&state, constraint) == KRAFLA_OK);
    std::vector<uint32_t> mask(16);
    size_t n_words = 0;
    const std::string_view text = which == 0 ? "{\"a\":\"x\"}" : "abcd";
    for (const char c : text) {
      for (int n = 0;; ++n) {
        countdown = n;
        armed = true;
        int32_t code = krafla_constraint_state_get_mask(state, mask.data(), mask.size(), &n_words);
        if (code == KRAFLA_OK) code = krafla_constraint_state_accept_text(state, &c, 1);
        armed = false;
        if (code == KRAFLA_OK) break;
        REQUIRE(code == KRAFLA_E_MEMORY);
      }
    }
    krafla_constraint_state_info info{};
    info.struct_size = sizeof(info);
    REQUIRE(krafla_constraint_state_get_info(state, &info) == KRAFLA_OK);
    CHECK(info.complete == 1);
    krafla_constraint_state_free(state);
    krafla_constraint_free(constraint);
  }
}

TEST_CASE("texts and the library's own thread survive every failing allocation") {
  RuntimeHandle runtime = CountedRuntime();
  ModelHandle model = OpenTiny(runtime.get());
  SessionHandle session = MakeSession(model.get());
  const std::string text = "In the beginning";
  FailEach(
      [&] {
        return krafla_session_append_text(session.get(), text.data(), text.size(), 0, nullptr);
      },
      [&] { REQUIRE(Ids(session.get()).empty()); });
  const size_t n_text = Ids(session.get()).size();
  REQUIRE(n_text > 0);

  // A refusal comes from the start or as the end's code; what was read before it stays.
  krafla_generate_options options = KRAFLA_GENERATE_OPTIONS_INIT;
  options.max_tokens = 4;
  options.ignore_end = 1;
  for (int n = 0;; ++n) {
    REQUIRE(krafla_session_truncate(session.get(), static_cast<int64_t>(n_text)) == KRAFLA_OK);
    krafla_sampler* raw = nullptr;
    REQUIRE(krafla_sampler_create(&raw, nullptr) == KRAFLA_OK);
    SamplerHandle sampler(raw);
    krafla_event event = KRAFLA_EVENT_INIT;
    countdown = n;
    armed = true;
    int32_t code = krafla_session_start(session.get(), kPrompt.data(), kPrompt.size(),
                                        sampler.get(), &options);
    if (code == KRAFLA_OK) {
      do {
        code = krafla_session_poll(session.get(), &event, -1);
      } while (code == KRAFLA_OK && event.kind != KRAFLA_EVENT_END);
      if (code == KRAFLA_OK) code = event.code;
    }
    armed = false;
    INFO("allocation " << n << ": " << krafla_error_name(code));
    if (countdown.load() >= 0) {
      REQUIRE(code == KRAFLA_OK);
      REQUIRE(n > 3);
      break;
    }
    if (code != KRAFLA_OK) REQUIRE((code == KRAFLA_E_MEMORY || code == KRAFLA_E_INTERNAL));
    REQUIRE(Ids(session.get()).size() >= n_text);
  }
}

TEST_CASE("a streamed model survives every failing allocation") {
  const std::string& path = TinyMixturePath();
  const SessionHandle resident = MakeSession(Open(path).get());
  REQUIRE(krafla_session_append(resident.get(), kPrompt.data(), kPrompt.size(), nullptr) ==
          KRAFLA_OK);
  const std::vector<float> expected = Logits(resident.get());
  RuntimeHandle runtime = CountedRuntime();
  krafla_residency_options residency = KRAFLA_RESIDENCY_OPTIONS_INIT;
  residency.budget = uint64_t{1} << 40;
  krafla_model_options options = KRAFLA_MODEL_OPTIONS_INIT;
  options.residency = &residency;
  krafla_plan plan{};
  plan.struct_size = sizeof(plan);
  REQUIRE(krafla_plan_path(&plan, path.data(), path.size(), &options, nullptr) == KRAFLA_OK);
  residency.budget = plan.least_budget;
  for (const int32_t reader : {KRAFLA_READ_PAGE_CACHE, KRAFLA_READ_AUTO}) {
    residency.reader = reader;
    krafla_model* raw = nullptr;
    const auto free_model = [&] {
      krafla_model_free(raw);
      raw = nullptr;
    };
    const int n = FailEach(
        [&] {
          return krafla_model_open_path(&raw, runtime.get(), path.data(), path.size(), &options);
        },
        [&] { REQUIRE(raw == nullptr); }, free_model);
    REQUIRE(n > 10);
    const ModelHandle model(raw);
    const SessionHandle session = MakeSession(model.get());
    // The threads that read allocate too: in another order each time, and never to somebody's harm.
    for (int failing = 0;; ++failing) {
      INFO("allocation " << failing);
      REQUIRE(krafla_session_truncate(session.get(), 0) == KRAFLA_OK);
      uint64_t left = 0;
      REQUIRE(krafla_model_trim(model.get(), 0, &left) == KRAFLA_OK);
      countdown = failing;
      armed = true;
      const int32_t code =
          krafla_session_append(session.get(), kPrompt.data(), kPrompt.size(), nullptr);
      armed = false;
      if (code == KRAFLA_OK) {
        REQUIRE(Logits(session.get()) == expected);
      } else {
        REQUIRE(code == KRAFLA_E_MEMORY);
      }
      if (countdown.load() >= 0) {
        REQUIRE(code == KRAFLA_OK);
        REQUIRE(failing > 10);
        break;
      }
    }
  }
}

TEST_CASE("generation keeps what it did when an allocation fails") {
  RuntimeHandle runtime = CountedRuntime();
  ModelHandle model = OpenTiny(runtime.get());
  SessionHandle session = MakeSession(model.get());
  REQUIRE(krafla_session_append(session.get(), kPrompt.data(), kPrompt.size(), nullptr) ==
          KRAFLA_OK);
  krafla_generate_options options = KRAFLA_GENERATE_OPTIONS_INIT;
  options.max_tokens = 8;
  options.ignore_end = 1;

  SessionHandle reference = MakeSession(model.get());
  REQUIRE(krafla_session_append(reference.get(), kPrompt.data(), kPrompt.size(), nullptr) ==
          KRAFLA_OK);
  krafla_sampler* raw = nullptr;
  REQUIRE(krafla_sampler_create(&raw, nullptr) == KRAFLA_OK);
  SamplerHandle sampler(raw);
  REQUIRE(krafla_session_generate(reference.get(), sampler.get(), &options, nullptr) == KRAFLA_OK);
  const std::vector<int32_t> expected = Ids(reference.get());

  for (int n = 0;; ++n) {
    REQUIRE(krafla_session_truncate(session.get(), static_cast<int64_t>(kPrompt.size())) ==
            KRAFLA_OK);
    REQUIRE(krafla_sampler_create(&raw, nullptr) == KRAFLA_OK);
    SamplerHandle fresh(raw);
    krafla_generate_result result = KRAFLA_GENERATE_RESULT_INIT;
    countdown = n;
    armed = true;
    const int32_t code = krafla_session_generate(session.get(), fresh.get(), &options, &result);
    armed = false;
    const std::vector<int32_t> ids = Ids(session.get());
    REQUIRE(ids.size() == kPrompt.size() + static_cast<size_t>(result.n_tokens));
    REQUIRE(std::equal(ids.begin(), ids.end(), expected.begin()));
    if (countdown.load() >= 0) {
      REQUIRE(code == KRAFLA_OK);
      REQUIRE(n > 0);
      break;
    }
    if (code != KRAFLA_OK) REQUIRE(code == KRAFLA_E_MEMORY);
  }
}

// With everything that a chain and the text may need, on one thread and on several, in one call and
// in slices.
TEST_CASE("steady decoding allocates nothing") {
  for (const int32_t threads : {1, 3}) {
    krafla_runtime_options runtime_options = KRAFLA_RUNTIME_OPTIONS_INIT;
    runtime_options.threads = threads;
    krafla_runtime* raw_runtime = nullptr;
    REQUIRE(krafla_runtime_create(&raw_runtime, &runtime_options) == KRAFLA_OK);
    RuntimeHandle runtime(raw_runtime);
    ModelHandle model = OpenTiny(runtime.get());
    for (const bool sliced : {false, true}) {
      SessionHandle session = MakeSession(model.get());
      REQUIRE(krafla_session_append(session.get(), kPrompt.data(), kPrompt.size(), nullptr) ==
              KRAFLA_OK);
      krafla_sampler* raw = nullptr;
      REQUIRE(krafla_sampler_create(&raw, nullptr) == KRAFLA_OK);
      SamplerHandle sampler(raw);
      REQUIRE(krafla_sampler_add_default(sampler.get()) == KRAFLA_OK);
      const struct {
        const char* stage;
        krafla_param param;
      } kSet[] = {{"penalties", {"repeat", 1.1}}, {"dry", {"multiplier", 0.3}},
                  {"top_n_sigma", {"n", 4}},      {"top_k", {"k", 40}},
                  {"typical", {"p", 0.97}},       {"top_p", {"p", 0.9}},
                  {"min_p", {"p", 0.01}},         {"xtc", {"probability", 0.5}},
                  {"temperature", {"t", 3}},      {"temperature", {"range", 1}}};
      for (const auto& [stage, param] : kSet) {
        REQUIRE(krafla_sampler_set(sampler.get(), stage, param.name, param.value) == KRAFLA_OK);
      }
      const krafla_bias bias = {-1, 7, 0};
      REQUIRE(krafla_sampler_set_bias(sampler.get(), &bias, 1) == KRAFLA_OK);
      krafla_custom_stage custom = KRAFLA_CUSTOM_STAGE_INIT;
      custom.apply = [](void*, krafla_candidate* candidates, size_t* n, const int32_t*, size_t) {
        candidates[0].value += *n > 1 ? 1 : 0;
        return 0;
      };
      REQUIRE(krafla_sampler_set_custom(sampler.get(), &custom) == KRAFLA_OK);
      struct Count {
        int tokens = 0;
        int64_t at_20 = 0;
        int64_t at_220 = 0;
      } count;
      const krafla_string stop = {"no such text at all", 19};
      krafla_generate_options options = KRAFLA_GENERATE_OPTIONS_INIT;
      options.max_tokens = 230;
      options.ignore_end = 1;
      options.stops = &stop;
      options.n_stops = 1;
      options.logprobs = 1;
      options.n_top = 5;
      options.user = &count;
      options.on_token = [](void* user, const krafla_token*) {
        Count& c = *static_cast<Count*>(user);
        ++c.tokens;
        if (c.tokens == 20) c.at_20 = asked.load();
        if (c.tokens == 220) c.at_220 = asked.load();
        return 0;
      };
      if (sliced) {
        REQUIRE(krafla_session_begin_generate(session.get(), sampler.get(), &options) == KRAFLA_OK);
        int32_t code = KRAFLA_PAUSED;
        while ((code = krafla_session_step(session.get(), 100)) == KRAFLA_PAUSED) continue;
        REQUIRE(code == KRAFLA_OK);
      } else {
        REQUIRE(krafla_session_generate(session.get(), sampler.get(), &options, nullptr) ==
                KRAFLA_OK);
      }
      REQUIRE(count.at_220 - count.at_20 == 0);
      REQUIRE(count.at_220 > 0);
    }
  }
}

TEST_CASE("conversion survives every failing allocation and leaves no partial file") {
  const std::string folder = CheckpointFolder();
  const std::filesystem::path out_folder =
      std::filesystem::temp_directory_path() / ("krafla-alloc-" + std::to_string(getpid()));
  std::filesystem::create_directory(out_folder);
  const std::string out = (out_folder / "tiny.mlb").string();
  krafla_convert_options options = KRAFLA_CONVERT_OPTIONS_INIT;
  options.kind = KRAFLA_CONVERT_HF;
  options.input = folder.c_str();
  options.output = out.c_str();
  options.wtype = "q4";
  for (const int32_t resume : {0, 1}) {
    options.resume = resume;
    const int n = FailEach([&] { return krafla_convert(&options); },
                           [&] { REQUIRE(std::filesystem::is_empty(out_folder)); },
                           [&] { std::filesystem::remove(out); });  // its patterns ran without JIT
    REQUIRE(n > 50);
    REQUIRE(krafla_check_file(out.data(), out.size(), nullptr, nullptr) == KRAFLA_OK);
    std::filesystem::remove(out);
  }
  std::filesystem::remove_all(out_folder);
}

}  // namespace krafla::test
