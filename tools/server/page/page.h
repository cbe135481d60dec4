// The web page that ml_server serves at "/", as its sources were when the program was built:
// read-only bytes, no file is opened at run time. Its own headers are here too, because they and
// the page's sources must agree.
#ifndef KRAFLA_TOOLS_SERVER_PAGE_PAGE_H_
#define KRAFLA_TOOLS_SERVER_PAGE_PAGE_H_

#include <string_view>

namespace krafla::tools {

struct PageFile {
  std::string_view path;  // "/" for index.html, "/page.js"
  std::string_view type;  // of Content-Type
  std::string_view etag;  // with its quotes
  std::string_view content;
};

// nullptr where the page has no such file. `path` without a query.
const PageFile* FindPageFile(std::string_view path);

struct PageHeader {
  const char* name;
  const char* value;
};

// To be sent with every file of the page. Nothing is loaded from or sent to anywhere but this
// server, no script or style stands in the document itself, and text never becomes markup (Trusted
// Types without a policy: innerHTML throws).
inline constexpr PageHeader kPageHeaders[] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
     "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
     "require-trusted-types-for 'script'; trusted-types 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cache-Control", "no-cache"},
};

}  // namespace krafla::tools

#endif  // KRAFLA_TOOLS_SERVER_PAGE_PAGE_H_
