// See security.h.
#include "tools/server/security.h"

#include <algorithm>

namespace krafla::server {
namespace {

// Without the port.
std::string_view HostName(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, std::min(host.find(']') + 1, host.size()));
  return host.substr(0, std::min(host.rfind(':'), host.size()));
}

// Names can be made to point anywhere, addresses cannot.
bool IsAddress(std::string_view name) {
  if (name.starts_with('[')) {
    return name.size() > 2 && name.ends_with(']') &&
           name.find_first_not_of("0123456789abcdef:.", 1) == name.size() - 1;
  }
  // Top-level domains are not numeric, so this can be no name.
  return !name.empty() && name.find_first_not_of("0123456789.") == std::string_view::npos &&
         std::count(name.begin(), name.end(), '.') == 3;
}

bool Contains(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), "*") != list.end() ||
         std::find(list.begin(), list.end(), text) != list.end();
}

}  // namespace

bool EqualInConstantTime(std::string_view secret, std::string_view given) {
  unsigned char difference = secret.size() == given.size() ? 0 : 1;
  for (size_t i = 0; i < given.size(); ++i) {
    const char other = secret.empty() ? '\0' : secret[i % secret.size()];
    difference |= static_cast<unsigned char>(other ^ given[i]);
  }
  return difference == 0 && !given.empty();
}

bool HostAllowed(const AccessRules& rules, std::string_view host) {
  const std::string name = LowerCase(HostName(host));
  return name == "localhost" || name.ends_with(".localhost") || IsAddress(name) ||
         Contains(rules.hosts, name);
}

bool OriginListed(const AccessRules& rules, std::string_view origin) {
  return Contains(rules.origins, origin);
}

std::string NormalOrigin(std::string_view text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
  constexpr std::string_view kDigits = "0123456789";
  std::string origin = LowerCase(text);
  const size_t colon = origin.find("://");
  if (colon == std::string::npos || kLetters.find(origin[0]) == std::string_view::npos) return {};
  const std::string_view scheme = std::string_view(origin).substr(0, colon);
  const std::string_view rest = std::string_view(origin).substr(colon + 3);
  if (scheme.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+-.") != scheme.npos) return {};
  const std::string_view name = HostName(rest);
  const bool six = name.starts_with('[') && IsAddress(name);
  if (name.empty() ||
      (!six && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-._") != name.npos)) {
    return {};
  }
  const std::string_view port = rest.substr(name.size());
  if (port.empty()) return origin;
  if (port[0] != ':' || port.size() < 2 || port.size() > 6 || port[1] == '0' ||
      port.find_first_not_of(kDigits, 1) != port.npos) {
    return {};
  }
  const bool own = (scheme == "http" && port == ":80") || (scheme == "https" && port == ":443");
  if (own) origin.resize(origin.size() - port.size());
  return origin;
}

bool OriginIsOwn(std::string_view origin, std::string_view host) {
  for (std::string_view scheme : {"http://", "https://"}) {  // https: behind a proxy
    if (origin.starts_with(scheme)) {
      return LowerCase(origin.substr(scheme.size())) == LowerCase(host);
    }
  }
  return false;
}

bool KeyGiven(const AccessRules& rules, const HttpRequest& request) {
  std::string_view given = request.Header("authorization");
  if (given.size() > 7 && LowerCase(given.substr(0, 7)) == "bearer ") {
    given = Trim(given.substr(7));
  } else {
    given = request.Header("x-api-key");
  }
  bool found = false;
  for (const std::string& key : rules.keys) found |= EqualInConstantTime(key, given);
  return found;
}

}  // namespace krafla::server
