// A turn that comes to nothing leaves the conversation as it was, and never ends the chat. Without
// a template a line is a raw prompt of its own. What is not the model's word goes to stderr.
#include "tools/run/chat.h"

#include <krafla/krafla.h>

#include "tools/interrupt.h"
#include "tools/line_editor.h"

namespace krafla::tools {
namespace {

constexpr char kHelp[] =
    "/help    this list\n"
    "/clear   a new conversation\n"
    "/regen   another reply to the last message\n"
    "/quit    the end, as Ctrl-D on an empty line\n"
    "Ctrl-C stops a reply, twice quits. Alt-Enter begins a new line within a message.\n";

void Note(std::string_view text) { WriteStderr(fmt::format("[{}]\n", text)); }

// Whether there is a reply to keep. One that was cut short is: the user has seen it.
bool Answer(Talk& talk, Reply* reply) {
  size_t dropped = 0;
  if (talk.ReadTurn(&dropped) != kExitOk) return false;
  if (dropped > 0) {
    Note(fmt::format("the context of {} positions is full: the oldest {} messages are forgotten",
                     talk.context(), dropped));
  }
  const ExitCode exit_code = talk.Generate(reply);
  if (reply->finish == KRAFLA_FINISH_CONTEXT) {
    Note(
        fmt::format("the context of {} positions is full: the reply ends here, the next one takes "
                    "the place of what is oldest; --ctx makes more room",
                    talk.context()));
  }
  return exit_code == kExitOk || !reply->empty;
}

void Say(Talk& talk, const std::string& text) {
  const std::string before = talk.Messages();
  Reply reply;
  if (talk.Say(text) != kExitOk || !Answer(talk, &reply)) talk.SetMessages(before);
}

void SayAgain(Talk& talk) {
  const std::string before = talk.Messages();
  if (!talk.TakeBackReply()) {
    Note("there is no message to reply to");
    return;
  }
  Reply reply;
  if (!Answer(talk, &reply) || reply.empty) {
    talk.SetMessages(before);
    Note("no other reply: the one before stays");
  }
}

// A command is one word, and "/usr/bin" is none; a space before it makes it a message, too.
bool LooksLikeCommand(const std::string& line) {
  return line.starts_with('/') && line.find_first_of(" \n/", 1) == std::string::npos;
}

}  // namespace

void Turn(Talk& talk, const std::string& line) {
  if (line == "/help") {
    WriteStderr(kHelp);
  } else if (line == "/clear") {
    talk.Clear();
    Note("a new conversation");
  } else if (line == "/regen") {
    SayAgain(talk);
  } else if (LooksLikeCommand(line)) {
    Note(
        fmt::format("no command {}: /help lists them, a space before it makes it a message", line));
  } else {
    Say(talk, line);
  }
}

ExitCode Chat(Talk& talk) {
  const krafla_model_info info = ModelInfo(talk.model());
  const std::string_view name = *info.name != '\0' ? info.name : info.arch;
  Note(fmt::format("{}, context {}; /help lists commands, Ctrl-D ends", name, talk.context()));
  LineEditor editor;
  bool interrupted_before = false;  // and nothing was sent since
  ClearInterrupt();
  // Cleared before a note tells of it: a Ctrl-C that answers the note counts as the next one.
  for (std::string line;;) {
    const LineEnd end = editor.Read("> ", &line);
    if (end == LineEnd::kEndOfInput) return kExitOk;
    if (end == LineEnd::kInterrupted) {
      ClearInterrupt();
      if (line.empty() && interrupted_before) return kExitInterrupted;
      interrupted_before = true;
      if (line.empty()) Note("Ctrl-C again quits");
      continue;
    }
    if (line.empty()) continue;
    if (line == "/quit" || line == "/exit") return kExitOk;
    Turn(talk, line);
    if (talk.stdout_gone()) return kExitOther;
    interrupted_before = Interrupted();
    ClearInterrupt();
    if (interrupted_before) Note("stopped");
  }
}

}  // namespace krafla::tools
