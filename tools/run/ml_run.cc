// ml_run: one prompt, or a chat on a terminal. stdout has the model's words only; everything else
// goes to stderr, the statistics at the end included.
#include <krafla/krafla.h>
#include <unistd.h>

#include "tools/options.h"
#include "tools/output.h"
#include "tools/run/chat.h"
#include "tools/run/dry_run.h"

namespace krafla::tools {
namespace {

struct RunArgs {
  TalkArgs talk;
  std::string prompt;
  bool has_prompt = false;
  bool dry_run = false;
};

constexpr char kFooter[] =
    "\nWithout -p: a chat on a terminal, else all of stdin is one prompt. Sampling is greedy "
    "unless -T\n"
    "is given; stages apply in the order logit bias, penalties, dry, top-n-sigma, top-k, typical,\n"
    "top-p, min-p, xtc, temperature, mirostat.\n"
    "Exit codes: 0; 2 arguments (too long a prompt included); 3 wrong CPU; 4 model file; 5 "
    "memory;\n"
    "130 interrupted; 1 anything else.";

void AddOptions(CLI::App& app, RunArgs* args) {
  TalkArgs& talk = args->talk;
  AddModel(app, &talk.model);
  AddTokenizerOverride(app, &talk.model);
  AddChoice(app, "--chat", &talk.chat,
            {"auto", "qwen", "llama3", "llama2", "mistral", "chatml", "gemma", "none"}, {},
            "Chat template (default auto: the model's own, none where it has none)");
  app.add_option("-p,--prompt", args->prompt, "One user turn; raw text with --chat none")
      ->type_name("TEXT");
  AddInteger(app, "-n", &talk.max_tokens, -1, kMaxPositions,
             "Longest reply in tokens (default -1: to its end or a full context; 0: only read the "
             "prompt)");
  AddThreads(app, &talk.model);
  AddBatch(app, &talk.model);
  AddSampler(app, &talk.sampler);
  AddConstraint(app, &talk.constraint);
  app.add_option("--system", talk.system, "System message of the conversation")->type_name("TEXT");
  AddInteger(app, "--ctx", &talk.model.context, 1, kMaxPositions,
             "Positions of the context (default: the smaller of 4096 and the model's maximum)");
  AddKv(app, &talk.model, "f16");
  AddLoad(app, &talk.model);
  AddStream(app, &talk.model.stream);
  app.add_flag("--dry-run", args->dry_run, "Print what memory the run would take, and end");
  CLI::Option* lookup =
      app.add_flag("--lookup", talk.lookup,
                   "Guess tokens from what the text said before; never changes the reply");
  app.add_option("--draft", talk.draft,
                 "Guess tokens with this smaller model of the same tokenizer")
      ->type_name("MODEL")
      ->excludes(lookup);
  app.footer(kFooter);
}

ExitCode RunPrompt(Talk& talk, const std::string& prompt) {
  if (ExitCode e = talk.Say(prompt)) return e;
  if (ExitCode e = talk.ReadPrompt()) return e;
  Reply reply;
  return talk.Generate(&reply);
}

ExitCode Run(int argc, char** argv) {
  RunArgs args;
  CLI::App app("Runs a language model: one prompt, or a chat on a terminal.");
  SetUp(app, "ml_run");
  AddOptions(app, &args);
  bool finished = false;
  if (ExitCode e = Parse(app, argc, argv, &finished); finished) return e;
  args.has_prompt = app.count("--prompt") > 0;
  args.talk.has_system = app.count("--system") > 0;

  if (args.dry_run) return DryRun(args.talk.model);
  const bool chat = !args.has_prompt && IsTerminal(STDIN_FILENO);
  if (!args.has_prompt && !chat) {
    if (ExitCode e = ReadAll(STDIN_FILENO, "stdin", &args.prompt)) return e;
  }
  Talk talk;
  if (ExitCode e = talk.Open(args.talk)) return e;
  const ExitCode exit_code = chat ? Chat(talk) : RunPrompt(talk, args.prompt);
  if (exit_code == kExitOk || exit_code == kExitInterrupted) {
    WriteStderr(talk.Statistics() + "\n");
  }
  return exit_code;
}

}  // namespace
}  // namespace krafla::tools

int main(int argc, char** argv) {
  return krafla::tools::RunProgram("ml_run", argc, argv, krafla::tools::Run);
}
