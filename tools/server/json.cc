// See json.h.
#include "tools/server/json.h"

#include <array>

#include "tools/server/errors.h"

namespace krafla::server {
namespace {

constexpr int kMaxDepth = 128;
// Members are searched one by one (they keep their order), so many of them take long.
constexpr int kMaxMembers = 1024;
constexpr int64_t kMaxValues = 4 << 20;

// What the parser is told of: counts, and remembers where it is for its message.
class Watcher {
 public:
  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    if (++values_ > kMaxValues) throw BadField({}, "body: more than {} values", kMaxValues);
    switch (event) {
      case Event::object_start:
      case Event::array_start:
        if (depth >= kMaxDepth) {
          throw BadField({}, "body: JSON nested deeper than {} levels", kMaxDepth);
        }
        members_[static_cast<size_t>(depth)] = 0;
        break;
      case Event::key:
        // A key's depth is that of the values in its object.
        if (depth > 0 && ++members_[static_cast<size_t>(depth) - 1] > kMaxMembers) {
          throw BadField({}, "body: an object of more than {} members", kMaxMembers);
        }
        key_ = parsed.get_ref<const std::string&>();
        break;
      default:
        break;
    }
    return true;
  }
  const std::string& key() const { return key_; }

 private:
  std::array<int, kMaxDepth> members_{};
  int64_t values_ = 0;
  std::string key_;  // the last one
};

// Of the parser's message what is behind its number and place.
std::string Reason(const std::string& message) {
  const size_t at = message.find("] ");
  return at == std::string::npos ? message : message.substr(at + 2);
}

}  // namespace

Json ParseJson(std::string_view text) {
  if (text.empty()) throw BadField({}, "body: got nothing, want a JSON object");
  Watcher watcher;
  try {
    return Json::parse(text.begin(), text.end(),
                       [&](int depth, Json::parse_event_t event, Json& parsed) {
                         return watcher(depth, event, parsed);
                       });
  } catch (const Json::out_of_range&) {
    throw BadField(watcher.key(), "got a number that is too large");
  } catch (const Json::exception& error) {
    const std::string near = watcher.key().empty() ? "" : " (after \"" + watcher.key() + "\")";
    throw BadField({}, "body: not JSON{}: {}", near, Reason(error.what()));
  }
}

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace krafla::server
