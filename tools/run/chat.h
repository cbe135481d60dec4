// The chat on a terminal: lines in, replies out, until the user ends it.
#ifndef KRAFLA_TOOLS_RUN_CHAT_H_
#define KRAFLA_TOOLS_RUN_CHAT_H_

#include "tools/run/talk.h"

namespace krafla::tools {

ExitCode Chat(Talk& talk);

// One line: a command or a message. Whatever fails in it was told, and leaves the conversation as
// it was.
void Turn(Talk& talk, const std::string& line);

}  // namespace krafla::tools

#endif  // KRAFLA_TOOLS_RUN_CHAT_H_
