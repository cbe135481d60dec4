// See constraint_fields.h.
#include "tools/server/constraint_fields.h"

#include <algorithm>

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

bool IsStrict(const Json& tool) {
  return tool.is_object() && tool.contains("function") && tool["function"].is_object() &&
         tool["function"].value("strict", Json()) == true;
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
  if (const auto grammar = fields.String("grammar")) {
    set("grammar",
        Compiled("grammar", [&] { return Constraint::Gbnf(model.tokenizer(), *grammar); }));
  }
  return made;
}

ToolChoice ReadToolChoice(const Fields& fields) {
  ToolChoice choice;
  const Json* given = fields.Find("tool_choice");
  if (given == nullptr || *given == "auto") return choice;
  if (*given == "none") {
    choice.allowed = false;
    return choice;
  }
  choice.required = true;
  if (*given == "required") return choice;
  const Json* function =
      given->is_object() ? Fields(*given, "tool_choice").Object("function") : nullptr;
  if (function == nullptr) {
    throw BadField("tool_choice", "got {}, want none, auto, required or {}", Show(*given),
                   R"({"type": "function", "function": {"name": ...}})");
  }
  choice.tool = Fields(*function, "tool_choice.function").String("name").value_or("");
  if (choice.tool.empty()) throw BadField("tool_choice.function.name", "is missing, want a tool's");
  return choice;
}

std::optional<Constraint> CallConstraint(const Fields& fields, const ToolChoice& choice,
                                         bool parallel, Chat& chat) {
  const Json* tools = fields.Array("tools");
  if (tools == nullptr || tools->empty()) {
    if (choice.required) throw BadField("tool_choice", "wants a call, but there are no tools");
    return std::nullopt;
  }
  const bool strict = std::any_of(tools->begin(), tools->end(), IsStrict);
  if (!choice.required && !(choice.allowed && strict)) return std::nullopt;
  krafla_calls_options options = KRAFLA_CALLS_OPTIONS_INIT;
  options.choice = choice.required ? KRAFLA_CALLS_REQUIRED : KRAFLA_CALLS_AUTO;
  options.parallel = parallel ? 1 : 0;
  try {
    return Compiled("tools", [&] { return Constraint::Calls(chat, choice.tool, options); });
  } catch (const Error& error) {
    if (error.code() != KRAFLA_E_NOT_FOUND) throw;
    throw BadField("tool_choice", "got {}, which is none of the tools", choice.tool);
  }
}

}  // namespace krafla::server
