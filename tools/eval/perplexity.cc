// ml_eval ppl: perplexity of a text file, in chunks of --ctx tokens.
#include <krafla/krafla_tools.h>

#include <nlohmann/json.hpp>

#include "tools/eval/commands.h"
#include "tools/output.h"
#include "tools/progress.h"

namespace krafla::tools {

ExitCode EvalPerplexity(const EvalArgs& args) {
  std::string text;
  if (ExitCode e = ReadFile(args.text, &text)) return e;
  RuntimePtr runtime;
  ModelPtr model;
  TokenizerPtr tokenizer;
  if (ExitCode e = OpenRuntime(args.model.threads, &runtime)) return e;
  if (ExitCode e = OpenModel(args.model, runtime.get(), &model)) return e;
  if (ExitCode e = OpenTokenizer(args.model, model.get(), &tokenizer)) return e;

  const krafla_session_options options = SessionOptions(args.model);
  Progress progress("tokens");
  krafla_perplexity result{};
  result.struct_size = sizeof(result);
  const int32_t code =
      krafla_measure_perplexity(&result, model.get(), tokenizer.get(), text.data(), text.size(),
                                &options, Progress::Callback, &progress);
  progress.Clear();
  if (code != KRAFLA_OK) return FailWith(code, args.text);
  const nlohmann::ordered_json json = {{"ppl", result.perplexity}, {"targets", result.targets}};
  return WriteStdout(json.dump() + "\n");
}

}  // namespace krafla::tools
