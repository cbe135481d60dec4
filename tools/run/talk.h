// A model with its tokenizer, template, session and sampler: what a prompt and a chat are made of.
// Prompts go in as whole conversations; what the session has already read of one is not read again.
#ifndef KRAFLA_TOOLS_RUN_TALK_H_
#define KRAFLA_TOOLS_RUN_TALK_H_

#include <krafla/krafla_batch.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

struct Message {
  std::string role;
  std::string content;
};

struct Reply {
  std::string text;
  int32_t finish = 0;  // KRAFLA_FINISH_*; 0: it failed or was interrupted
};

class Talk {
 public:
  ExitCode Open(const TalkArgs& args);

  bool has_template() const { return template_ != nullptr; }
  const krafla_model* model() const { return model_.get(); }
  int64_t context() const { return context_; }

  // The ids of a conversation through the template (the last message wants a reply), and of a raw
  // text.
  ExitCode Render(const std::vector<Message>& messages, std::vector<int32_t>* ids) const;
  ExitCode Encode(std::string_view text, std::vector<int32_t>* ids) const;

  // Makes the session one that has read `ids`, reading only what it has not.
  ExitCode ReadPrompt(const std::vector<int32_t>& ids);
  // Streams the reply to stdout; on a terminal it ends with a line break.
  ExitCode Generate(int64_t max_tokens, Reply* reply);
  // A new conversation.
  void Forget();

  // Nobody reads the replies any more.
  bool stdout_gone() const { return stdout_gone_; }

  // "prompt: 37 tokens in 0.123 s (300.8/s); reply: ..." of all so far.
  std::string Statistics() const;

 private:
  ExitCode OpenTemplate(const TalkArgs& args);
  ExitCode OpenSpeculation(const TalkArgs& args);
  ExitCode EncodePieces(const krafla_piece* pieces, size_t n, uint32_t flags,
                        std::vector<int32_t>* ids) const;

  RuntimePtr runtime_;
  ModelPtr model_;
  TokenizerPtr tokenizer_;
  TemplatePtr template_;
  SamplerPtr sampler_;
  ConstraintPtr constraint_;
  SessionPtr session_;
  ModelPtr draft_model_;
  SessionPtr draft_;
  krafla_speculation speculation_ = KRAFLA_SPECULATION_INIT;
  int64_t context_ = 0;
  bool stdout_gone_ = false;
  int64_t prompt_tokens_ = 0, reply_tokens_ = 0;
  double prompt_seconds_ = 0, reply_seconds_ = 0;
  int64_t drafted_ = 0, accepted_ = 0;
};

}  // namespace krafla::tools

#endif  // KRAFLA_TOOLS_RUN_TALK_H_
