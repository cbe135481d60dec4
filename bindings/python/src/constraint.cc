// Constraint.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bind.h"

namespace krafla_python {
namespace {

krafla::Constraint Compile(const krafla::Tokenizer& tokenizer, int32_t kind,
                           const std::vector<std::string>& texts, int32_t space, bool in_order,
                           bool lenient) {
  krafla_constraint_options options = KRAFLA_CONSTRAINT_OPTIONS_INIT;
  options.space = space;
  options.in_order = in_order ? 1 : 0;
  options.lenient = lenient ? 1 : 0;
  if (kind == KRAFLA_CONSTRAINT_CHOICES) {
    return krafla::Constraint::Choices(
        tokenizer, std::vector<std::string_view>(texts.begin(), texts.end()), options);
  }
  const std::string& text = texts.at(0);
  if (kind == KRAFLA_CONSTRAINT_REGEX) return krafla::Constraint::Regex(tokenizer, text, options);
  if (kind == KRAFLA_CONSTRAINT_GBNF) return krafla::Constraint::Gbnf(tokenizer, text, options);
  return krafla::Constraint::JsonSchema(tokenizer, text, options);
}

krafla::Constraint Calls(krafla::Chat& chat, const std::string& tool, bool automatic,
                         bool parallel) {
  krafla_calls_options calls = KRAFLA_CALLS_OPTIONS_INIT;
  calls.choice = automatic ? KRAFLA_CALLS_AUTO : KRAFLA_CALLS_REQUIRED;
  calls.parallel = parallel ? 1 : 0;
  return krafla::Constraint::Calls(chat, tool, calls);
}

}  // namespace

void BindConstraint(py::module_& module) {
  const py::call_guard<py::gil_scoped_release> release;
  py::class_<krafla::Constraint, std::shared_ptr<krafla::Constraint>>(module, "Constraint")
      .def_static("compile", &Compile, release)
      .def_static("calls", &Calls, release);
}

}  // namespace krafla_python
