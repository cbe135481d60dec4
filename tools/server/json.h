// JSON in and out. What comes in is limited in depth, in the members of an object and in values
// before anything is built of it; members keep their order, since templates show it to the model.
#ifndef KRAFLA_TOOLS_SERVER_JSON_H_
#define KRAFLA_TOOLS_SERVER_JSON_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace krafla::server {

using Json = nlohmann::ordered_json;

// Throws ApiError (400).
Json ParseJson(std::string_view text);
// On one line; what is no UTF-8 becomes U+FFFD.
std::string Dump(const Json& json);

}  // namespace krafla::server

#endif  // KRAFLA_TOOLS_SERVER_JSON_H_
