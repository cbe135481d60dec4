// See state.h.
#include "tools/server/state.h"

#include <chrono>
#include <random>

#include "tools/server/errors.h"
#include "tools/server/fields.h"

namespace krafla::server {

ServedModel& Call::FindModel(const Json& body) const {
  const std::optional<std::string> name = Fields(body).String("model");
  if (!name) return *state.models.front();
  std::string names;
  for (const auto& model : state.models) {
    if (model->name() == *name) return *model;
    names += (names.empty() ? "" : ", ") + model->name();
  }
  throw ApiError(404, "model_not_found",
                 fmt::format("model: got {}, want one of: {}", Show(Json(*name)), names), "model");
}

void Call::CheckWanted() const {
  if (state.stopping.load()) throw ApiError(503, "cancelled", "the server is stopping");
  if (reply.ClientGone()) throw ClientLeft{};
}

int Call::StopUnwanted(void* call, int64_t, int64_t) {
  const Call& asked = *static_cast<const Call*>(call);
  return asked.state.stopping.load() || asked.reply.ClientGone() ? 1 : 0;
}

std::string NewId(std::string_view prefix) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  thread_local std::mt19937_64 random{std::random_device{}()};
  std::string id(prefix);
  for (int i = 0; i < 24; ++i) {
    id += kLetters[std::uniform_int_distribution<size_t>(0, kLetters.size() - 1)(random)];
  }
  return id;
}

int64_t UnixTime() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace krafla::server
