// The chat on a terminal: lines in, replies out, until the user ends it.
#ifndef KRAFLA_TOOLS_RUN_CHAT_H_
#define KRAFLA_TOOLS_RUN_CHAT_H_

#include "tools/run/talk.h"

namespace krafla::tools {

ExitCode Chat(Talk& talk, const TalkArgs& args);

}  // namespace krafla::tools

#endif  // KRAFLA_TOOLS_RUN_CHAT_H_
