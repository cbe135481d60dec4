// Size-versioned structs: callers with older (shorter) and newer (longer) headers.
#include <cstring>
#include <vector>

#include "tests/capi/fixture.h"
#include "tests/support/catch.h"

namespace krafla::test {

TEST_CASE("a shorter options struct leaves the missing fields at their defaults") {
  ModelHandle model = OpenTiny();
  krafla_session_options options = KRAFLA_SESSION_OPTIONS_INIT;
  options.context = 77;
  options.kv = 12345;  // beyond what the short struct says it has: not read
  options.struct_size = offsetof(krafla_session_options, kv);
  krafla_session* raw = nullptr;
  REQUIRE(krafla_session_create(&raw, model.get(), &options) == KRAFLA_OK);
  SessionHandle session(raw);
  krafla_session_info info{};
  info.struct_size = sizeof(info);
  REQUIRE(krafla_session_get_info(session.get(), &info) == KRAFLA_OK);
  REQUIRE(info.context == 77);
}

TEST_CASE("a longer options struct is accepted only with a zero tail") {
  struct Newer {
    krafla_sampler_options known;
    uint64_t added;
  } newer{};
  newer.known = KRAFLA_SAMPLER_OPTIONS_INIT;
  newer.known.struct_size = sizeof(newer);
  newer.known.seed = 9;
  newer.known.has_seed = 1;
  krafla_sampler* raw = nullptr;
  REQUIRE(krafla_sampler_create(&raw, &newer.known) == KRAFLA_OK);
  SamplerHandle sampler(raw);
  uint64_t seed = 0;
  REQUIRE(krafla_sampler_get_seed(sampler.get(), &seed) == KRAFLA_OK);
  REQUIRE(seed == 9);

  newer.added = 1;
  krafla_sampler* refused = nullptr;
  REQUIRE(krafla_sampler_create(&refused, &newer.known) == KRAFLA_E_UNSUPPORTED);
  REQUIRE(refused == nullptr);
}

TEST_CASE("a struct_size that is none is refused") {
  krafla_sampler* sampler = nullptr;
  for (const size_t size : {size_t{0}, size_t{7}, size_t{1} << 20, SIZE_MAX}) {
    krafla_sampler_options options = KRAFLA_SAMPLER_OPTIONS_INIT;
    options.struct_size = size;
    REQUIRE(krafla_sampler_create(&sampler, &options) == KRAFLA_E_ARGUMENT);
    REQUIRE(std::strstr(krafla_error_message(), "struct_size") != nullptr);
  }
}

TEST_CASE("an info struct is written up to the caller's size and no further") {
  ModelHandle model = OpenTiny();
  // Every prefix of the struct, with a guard behind it.
  for (size_t size = sizeof(size_t); size <= sizeof(krafla_model_info) + 16; ++size) {
    std::vector<unsigned char> bytes(size + 8, 0xAB);
    std::memcpy(bytes.data(), &size, sizeof(size));
    auto* info = reinterpret_cast<krafla_model_info*>(bytes.data());
    REQUIRE(krafla_model_get_info(model.get(), info) == KRAFLA_OK);
    size_t kept = 0;
    std::memcpy(&kept, bytes.data(), sizeof(kept));
    REQUIRE(kept == size);
    for (size_t i = size; i < bytes.size(); ++i) REQUIRE(bytes[i] == 0xAB);
    // A tail that this library does not know reads as zero, not as garbage.
    for (size_t i = sizeof(krafla_model_info); i < size; ++i) REQUIRE(bytes[i] == 0);
  }
  krafla_model_info whole{};
  whole.struct_size = sizeof(whole);
  REQUIRE(krafla_model_get_info(model.get(), &whole) == KRAFLA_OK);
  REQUIRE(whole.n_vocab == 512);
  REQUIRE(std::strcmp(whole.arch, "llama") == 0);
}

}  // namespace krafla::test
