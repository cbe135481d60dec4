// A request's fields, typed and within bounds: each is read by name, and what is wrong with one is
// an ApiError with that name. null counts as absent, as OpenAI's clients mean it.
#ifndef KRAFLA_TOOLS_SERVER_FIELDS_H_
#define KRAFLA_TOOLS_SERVER_FIELDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/server/json.h"

namespace krafla::server {

class Fields {
 public:
  // object must outlive this. path: of the object in the request, for names ("stream_options").
  explicit Fields(const Json& object, std::string path = {});

  // null where it is absent.
  const Json* Find(const char* name) const;
  bool Has(const char* name) const { return Find(name) != nullptr; }
  std::optional<int64_t> Integer(const char* name, int64_t min, int64_t max) const;
  std::optional<double> Number(const char* name, double min, double max) const;
  std::optional<bool> Bool(const char* name) const;
  std::optional<std::string> String(const char* name) const;
  // One string, or an array of them.
  std::vector<std::string> Strings(const char* name, size_t most) const;
  // null or an object (array).
  const Json* Object(const char* name) const;
  const Json* Array(const char* name) const;
  // Refuses the field where it is there and not `harmless`.
  void RefuseUnless(const char* name, const Json& harmless, const std::string& why) const;

  std::string Name(const char* name) const { return path_.empty() ? name : path_ + "." + name; }

 private:
  const Json& object_;
  std::string path_;
};

// A whole number, also as 3.0, within bounds.
int64_t ToInteger(const Json& value, const std::string& name, int64_t min, int64_t max);
double ToNumber(const Json& value, const std::string& name, double min, double max);
// What a value is, for messages: shortened.
std::string Show(const Json& value);

}  // namespace krafla::server

#endif  // KRAFLA_TOOLS_SERVER_FIELDS_H_
