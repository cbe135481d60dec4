// ml_convert: makes .mlb and .mlt files from published ones, and checks them. The library writes
// OUT.partial, from which the same command goes on when it was interrupted or killed.
#include <krafla/krafla_tools.h>

#include <charconv>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "tools/handles.h"
#include "tools/interrupt.h"
#include "tools/options.h"
#include "tools/output.h"
#include "tools/progress.h"

namespace krafla::tools {
namespace {

struct ConvertArgs {
  std::string input;
  std::string output;
  std::string wtype = "q8";
  std::string q8;
  std::string solver;
  std::string formats;
  std::string mix;
  std::string mix_score;
  std::string target_size;
  bool dry_run = false;
  bool self_calib = false;
  std::string calib;
  int64_t calib_sequences = 0;
  std::optional<uint64_t> seed;
};

std::string CheckQ8(const std::string& list) {
  constexpr std::string_view kNames = "q k v o gate up down embed head";
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    const std::string name = list.substr(at, end - at);
    const std::string padded = fmt::format(" {} ", kNames);
    if (name.empty() || padded.find(fmt::format(" {} ", name)) == std::string::npos) {
      return fmt::format("got \"{}\", want names out of \"{}\" with commas between", name, kNames);
    }
    at = end + 1;
  }
  return {};
}

void AddPaths(CLI::App& app, ConvertArgs* args, const char* input, const char* input_help,
              const char* output) {
  app.add_option(input, args->input, input_help)->required()->type_name("");
  app.add_option(output, args->output, "The file to write")->required()->type_name("");
}

void AddTypes(CLI::App& app, ConvertArgs* args) {
  AddChoice(app, "--wtype", &args->wtype,
            {"f32", "f16", "bf16", "q8", "q4", "q4a", "q4a64", "q6a", "q6a64", "q8a", "q8a64"}, {},
            "Format of every matrix, embedding and head included (default q8)");
  AddChoice(app, "--solver", &args->solver, {"ls", "hqq"}, {},
            "How the affine formats find scale and zero: least squares (default), or as HQQ "
            "publishes it");
  app.add_option("--q8", args->q8, "Matrices kept at q8: q k v o gate up down embed head")
      ->check(CheckQ8)
      ->type_name("LIST");
  app.add_option(
         "--formats", args->formats,
         "Formats of classes, as attention=q8,head=q6a (classes as for --q8; attention, ffn)")
      ->type_name("CLASS=FORMAT,...");
  app.add_option(
         "--mix", args->mix,
         "As q4+10%q6a: q4, and q6a for the matrices that need it most, until a tenth of the "
         "bytes is spent that q6a for all would take")
      ->type_name("MIX")
      ->excludes("--wtype");
  app.add_option("--target-size", args->target_size,
                 "With --mix q4+q6a: promote until the file has this size, as 300MiB")
      ->type_name("SIZE")
      ->needs("--mix");
  AddChoice(app, "--mix-score", &args->mix_score, {"divergence", "class"}, {},
            "What a mix goes by (default: divergence, unless that would take hours)")
      ->needs("--mix");
  CLI::Option* self = app.add_flag(
      "--self-calib", args->self_calib,
      "Choose 4-bit weights by what they do to the output, on text that the model writes itself");
  app.add_option("--calib", args->calib, "The same, on the text of a file (at least 2,048 tokens)")
      ->type_name("FILE")
      ->excludes(self);
  AddInteger(app, "--calib-sequences", &args->calib_sequences, 1, 1024,
             "Sequences of 256 tokens that calibration reads (default 32)");
  AddSeed(app, &args->seed, "Seed of the text that the model writes (default 1)");
  app.add_flag("--dry-run", args->dry_run, "Print the sizes, write nothing");
}

int PrintSize(void* user, const char* what, const char* format, uint64_t n_tensors,
              uint64_t bytes) {
  auto* text = static_cast<std::string*>(user);
  *text += fmt::format("{:<10} {:<5} {:>7} {:>16}\n", what, format,
                       n_tensors == 0 ? "" : std::to_string(n_tensors), bytes);
  return 0;
}

int PrintNote(void*, const char* what, const char* format, uint64_t, uint64_t bytes) {
  const std::string_view note = what;
  if (note.starts_with("skipped ")) {
    WriteStderr(fmt::format("{}: not part of the text model\n", note));
  } else if (note.starts_with("promoted ")) {
    WriteStderr(fmt::format("{}, to {}: {} bytes more\n", note, format, bytes));
  } else {
    WriteStderr(fmt::format("{}\n", note));
  }
  return 0;
}

// A template that does not parse is no fault of the conversion, but of no use to a chat.
void WarnOfTemplate(const std::string& path) {
  TokenizerPtr tokenizer;
  TemplatePtr chat_template;
  if (Create(&tokenizer, krafla_tokenizer_open_path, path.data(), path.size()) != KRAFLA_OK) return;
  if (Create(&chat_template, krafla_template_from_tokenizer, tokenizer.get()) ==
      KRAFLA_E_TEMPLATE) {
    PrintError(fmt::format("warning: {}: the chat template cannot be used: {}", path,
                           krafla_error_message()));
  }
}

// "300MiB", "1.5GB", "12345"; 0: not a size.
uint64_t ParseSize(const std::string& text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"", 1},        {"B", 1},         {"kB", 1e3},      {"MB", 1e6},
      {"GB", 1e9},    {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30},
      {"K", 1 << 10}, {"M", 1 << 20},   {"G", 1 << 30}};
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || !(number > 0 && number < 1e15)) return 0;
  for (const auto& [unit, factor] : kUnits) {
    if (std::string_view(stopped, static_cast<size_t>(end - stopped)) == unit) {
      return static_cast<uint64_t>(number * factor);
    }
  }
  return 0;
}

ExitCode FailConversion(const ConvertArgs& args, int32_t code, uint64_t done) {
  const std::string_view message = krafla_error_message();
  if (!args.calib.empty() && message.starts_with(args.calib + ":")) {
    return FailAs(kExitArguments, args.calib);
  }
  if (code == KRAFLA_E_ARGUMENT) return Fail(kExitArguments, "{}", message);  // of an option
  // The system refused the output, which the message then names first, or bytes of it: no fault of
  // a model.
  const bool names_output = !args.output.empty() && message.starts_with(args.output);
  if (code == KRAFLA_E_IO && (names_output || done > 0)) {
    return FailAs(kExitOther, names_output ? args.output : args.input);
  }
  return FailWith(code, args.input);
}

ExitCode PrintSizes(krafla_convert_options* options, const ConvertArgs& args) {
  std::string text = fmt::format("{:<10} {:<5} {:>7} {:>16}\n", "", "type", "tensors", "bytes");
  options->dry_run = 1;
  options->sizes = PrintSize;
  options->user = &text;
  if (const int32_t code = krafla_convert(options); code != KRAFLA_OK) {
    return FailConversion(args, code, 0);
  }
  return WriteStdout(text);
}

ExitCode Convert(const ConvertArgs& args, int32_t kind) {
  if (ExitCode e = CheckOutput(args.output)) return e;
  krafla_convert_options options = KRAFLA_CONVERT_OPTIONS_INIT;
  Progress progress("B");
  const bool calibrates = args.self_calib || !args.calib.empty();
  if (args.calib_sequences != 0 && !calibrates) {
    return Fail(kExitArguments, "--calib-sequences: needs --self-calib or --calib");
  }
  if (args.seed && !args.self_calib && args.mix.empty()) {
    return Fail(kExitArguments, "--seed: needs --self-calib or --mix");
  }
  options.kind = kind;
  options.input = args.input.c_str();
  options.output = args.output.c_str();
  options.wtype = args.wtype.c_str();
  options.q8 = args.q8.empty() ? nullptr : args.q8.c_str();
  const auto given = [](const std::string& text) { return text.empty() ? nullptr : text.c_str(); };
  options.formats = given(args.formats);
  options.mix = given(args.mix);
  options.mix_score = given(args.mix_score);
  if (!args.target_size.empty()) {
    options.target_size = ParseSize(args.target_size);
    if (options.target_size == 0) {
      return Fail(kExitArguments, "--target-size: got \"{}\", want a size as 300MiB",
                  args.target_size);
    }
  }
  options.solver = args.solver.empty() ? nullptr : args.solver.c_str();
  options.self_calib = args.self_calib ? 1 : 0;
  options.calib_sequences = static_cast<int32_t>(args.calib_sequences);
  options.has_calib_seed = args.seed ? 1 : 0;
  options.calib_seed = args.seed.value_or(0);
  options.calib = args.calib.empty() ? nullptr : args.calib.c_str();
  if (args.dry_run) return PrintSizes(&options, args);
  options.progress = Progress::ResumedCallback;
  options.user = &progress;
  options.resume = 1;
  options.sizes = PrintNote;
  const int32_t code = krafla_convert(&options);
  progress.Clear();
  if (code == KRAFLA_OK) {
    WriteStderr(fmt::format("{}: {}\n", args.output, progress.Summary()));
    WarnOfTemplate(args.output);
    return kExitOk;
  }
  const std::string partial = args.output + ".partial";
  std::error_code ignored;
  if (code == KRAFLA_E_CALLBACK && std::filesystem::exists(PathOf(partial), ignored)) {
    WriteStderr(fmt::format("{} is kept: the same command goes on from there\n", partial));
  }
  return FailConversion(args, code, progress.done());
}

ExitCode Check(const std::string& path) {
  Progress progress("B");
  const int32_t code = krafla_check_file(path.data(), path.size(), Progress::Callback, &progress);
  progress.Clear();
  if (code != KRAFLA_OK) return FailWith(code, path);
  WarnOfTemplate(path);
  return WriteStdout(fmt::format("{}: ok\n", path));
}

ExitCode Run(int argc, char** argv) {
  StopOnTerminate();
  ConvertArgs args;
  CLI::App app("Converts models and tokenizers to Krafla's files, and checks these.");
  SetUp(app, "ml_convert");
  app.require_subcommand(1);
  CLI::App* hf = app.add_subcommand("hf", "A folder with config.json and safetensors -> .mlb");
  AddPaths(*hf, &args, "DIR", "The model's folder", "OUT.mlb");
  AddTypes(*hf, &args);
  CLI::App* gguf = app.add_subcommand("gguf", "A GGUF file -> .mlb");
  AddPaths(*gguf, &args, "FILE", "The GGUF file", "OUT.mlb");
  AddTypes(*gguf, &args);
  CLI::App* tokenizer = app.add_subcommand(
      "tokenizer", "A tokenizer.json -> .mlt, with the chat template found beside it");
  AddPaths(*tokenizer, &args, "FILE", "The tokenizer.json", "OUT.mlt");
  CLI::App* check =
      app.add_subcommand("check", "Compares every checksum, shape and table of a file");
  check->add_option("FILE", args.input, "A .mlb or .mlt")->required()->type_name("");
  bool finished = false;
  if (ExitCode e = Parse(app, argc, argv, &finished); finished) return e;
  if (check->parsed()) return Check(args.input);
  return Convert(args, hf->parsed()     ? KRAFLA_CONVERT_HF
                       : gguf->parsed() ? KRAFLA_CONVERT_GGUF
                                        : KRAFLA_CONVERT_TOKENIZER);
}

}  // namespace
}  // namespace krafla::tools

int main(int argc, char** argv) {
  return krafla::tools::RunProgram("ml_convert", argc, argv, krafla::tools::Run);
}
