// A model with its tokenizer, conversation, session and sampler: what a prompt and a chat are made
// of. The conversation is a krafla_chat; without a template it is the last text alone, which is the
// prompt as it is.
#ifndef KRAFLA_TOOLS_RUN_TALK_H_
#define KRAFLA_TOOLS_RUN_TALK_H_

#include <krafla/krafla_batch.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "tools/handles.h"
#include "tools/model_args.h"
#include "tools/run/constraint_args.h"
#include "tools/run/sampler_args.h"

namespace krafla::tools {

struct TalkArgs {
  ModelArgs model;
  SamplerArgs sampler;
  std::string chat = "auto";  // a built-in template's name, "auto" or "none"
  std::string system;
  bool has_system = false;
  int64_t max_tokens = -1;  // of a reply; -1: to its end, 0: none
  bool lookup = false;
  std::string draft;  // path of a smaller model's .mlb
  ConstraintArgs constraint;
};

struct Reply {
  bool empty = true;   // nothing of it was shown
  int32_t finish = 0;  // KRAFLA_FINISH_*; 0: it failed
};

class Talk {
 public:
  ExitCode Open(const TalkArgs& args);

  const krafla_model* model() const { return model_.get(); }
  int64_t context() const { return context_; }

  // All that was said, and back to it.
  std::string Messages() const;
  void SetMessages(const std::string& messages);
  // A message of the user.
  ExitCode Say(std::string_view text);
  // Takes the last reply away; false where none was made.
  bool TakeBackReply();
  // A new conversation.
  void Clear();

  // Makes the session one that has read the prompt for the next reply, reading only what it has
  // not. ReadPrompt takes what fits the context; ReadTurn leaves room for a reply and drops the
  // oldest turns to have it: *dropped messages.
  ExitCode ReadPrompt();
  ExitCode ReadTurn(size_t* dropped);
  // Streams the reply to stdout; on a terminal it ends with a line break. As far as it went it is a
  // message then.
  ExitCode Generate(Reply* reply);

  // Nobody reads the replies any more.
  bool stdout_gone() const { return stdout_gone_; }

  // "prompt: 37 tokens in 0.123 s (300.8/s); reply: ..." of all so far.
  std::string Statistics() const;

 private:
  ExitCode OpenChat();
  ExitCode OpenSpeculation();
  ExitCode Read(const std::function<int32_t()>& edit);
  ExitCode NewSampler();

  TalkArgs args_;
  RuntimePtr runtime_;
  ModelPtr model_;
  TokenizerPtr tokenizer_;
  ChatPtr chat_;     // where there is a template
  std::string raw_;  // where there is none
  SamplerPtr sampler_;
  uint64_t seed_ = 0;  // of the next reply
  ConstraintPtr constraint_;
  SessionPtr session_;
  ModelPtr draft_model_;
  SessionPtr draft_;
  krafla_speculation speculation_ = KRAFLA_SPECULATION_INIT;
  int64_t context_ = 0;
  bool late_cancel_ = false;  // an interrupt may have left the session a cancel
  bool stdout_gone_ = false;
  int64_t prompt_tokens_ = 0, reply_tokens_ = 0;
  double prompt_seconds_ = 0, reply_seconds_ = 0;
  int64_t drafted_ = 0, accepted_ = 0;
};

}  // namespace krafla::tools

#endif  // KRAFLA_TOOLS_RUN_TALK_H_
