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

CLI::App* AddDrift(CLI::App& app, EvalArgs* args) {
  CLI::App* drift = app.add_subcommand(
      "drift", "KL divergence, agreement and perplexity of a model beside a reference");
  AddModel(*drift, &args->model);
  drift->add_option("--ref", args->reference, "The reference (.mlb)")->required()->type_name("REF");
  drift->add_option("TEXT,--text", args->text, "The text file")->required()->type_name("TEXT");
  AddTokenizerOverride(*drift, &args->model);
  AddInteger(*drift, "--ctx", &args->model.context, 4, kMaxPositions,
             "Tokens of a chunk (default 512)");
  AddInteger(*drift, "--from", &args->from, 0, kMaxPositions,
             "First position of a chunk that is scored (default: half of --ctx)");
  AddInteger(*drift, "--top", &args->top_k, 1, 1000, "First choices looked at (default 10)");
  AddInteger(*drift, "--chunks", &args->chunks, 1, kMaxPositions, "Only the first so many chunks");
  drift
      ->add_option("--cache", args->cache,
                   "Keeps the reference's log-probabilities in this file, for the next model")
      ->type_name("FILE");
  AddCompute(*drift, args);
  AddKv(*drift, "--ref-kv", &args->reference_kv, "f32", "Attention cache of the reference");
  return drift;
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

  CLI::App* drift = AddDrift(app, &args);

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
  if (drift->parsed()) {
    if (args.model.context == 0) args.model.context = 512;
    return EvalDrift(args);
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
