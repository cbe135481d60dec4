// What a reply must be: response_format and tool_choice, and the fields that other servers have for
// the same.
#ifndef KRAFLA_TOOLS_SERVER_CONSTRAINT_FIELDS_H_
#define KRAFLA_TOOLS_SERVER_CONSTRAINT_FIELDS_H_

#include <optional>
#include <string>

#include "tools/server/fields.h"
#include "tools/server/model.h"

namespace krafla::server {

// Of response_format (text, json_object, json_schema), json_schema or grammar; none where the reply
// is free. Throws ApiError with the place that is wrong.
std::optional<Constraint> TextConstraint(const Fields& fields, const ServedModel& model);

struct ToolChoice {
  bool allowed = true;    // not "none"
  bool required = false;  // the reply is a call
  std::string tool;       // of this function; "": of any
};
// Of tool_choice. Throws ApiError.
ToolChoice ReadToolChoice(const Fields& fields);
// What the reply to `chat`, whose prompt was encoded, must be: a call where the choice says so;
// where a tool is strict, text whose calls follow the schemas; else nothing.
std::optional<Constraint> CallConstraint(const Fields& fields, const ToolChoice& choice,
                                         bool parallel, Chat& chat);

}  // namespace krafla::server

#endif  // KRAFLA_TOOLS_SERVER_CONSTRAINT_FIELDS_H_
