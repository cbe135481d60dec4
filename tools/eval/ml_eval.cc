// ml_eval: what a model computes, for comparison with other programs.
#include "tools/eval/commands.h"
#include "tools/options.h"

namespace krafla::tools {
namespace {

CLI::App* AddLines(CLI::App& app, EvalArgs* args, const char* name, const char* help) {
  CLI::App* command = app.add_subcommand(name, help);
  AddModel(*command, &args->model, "MODEL_OR_TOK");
  AddTokenizerOverride(*command, &args->model);
  AddThreads(*command, &args->model);
  return command;
}

void AddCompute(CLI::App& app, EvalArgs* args) {
  AddThreads(app, &args->model);
  AddBatch(app, &args->model);
  AddKv(app, &args->model, "f32");
  AddLoad(app, &args->model);
}

ExitCode Run(int argc, char** argv) {
  EvalArgs args;
  CLI::App app("Evaluates models and tokenizers; results are JSON on stdout.");
  SetUp(app, "ml_eval");
  app.require_subcommand(1);

  CLI::App* logits = app.add_subcommand("logits", "Logits of every position, as floats in a file");
  AddModel(*logits, &args.model);
  AddIntegers(*logits, "--ids", &args.ids, 0, INT32_MAX, "Token ids")->required();
  logits->add_option("--out", args.out, "File of T x V floats, little endian")
      ->required()
      ->type_name("F.f32");
  AddCompute(*logits, &args);

  CLI::App* ppl = app.add_subcommand("ppl", "Perplexity of a text: {\"ppl\", \"targets\"}");
  AddModel(*ppl, &args.model);
  ppl->add_option("TEXT", args.text, "The text file")->required()->type_name("");
  AddTokenizerOverride(*ppl, &args.model);
  AddInteger(*ppl, "--ctx", &args.model.context, 4, kMaxPositions,
             "Tokens of a chunk (default 512)");
  AddCompute(*ppl, &args);

  CLI::App* tokenize =
      AddLines(app, &args, "tokenize",
               "JSON lines {\"text\", \"special\": false, \"parse_special\": false} -> {\"ids\"}");
  CLI::App* detokenize = AddLines(app, &args, "detokenize", "JSON lines {\"ids\"} -> {\"text\"}");
  AddLines(app, &args, "template",
           "JSON lines {\"messages\", \"tools\", \"add_generation_prompt\", ...} -> {\"text\"}");

  bool finished = false;
  if (ExitCode e = Parse(app, argc, argv, &finished); finished) return e;
  if (logits->parsed()) return EvalLogits(args);
  if (ppl->parsed()) {
    if (args.model.context == 0) args.model.context = 512;
    return EvalPerplexity(args);
  }
  return EvalLines(args, tokenize->parsed()     ? LineCommand::kTokenize
                         : detokenize->parsed() ? LineCommand::kDetokenize
                                                : LineCommand::kTemplate);
}

}  // namespace
}  // namespace krafla::tools

int main(int argc, char** argv) {
  return krafla::tools::RunProgram("ml_eval", argc, argv, krafla::tools::Run);
}
