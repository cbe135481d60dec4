// Python's "%s %d" % values, "{} {name}".format(...) and rounding.
#ifndef KRAFLA_LIB_CHAT_FORMAT_H_
#define KRAFLA_LIB_CHAT_FORMAT_H_

#include <string>

#include "lib/base/status.h"
#include "lib/chat/registry.h"
#include "lib/chat/text.h"
#include "lib/chat/value.h"

namespace krafla::chat {

class Interpreter;

// format % arguments: %s %r %d %i %x %X %o %f %e %g %c %% with flags, width and precision.
StatusOr<Value> PercentFormat(Interpreter& in, const Text& format, const Value& arguments);
// format.format(...): {} {0} {name}, {0:spec} with [[fill]align][sign][0][width][.precision][type].
StatusOr<Value> BraceFormat(Interpreter& in, const Text& format, const CallArgs& args);

// The decimal with `precision` places nearest to d, ties by the exact binary value, as printf does.
std::string FixedDigits(double d, int precision);

}  // namespace krafla::chat

#endif  // KRAFLA_LIB_CHAT_FORMAT_H_
