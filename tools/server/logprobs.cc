// See logprobs.h.
#include "tools/server/logprobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace krafla::server {
namespace {

constexpr double kLeast = -9999;

Json Bytes(std::string_view text) {
  Json bytes = Json::array();
  for (const char c : text) bytes.push_back(static_cast<unsigned char>(c));
  return bytes;
}

Json Entry(const ServedModel& model, int32_t id, float logprob) {
  const std::string bytes = model.TokenText(id);
  return {{"token", ShowToken(bytes)},
          {"logprob", FiniteLogprob(logprob)},
          {"bytes", Bytes(bytes)},
          {"id", id}};
}

}  // namespace

double FiniteLogprob(float logprob) {
  return std::isfinite(logprob) ? static_cast<double>(logprob) : kLeast;
}

std::string ShowToken(std::string_view bytes) {
  try {
    (void)Json(bytes).dump();
    return std::string(bytes);
  } catch (const Json::type_error&) {  // no UTF-8
  }
  std::string shown = "bytes:";
  for (const char c : bytes) shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return shown;
}

Json ChatLogprob(const ServedModel& model, const krafla_event& event) {
  Json entry = Entry(model, event.id, event.logprob);
  entry["top_logprobs"] = Json::array();
  for (int32_t i = 0; i < event.n_top; ++i) {
    entry["top_logprobs"].push_back(Entry(model, event.top_ids[i], event.top_logprobs[i]));
  }
  return entry;
}

}  // namespace krafla::server
