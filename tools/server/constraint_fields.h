// What a reply must be: response_format and tool_choice, and the fields that other servers have for
// the same.
#ifndef KRAFLA_TOOLS_SERVER_CONSTRAINT_FIELDS_H_
#define KRAFLA_TOOLS_SERVER_CONSTRAINT_FIELDS_H_

#include <optional>

#include "tools/server/fields.h"
#include "tools/server/model.h"

namespace krafla::server {

// Of response_format (text, json_object, json_schema), json_schema or grammar; none where the reply
// is free. Throws ApiError with the place that is wrong.
std::optional<Constraint> TextConstraint(const Fields& fields, const ServedModel& model);

}  // namespace krafla::server

#endif  // KRAFLA_TOOLS_SERVER_CONSTRAINT_FIELDS_H_
