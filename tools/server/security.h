// Who may talk to the server. A browser lets any web page send requests to 127.0.0.1, and a name
// that an attacker owns can be made to point there; so the Host must be one that can only mean this
// machine, and an Origin must be the server's own or one that its owner listed.
#ifndef KRAFLA_TOOLS_SERVER_SECURITY_H_
#define KRAFLA_TOOLS_SERVER_SECURITY_H_

#include <string>
#include <string_view>
#include <vector>

#include "tools/server/http/message.h"

namespace krafla::server {

struct AccessRules {
  std::vector<std::string> keys;     // empty: no key is asked for
  std::vector<std::string> hosts;    // names besides addresses and localhost; "*": any
  std::vector<std::string> origins;  // "https://app.example"; "*": any
};

// Takes the same time for every text of one length, whatever the secret is.
bool EqualInConstantTime(std::string_view secret, std::string_view given);

bool HostAllowed(const AccessRules& rules, std::string_view host);
// The origin may read replies: it is listed. Not for the server's own, which needs no leave.
bool OriginListed(const AccessRules& rules, std::string_view origin);
// As browsers write it: in small letters, without the scheme's own port. "": it is none.
std::string NormalOrigin(std::string_view text);
bool OriginIsOwn(std::string_view origin, std::string_view host);
// A key came along and is one of the rules'.
bool KeyGiven(const AccessRules& rules, const HttpRequest& request);

}  // namespace krafla::server

#endif  // KRAFLA_TOOLS_SERVER_SECURITY_H_
