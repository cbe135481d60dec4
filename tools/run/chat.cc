// Each turn renders the whole conversation anew, as templates want it; the session reads only what
// differs. Whatever fails in a turn ends that turn, not the chat. Without a template a line is a
// raw prompt of its own. What is not the model's word goes to stderr.
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

class Conversation {
 public:
  Conversation(Talk& talk, const TalkArgs& args) : talk_(talk), args_(args) { Clear(); }

  void Clear() {
    messages_.clear();
    if (args_.has_system) messages_.push_back({"system", args_.system});
    talk_.Forget();
  }

  ExitCode Say(const std::string& text) {
    if (!talk_.has_template()) messages_.clear();
    messages_.push_back({"user", text});
    return Answer();
  }

  ExitCode SayAgain() {
    if (!messages_.empty() && messages_.back().role == "assistant") messages_.pop_back();
    if (messages_.empty() || messages_.back().role != "user") {
      Note("there is no message to reply to");
      return kExitOk;
    }
    return Answer();
  }

 private:
  ExitCode Answer() {
    std::vector<int32_t> ids;
    ExitCode exit_code = talk_.has_template() ? talk_.Render(messages_, &ids)
                                              : talk_.Encode(messages_.back().content, &ids);
    if (exit_code == kExitOk && static_cast<int64_t>(ids.size()) > talk_.context()) {
      Note(
          fmt::format("this needs {} positions, the context has {}: /clear begins a new "
                      "conversation, --ctx makes more room",
                      ids.size(), talk_.context()));
      messages_.pop_back();
      return kExitOk;
    }
    if (exit_code == kExitOk) exit_code = talk_.ReadPrompt(ids);
    if (exit_code != kExitOk) {  // it was never read: as if never said
      messages_.pop_back();
      return exit_code;
    }
    Reply reply;
    exit_code = talk_.Generate(args_.max_tokens, &reply);
    if (reply.finish == KRAFLA_FINISH_CONTEXT) {
      Note(
          fmt::format("the context of {} positions is full: /clear begins a new conversation, "
                      "--ctx makes more room",
                      talk_.context()));
    }
    // A reply that was cut short is part of the conversation: the user has seen it.
    if (exit_code == kExitOk || !reply.text.empty()) {
      messages_.push_back({"assistant", std::move(reply.text)});
    } else {
      messages_.pop_back();
    }
    return exit_code;
  }

  Talk& talk_;
  const TalkArgs& args_;
  std::vector<Message> messages_;
};

// A command is one word, and "/usr/bin" is none; a space before it makes it a message, too.
bool LooksLikeCommand(const std::string& line) {
  return line.starts_with('/') && line.find_first_of(" \n/", 1) == std::string::npos;
}

void Turn(Conversation& conversation, const std::string& line) {
  if (line == "/help") {
    WriteStderr(kHelp);
  } else if (line == "/clear") {
    conversation.Clear();
    Note("a new conversation");
  } else if (line == "/regen") {
    (void)conversation.SayAgain();
  } else if (LooksLikeCommand(line)) {
    Note(
        fmt::format("no command {}: /help lists them, a space before it makes it a message", line));
  } else {
    (void)conversation.Say(line);  // what failed was told; the chat goes on
  }
}

}  // namespace

ExitCode Chat(Talk& talk, const TalkArgs& args) {
  const krafla_model_info info = ModelInfo(talk.model());
  const std::string_view name = *info.name != '\0' ? info.name : info.arch;
  Note(fmt::format("{}, context {}; /help lists commands, Ctrl-D ends", name, talk.context()));
  Conversation conversation(talk, args);
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
    Turn(conversation, line);
    if (talk.stdout_gone()) return kExitOther;
    interrupted_before = Interrupted();
    ClearInterrupt();
    if (interrupted_before) Note("stopped");
  }
}

}  // namespace krafla::tools
