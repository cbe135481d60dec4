// The subcommands of ml_eval, each in a file of its own. Results are JSON on stdout.
#ifndef KRAFLA_TOOLS_EVAL_COMMANDS_H_
#define KRAFLA_TOOLS_EVAL_COMMANDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/model_args.h"

namespace krafla::tools {

struct EvalArgs {
  ModelArgs model;
  std::vector<int64_t> ids;  // logits
  std::string out;
  std::string text;  // ppl, drift: path
  // drift
  std::string reference;  // path of a .mlb
  std::string reference_kv;
  std::string cache;  // "": none
  int64_t from = -1;  // -1: half the context
  int64_t top_k = 10;
  int64_t chunks = 0;  // 0: all
  // quality
  std::vector<std::string> models;
  std::vector<std::string> kvs;
  int64_t needle_context = 0;  // 0: no needle
};

// T x V floats, little endian, into args.out.
ExitCode EvalLogits(const EvalArgs& args);
ExitCode EvalPerplexity(const EvalArgs& args);
ExitCode EvalDrift(const EvalArgs& args);
// Drift, greedy matches and needle of several models and caches, into <out>.jsonl, .md and .html;
// what the first of them has already is not measured again.
ExitCode EvalQuality(const EvalArgs& args);

// A JSON object a line on stdin, one on stdout for each; a bad line gives {"error": ...}.
enum class LineCommand { kTokenize, kDetokenize, kTemplate };
ExitCode EvalLines(const EvalArgs& args, LineCommand command);

}  // namespace krafla::tools

#endif  // KRAFLA_TOOLS_EVAL_COMMANDS_H_
