// See constraint_fields.h.
#include "tools/server/constraint_fields.h"

#include "tools/server/errors.h"

namespace krafla::server {
namespace {

// compile() with what is wrong with its text as an error of that field.
template <typename Compile>
Constraint Compiled(const std::string& name, Compile compile) {
  try {
    return compile();
  } catch (const Error& error) {
    if (error.code() != KRAFLA_E_ARGUMENT && error.code() != KRAFLA_E_UNSUPPORTED) throw;
    throw BadField(name, "{}", error.what());
  }
}

Constraint OfSchema(const Json& schema, const std::string& name, const ServedModel& model) {
  if (!schema.is_object() && !schema.is_boolean()) {
    throw BadField(name, "got {}, want a JSON schema", Show(schema));
  }
  return Compiled(name, [&] { return Constraint::JsonSchema(model.tokenizer(), Dump(schema)); });
}

}  // namespace

std::optional<Constraint> TextConstraint(const Fields& fields, const ServedModel& model) {
  std::optional<Constraint> made;
  const auto set = [&](const char* name, Constraint constraint) {
    if (made) throw BadField(name, "another field says already what the reply must be");
    made.emplace(std::move(constraint));
  };
  if (const Json* format = fields.Object("response_format")) {
    const Fields inner(*format, "response_format");
    const std::string type = inner.String("type").value_or("text");
    if (type == "json_object") {
      const Json* schema = inner.Find("schema");
      set("response_format", OfSchema(schema != nullptr ? *schema : Json{{"type", "object"}},
                                      "response_format.schema", model));
    } else if (type == "json_schema") {
      const Json* named = inner.Object("json_schema");
      if (named == nullptr) {
        throw BadField("response_format.json_schema", "is missing, want an object with a schema");
      }
      const Json* schema = Fields(*named, "response_format.json_schema").Find("schema");
      if (schema == nullptr) {
        throw BadField("response_format.json_schema.schema", "is missing, want a JSON schema");
      }
      set("response_format", OfSchema(*schema, "response_format.json_schema.schema", model));
    } else if (type != "text") {
      throw BadField("response_format.type", "got {}, want text, json_object or json_schema",
                     Show(Json(type)));
    }
  }
  if (const Json* schema = fields.Find("json_schema")) {
    set("json_schema", OfSchema(*schema, "json_schema", model));
  }
  const std::string grammar = fields.String("grammar").value_or("");
  if (!grammar.empty()) {
    set("grammar",
        Compiled("grammar", [&] { return Constraint::Gbnf(model.tokenizer(), grammar); }));
  }
  return made;
}

}  // namespace krafla::server
