// Sessions over the tiny models, and comparisons of bits.
#ifndef KRAFLA_TESTS_SESSION_FIXTURE_H_
#define KRAFLA_TESTS_SESSION_FIXTURE_H_

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "lib/session/session.h"
#include "tests/model/tiny_model.h"
#include "tests/support/catch.h"

namespace krafla::test {

inline std::unique_ptr<Session> NewSession(const std::shared_ptr<const Model>& model,
                                           const SessionOptions& options) {
  auto session = Session::Create(model, options);
  INFO(Message(session.status()));
  REQUIRE(session.ok());
  return *std::move(session);
}

// Some text of the given length; the same every time.
inline std::vector<int32_t> Ids(size_t n, uint32_t seed, int64_t n_vocab) {
  std::vector<int32_t> ids(n);
  for (int32_t& id : ids) {
    seed = seed * 1664525 + 1013904223;
    id = static_cast<int32_t>((seed >> 8) % static_cast<uint32_t>(n_vocab));
  }
  return ids;
}

inline std::vector<float> Copy(std::span<const float> values) {
  return {values.begin(), values.end()};
}

inline bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && !a.empty() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

// Rows of all positions.
inline std::vector<std::vector<float>> AllLogits(Session& session, std::span<const int32_t> ids) {
  std::vector<std::vector<float>> rows;
  AppendOptions options;
  options.logits = WantLogits::kAll;
  options.user = &rows;
  options.on_logits = [](void* user, int64_t, const float* row, size_t n) {
    static_cast<std::vector<std::vector<float>>*>(user)->emplace_back(row, row + n);
    return 0;
  };
  const Status status = session.Append(ids, options);
  INFO(Message(status));
  REQUIRE(status.ok());
  return rows;
}

inline int32_t Best(std::span<const float> logits) {
  size_t best = 0;
  for (size_t i = 1; i < logits.size(); ++i) {
    if (logits[i] > logits[best]) best = i;
  }
  return static_cast<int32_t>(best);
}

}  // namespace krafla::test

#endif  // KRAFLA_TESTS_SESSION_FIXTURE_H_
