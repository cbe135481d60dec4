// strftime with English names and no locale, so that a prompt does not depend on the host's
// settings.
#ifndef KRAFLA_LIB_CHAT_STRFTIME_H_
#define KRAFLA_LIB_CHAT_STRFTIME_H_

#include <string>
#include <string_view>

#include "lib/chat/template.h"

namespace krafla::chat {

// False: a conversion that is not supported, shown in *unknown.
bool FormatTime(const TemplateClock& clock, std::string_view format, std::string* out,
                std::string_view* unknown);

// The system's clock and time zone.
TemplateClock SystemClock();

}  // namespace krafla::chat

#endif  // KRAFLA_LIB_CHAT_STRFTIME_H_
