// The values of `format` that are kept, as patterns of the whole string.
#ifndef KRAFLA_LIB_CONSTRAINT_SCHEMA_FORMATS_H_
#define KRAFLA_LIB_CONSTRAINT_SCHEMA_FORMATS_H_

#include <string>
#include <string_view>

namespace krafla {

// Empty: no such format.
std::string FormatPattern(std::string_view name);

}  // namespace krafla

#endif  // KRAFLA_LIB_CONSTRAINT_SCHEMA_FORMATS_H_
