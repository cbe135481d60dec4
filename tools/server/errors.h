// Errors as OpenAI's API has them. Whatever reads a request throws ApiError; the router alone
// catches, so that each reply is made in one place.
#ifndef KRAFLA_TOOLS_SERVER_ERRORS_H_
#define KRAFLA_TOOLS_SERVER_ERRORS_H_

#include <fmt/format.h>

#include <krafla/krafla.hpp>
#include <stdexcept>
#include <string>
#include <utility>

#include "tools/server/json.h"

namespace krafla::server {

class ApiError : public std::runtime_error {
 public:
  ApiError(int status, std::string code, const std::string& message, std::string param = {})
      : std::runtime_error(message),
        status_(status),
        code_(std::move(code)),
        param_(std::move(param)) {}

  int status() const { return status_; }
  const std::string& code() const { return code_; }
  const std::string& param() const { return param_; }
  // {"error": {"message", "type", "param", "code"}}
  Json Body() const;
  Json extra;  // further members of the error

 private:
  int status_;
  std::string code_;
  std::string param_;
};

// A field of the request is not as it should be: 400 with its name.
template <typename... Args>
ApiError BadField(std::string param, fmt::format_string<Args...> format, Args&&... args) {
  const std::string what = fmt::format(format, std::forward<Args>(args)...);
  return {400, "invalid_value", param.empty() ? what : param + ": " + what, std::move(param)};
}

// A field that would change the answer and that this server does not do.
ApiError Unsupported(std::string param, const std::string& what);
ApiError NotFound(const std::string& what);
// Of a call of the library.
ApiError FromLibrary(const Error& error);
// Throws where a prompt, with room for one token of a reply where there is to be one, is longer
// than the context.
void CheckFits(size_t n_prompt, int64_t context, bool reply);

}  // namespace krafla::server

#endif  // KRAFLA_TOOLS_SERVER_ERRORS_H_
