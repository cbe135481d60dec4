// ml_eval: what a model computes, for comparison with other programs.
#include "tools/eval/commands.h"
#include "tools/interrupt.h"
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

void AddScoring(CLI::App& app, EvalArgs* args) {
  AddTokenizerOverride(app, &args->model);
  AddInteger(app, "--ctx", &args->model.context, 4, kMaxPositions,
             "Tokens of a chunk (default 512)");
  AddInteger(app, "--from", &args->from, 0, kMaxPositions,
             "First position of a chunk that is scored (default: half of --ctx)");
  AddInteger(app, "--chunks", &args->chunks, 1, kMaxPositions, "Only the first so many chunks");
  app.add_option("--cache", args->cache,
                 "Keeps the reference's log-probabilities in this file, for the next model")
      ->type_name("FILE");
}

CLI::App* AddDrift(CLI::App& app, EvalArgs* args) {
  CLI::App* drift = app.add_subcommand(
      "drift", "KL divergence, agreement and perplexity of a model beside a reference");
  AddModel(*drift, &args->model);
  drift->add_option("--ref", args->reference, "The reference (.mlb)")->required()->type_name("REF");
  drift->add_option("TEXT", args->text, "The text file")->required()->type_name("");
  AddScoring(*drift, args);
  AddInteger(*drift, "--top", &args->top_k, 1, 1000, "First choices looked at (default 10)");
  AddCompute(*drift, args);
  AddKv(*drift, "--ref-kv", &args->reference_kv, "f32", "Attention cache of the reference");
  return drift;
}

CLI::App* AddQuality(CLI::App& app, EvalArgs* args) {
  CLI::App* quality = app.add_subcommand(
      "quality", "Drift, greedy matches and needle of models and caches beside a reference");
  quality->add_option("MODEL", args->reference, "The reference (.mlb)")->required()->type_name("");
  quality->add_option("TEXT", args->text, "The text file")->required()->type_name("");
  quality->add_option("--models", args->models, "The models, with commas between")
      ->required()
      ->delimiter(',')
      ->type_name("A.mlb,B.mlb");
  args->kvs = {"f16"};
  quality->add_option("--kvs", args->kvs, "Attention caches (default f16)")
      ->delimiter(',')
      ->check(CLI::IsMember({"f32", "f16", "q8", "k8v4", "k6v6", "k4v4"}).description(""))
      ->type_name("f16,q8");
  quality->add_option("--out", args->out, "Writes PREFIX.jsonl, PREFIX.md and PREFIX.html")
      ->required()
      ->type_name("PREFIX");
  AddInteger(*quality, "--needle", &args->needle_context, 64, kMaxPositions,
             "Looks for a sentence in a context of so many tokens (default: does not)");
  AddScoring(*quality, args);
  AddThreads(*quality, &args->model);
  AddBatch(*quality, &args->model);
  AddLoad(*quality, &args->model);
  return quality;
}

ExitCode Run(int argc, char** argv) {
  StopOnTerminate();
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
  CLI::App* quality = AddQuality(app, &args);

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
  if (drift->parsed() || quality->parsed()) {
    if (args.model.context == 0) args.model.context = 512;
    return drift->parsed() ? EvalDrift(args) : EvalQuality(args);
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
