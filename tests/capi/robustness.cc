// What a host may do to the library while it works: cancel, several threads at once, opening and
// closing again and again, files inside of files.
#include <fcntl.h>
#if defined(_WIN32)
#include <io.h>
#endif
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "tests/capi/fixture.h"
#include "tests/capi/process_use.h"
#include "tests/support/catch.h"

namespace krafla::test {
namespace {

std::string ReadAll(const std::string& path) {
  std::string bytes;
  FILE* file = std::fopen(path.c_str(), "rb");
  REQUIRE(file != nullptr);
  char buffer[4096];
  for (size_t n = 0; (n = std::fread(buffer, 1, sizeof(buffer), file)) > 0;) {
    bytes.append(buffer, n);
  }
  std::fclose(file);
  return bytes;
}

std::vector<float> LogitsOf(const krafla_model* model) {
  SessionHandle session = MakeSession(model);
  REQUIRE(krafla_session_append(session.get(), kPrompt.data(), kPrompt.size(), nullptr) ==
          KRAFLA_OK);
  return Logits(session.get());
}

}  // namespace

// What krafla_model_open_fd takes.
#if defined(_WIN32)
int32_t HandleOf(int fd) { return static_cast<int32_t>(_get_osfhandle(fd)); }
#else
int32_t HandleOf(int fd) { return fd; }
#endif

TEST_CASE("a model inside of another file is opened by its handle, mapped and read") {
  const std::string bytes = ReadAll(TinyModelPath());
  ModelHandle plain = OpenTiny();
  const std::vector<float> expected = LogitsOf(plain.get());
  for (const size_t before : {size_t{0}, size_t{64}, size_t{5000}, size_t{4096 + 192}, size_t{7}}) {
    FILE* pak = std::tmpfile();
    REQUIRE(pak != nullptr);
    const std::string junk(before, 'x');
    REQUIRE(std::fwrite(junk.data(), 1, junk.size(), pak) == junk.size());
    REQUIRE(std::fwrite(bytes.data(), 1, bytes.size(), pak) == bytes.size());
    REQUIRE(std::fwrite("behind", 1, 6, pak) == 6);
    REQUIRE(std::fflush(pak) == 0);
    for (const int32_t load : {KRAFLA_LOAD_MAP, KRAFLA_LOAD_READ, KRAFLA_LOAD_AUTO}) {
      krafla_model_options options = KRAFLA_MODEL_OPTIONS_INIT;
      options.load = load;
      krafla_model* raw = nullptr;
      const int fd = dup(fileno(pak));
      REQUIRE(krafla_model_open_fd(&raw, nullptr, HandleOf(fd), before, bytes.size(), &options) ==
              KRAFLA_OK);
      close(fd);
      ModelHandle model(raw);
      REQUIRE(LogitsOf(model.get()) == expected);
    }
    krafla_model* refused = nullptr;
    const int32_t fd = HandleOf(fileno(pak));
    REQUIRE(krafla_model_open_fd(&refused, nullptr, fd, before, bytes.size() + 7, nullptr) ==
            KRAFLA_E_FILE);
    REQUIRE(krafla_model_open_fd(&refused, nullptr, fd, UINT64_MAX, 1, nullptr) == KRAFLA_E_FILE);
    REQUIRE(krafla_model_open_fd(&refused, nullptr, fd, 1, UINT64_MAX, nullptr) == KRAFLA_E_FILE);
    REQUIRE(krafla_model_open_fd(&refused, nullptr, -1, 0, 0, nullptr) == KRAFLA_E_IO);
    REQUIRE(krafla_model_open_fd(&refused, nullptr, 0x7FFFFFFF, 0, 0, nullptr) == KRAFLA_E_IO);
    krafla_model_options bad = KRAFLA_MODEL_OPTIONS_INIT;
    bad.load = 9;
    REQUIRE(krafla_model_open_fd(&refused, nullptr, fd, before, 0, &bad) == KRAFLA_E_ARGUMENT);
    REQUIRE(refused == nullptr);
    std::fclose(pak);
  }
}

#if !defined(_WIN32)  // where a file that is mapped cannot be changed
TEST_CASE("a mapped file that was changed serves no new session, one that was read does") {
  const std::string path = TinyModelPath() + ".changed";
  const std::string bytes = ReadAll(TinyModelPath());
  for (const bool truncated : {false, true}) {
    CAPTURE(truncated);
    std::ofstream(path, std::ios::binary) << bytes;
    krafla_model_options options = KRAFLA_MODEL_OPTIONS_INIT;
    krafla_model* raw = nullptr;
    options.load = KRAFLA_LOAD_MAP;
    REQUIRE(krafla_model_open_path(&raw, nullptr, path.data(), path.size(), &options) == KRAFLA_OK);
    const ModelHandle mapped(raw);
    options.load = KRAFLA_LOAD_READ;
    REQUIRE(krafla_model_open_path(&raw, nullptr, path.data(), path.size(), &options) == KRAFLA_OK);
    const ModelHandle read(raw);
    const std::vector<float> expected = LogitsOf(read.get());
    REQUIRE(LogitsOf(mapped.get()) == expected);
    if (truncated) {
      std::filesystem::resize_file(path, bytes.size() / 2);
    } else {
      std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
      file.seekp(static_cast<std::streamoff>(bytes.size() / 2)) << "something else";
      file.close();
      std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() +
                                                 std::chrono::seconds(2));  // clocks are coarse
    }
    krafla_session* session = nullptr;
    CHECK(krafla_session_create(&session, mapped.get(), nullptr) == KRAFLA_E_FILE);
    CHECK(std::strstr(krafla_error_message(), "changed") != nullptr);
    CHECK(LogitsOf(read.get()) == expected);
  }
  std::filesystem::remove(path);
}
#endif

TEST_CASE("an automatic load copies only what takes at most half of the budget") {
  const std::string& path = TinyModelPath();
  const auto weights_read = [&](int32_t load, uint64_t budget) -> std::pair<int32_t, uint64_t> {
    krafla_runtime_options runtime_options = KRAFLA_RUNTIME_OPTIONS_INIT;
    runtime_options.has_budget = 1;
    runtime_options.budget = budget;
    krafla_runtime* raw_runtime = nullptr;
    REQUIRE(krafla_runtime_create(&raw_runtime, &runtime_options) == KRAFLA_OK);
    RuntimeHandle runtime(raw_runtime);
    krafla_model_options options = KRAFLA_MODEL_OPTIONS_INIT;
    options.load = load;
    krafla_model* raw = nullptr;
    const int32_t code =
        krafla_model_open_path(&raw, runtime.get(), path.data(), path.size(), &options);
    ModelHandle model(raw);
    krafla_runtime_info info{};
    info.struct_size = sizeof(info);
    REQUIRE(krafla_runtime_get_info(runtime.get(), &info) == KRAFLA_OK);
    return {code, info.used_bytes};
  };
  const auto file = static_cast<uint64_t>(std::filesystem::file_size(path));
  const auto [read_code, read_bytes] = weights_read(KRAFLA_LOAD_READ, 2 * file);
  REQUIRE(read_code == KRAFLA_OK);
  REQUIRE(read_bytes > 0);
  const auto [auto_code, auto_bytes] = weights_read(KRAFLA_LOAD_AUTO, 2 * file);
  REQUIRE(auto_code == KRAFLA_OK);
  REQUIRE((auto_bytes == read_bytes || auto_bytes == 0));  // 0: this system has no large pages
  REQUIRE(weights_read(KRAFLA_LOAD_AUTO, 2 * file - 1) ==
          std::pair(int32_t{KRAFLA_OK}, uint64_t{0}));
  REQUIRE(weights_read(KRAFLA_LOAD_AUTO, 0) == std::pair(int32_t{KRAFLA_OK}, uint64_t{0}));
  REQUIRE(weights_read(KRAFLA_LOAD_READ, 0).first == KRAFLA_E_BUDGET);
}

TEST_CASE("a load that is cancelled ends at once and leaves nothing") {
  krafla_runtime* raw_runtime = nullptr;
  REQUIRE(krafla_runtime_create(&raw_runtime, nullptr) == KRAFLA_OK);
  RuntimeHandle runtime(raw_runtime);
  const std::string& path = TinyModelPath();
  krafla_model_options options = KRAFLA_MODEL_OPTIONS_INIT;
  options.load = KRAFLA_LOAD_READ;
  int calls = 0;
  options.user = &calls;
  options.progress = [](void* user, uint64_t, uint64_t) {
    return ++*static_cast<int*>(user) == 3 ? 1 : 0;
  };
  krafla_model* model = nullptr;
  REQUIRE(krafla_model_open_path(&model, runtime.get(), path.data(), path.size(), &options) ==
          KRAFLA_E_CALLBACK);
  REQUIRE(model == nullptr);
  REQUIRE(calls == 3);
  krafla_runtime_info info{};
  info.struct_size = sizeof(info);
  REQUIRE(krafla_runtime_get_info(runtime.get(), &info) == KRAFLA_OK);
  REQUIRE(info.used_bytes == 0);
}

TEST_CASE("many threads share a model, a runtime and a tokenizer") {
  krafla_runtime_options options = KRAFLA_RUNTIME_OPTIONS_INIT;
  options.threads = 2;
  krafla_runtime* raw_runtime = nullptr;
  REQUIRE(krafla_runtime_create(&raw_runtime, &options) == KRAFLA_OK);
  RuntimeHandle runtime(raw_runtime);
  ModelHandle model = OpenTiny(runtime.get());
  const std::vector<float> expected = LogitsOf(model.get());
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        krafla_session* raw = nullptr;
        krafla_session_options small = KRAFLA_SESSION_OPTIONS_INIT;
        small.context = 256;
        krafla_tokenizer* tokenizer = nullptr;
        wrong += krafla_tokenizer_from_model(&tokenizer, model.get()) != KRAFLA_OK;
        krafla_tokenizer_free(tokenizer);
        wrong += krafla_session_create(&raw, model.get(), &small) != KRAFLA_OK;
        SessionHandle session(raw);
        wrong += krafla_session_append(raw, kPrompt.data(), kPrompt.size(), nullptr) != KRAFLA_OK;
        const float* row = nullptr;
        size_t n = 0;
        wrong += krafla_session_get_logits(raw, &row, &n) != KRAFLA_OK;
        wrong += std::memcmp(row, expected.data(), n * sizeof(float)) != 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(wrong == 0);
}

TEST_CASE("one session hammered by several threads: each call is done or refused") {
  ModelHandle model = OpenTiny();
  SessionHandle session = MakeSession(model.get());
  std::atomic<int> unexpected{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 60; ++i) {
        krafla_session* s = session.get();
        int32_t code = KRAFLA_OK;
        krafla_session* fork = nullptr;
        size_t size = 0;
        switch ((i + t) % 6) {
          case 0:
            code = krafla_session_append(s, kPrompt.data(), 3, nullptr);
            break;
          case 1:
            code = krafla_session_truncate(s, 0);
            break;
          case 2:
            code = krafla_session_fork(&fork, s);
            krafla_session_free(fork);
            break;
          case 3:
            code = krafla_session_edit(s, kPrompt.data(), 5, nullptr);
            break;
          case 4:
            code = krafla_session_save(s, nullptr, 0, &size, nullptr);
            if (code == KRAFLA_E_BUFFER) code = KRAFLA_OK;
            break;
          default:
            code = krafla_session_cancel(s);
            break;
        }
        if (code != KRAFLA_OK && code != KRAFLA_E_STATE && code != KRAFLA_E_CANCELLED) ++unexpected;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(unexpected == 0);
  const auto edit = [&] {
    return krafla_session_edit(session.get(), kPrompt.data(), kPrompt.size(), nullptr);
  };
  int32_t code = edit();
  if (code == KRAFLA_E_CANCELLED) code = edit();  // the first one took up a cancel that came last
  REQUIRE(code == KRAFLA_OK);
  REQUIRE(Logits(session.get()) == LogitsOf(model.get()));
}

TEST_CASE("opening and closing again and again keeps memory flat") {
  const auto cycle = [] {
    krafla_runtime_options options = KRAFLA_RUNTIME_OPTIONS_INIT;
    options.threads = 2;
    krafla_runtime* raw = nullptr;
    REQUIRE(krafla_runtime_create(&raw, &options) == KRAFLA_OK);
    RuntimeHandle runtime(raw);
    ModelHandle model = OpenTiny(runtime.get());
    LogitsOf(model.get());
  };
  for (int i = 0; i < 20; ++i) cycle();
  const size_t bytes = BytesInUse();
  const size_t mappings = MappingsAndFiles();
  for (int i = 0; i < 200; ++i) cycle();
  REQUIRE(MappingsAndFiles() == mappings);
#ifndef __SANITIZE_ADDRESS__  // whose malloc tells nothing, and which finds every leak itself
  REQUIRE(bytes > 0);
  REQUIRE(BytesInUse() < bytes + 16384);  // below 82 bytes a cycle: no object is so small
#endif
}

}  // namespace krafla::test
