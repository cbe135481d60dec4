// See errors.h.
#include "tools/server/errors.h"

namespace krafla::server {
namespace {

const char* TypeOf(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 429:
      return "rate_limit_error";
    case 503:
      return "unavailable_error";
    default:
      return status >= 500 ? "server_error" : "invalid_request_error";
  }
}

}  // namespace

Json ApiError::Body() const {
  Json error = {{"message", what()}, {"type", TypeOf(status_)}};
  error["param"] = param_.empty() ? Json() : Json(param_);
  error["code"] = code_.empty() ? Json() : Json(code_);
  if (extra.is_object()) error.update(extra);
  return {{"error", std::move(error)}};
}

ApiError Unsupported(std::string param, const std::string& what) {
  return {400, "unsupported", param + ": " + what, std::move(param)};
}

ApiError NotFound(const std::string& what) { return {404, "not_found", what}; }

ApiError FromLibrary(const Error& error) {
  switch (error.code()) {
    case KRAFLA_E_ARGUMENT:
    case KRAFLA_E_TEMPLATE:
    case KRAFLA_E_NOT_FOUND:
      return {400, "invalid_value", error.what()};
    case KRAFLA_E_UNSUPPORTED:
      return {400, "unsupported", error.what()};
    case KRAFLA_E_CONTEXT:
      return {400, "context_length_exceeded", error.what()};
    case KRAFLA_E_MEMORY:
    case KRAFLA_E_BUDGET:
      return {503, "out_of_memory", error.what()};
    case KRAFLA_E_CANCELLED:
      return {503, "cancelled", "the server is stopping"};
    default:
      return {500, "internal_error", error.what()};
  }
}

void CheckFits(size_t n_prompt, int64_t context, bool reply) {
  const int64_t most = context - (reply ? 1 : 0);
  if (static_cast<int64_t>(n_prompt) <= most) return;
  ApiError error(
      400, "context_length_exceeded",
      // As OpenAI words it: LiteLLM and others know by these words what to do.
      fmt::format(
          "this model's maximum context length is {} tokens: the prompt has {}, want at most {}{}",
          context, n_prompt, most, reply ? ", so that there is one for the reply" : ""));
  error.extra = {{"n_prompt_tokens", n_prompt}, {"n_ctx", context}};
  throw error;
}

}  // namespace krafla::server
