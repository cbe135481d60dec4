// ml_eval logits: every position's logits, streamed into a file as they are computed. The file has
// a temporary name until it is whole, so that no failure costs a file of that name; a device or
// pipe is written in place.
#include <fcntl.h>
#include <krafla/krafla.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tools/eval/commands.h"
#include "tools/interrupt.h"
#include "tools/output.h"

namespace krafla::tools {
namespace {

static_assert(std::endian::native == std::endian::little, "the file is little endian");

struct Output {
  int fd;
  int error = 0;
};

int WriteRow(void* user, int64_t, const float* row, size_t n_vocab) {
  auto* output = static_cast<Output*>(user);
  output->error = WriteAll(
      output->fd, std::string_view(reinterpret_cast<const char*>(row), n_vocab * sizeof(float)));
  return output->error != 0 || Interrupted() ? 1 : 0;
}

ExitCode WriteLogits(const EvalArgs& args, krafla_session* session, int fd) {
  const std::vector<int32_t> ids(args.ids.begin(), args.ids.end());
  Output output{fd};
  krafla_append_options options = KRAFLA_APPEND_OPTIONS_INIT;
  options.logits = KRAFLA_LOGITS_ALL;
  options.on_logits = WriteRow;
  options.user = &output;
  const int32_t code = CallUntilInterrupted(
      session, [&] { return krafla_session_append(session, ids.data(), ids.size(), &options); });
  if (output.error != 0) {
    return Fail(kExitOther, "{}: {}", args.out, std::strerror(output.error));
  }
  return code == KRAFLA_OK ? kExitOk : FailWith(code, "logits");
}

}  // namespace

ExitCode EvalLogits(const EvalArgs& args) {
  RuntimePtr runtime;
  ModelPtr model;
  SessionPtr session;
  if (ExitCode e = OpenRuntime(args.model.threads, &runtime)) return e;
  if (ExitCode e = OpenModel(args.model, runtime.get(), &model)) return e;
  ModelArgs session_args = args.model;
  session_args.context = static_cast<int64_t>(args.ids.size());
  if (ExitCode e = CreateSession(session_args, model.get(), &session)) return e;

  namespace fs = std::filesystem;
  std::error_code error;
  const std::string partial = args.out + ".partial";  // in place of what a killed process left
  for (const std::string& name : {args.out, partial}) {
    if (fs::equivalent(PathOf(name), PathOf(args.model.model), error)) {
      return Fail(kExitArguments, "{}: the output is the model", name);
    }
  }
  const bool exists = fs::exists(PathOf(args.out), error);
  const bool in_place = exists && !fs::is_regular_file(PathOf(args.out), error);
  const std::string& written = in_place ? args.out : partial;
  if (!in_place) fs::remove(PathOf(partial), error);
  const int fd = OpenFile(written, O_WRONLY | O_CREAT | (in_place ? O_TRUNC : O_EXCL));
  if (fd < 0) return Fail(kExitArguments, "{}: {}", args.out, std::strerror(errno));
  ExitCode exit_code = WriteLogits(args, session.get(), fd);
  if (close(fd) != 0 && exit_code == kExitOk) {
    exit_code = Fail(kExitOther, "{}: {}", args.out, std::strerror(errno));
  }
  if (!in_place && exit_code == kExitOk) {
    fs::rename(PathOf(written), PathOf(args.out), error);
    if (error) exit_code = Fail(kExitOther, "{}: {}", args.out, error.message());
  }
  if (exit_code != kExitOk) {
    if (!in_place) fs::remove(PathOf(written), error);
    return exit_code;
  }
  const nlohmann::ordered_json result = {{"tokens", args.ids.size()},
                                         {"vocab", ModelInfo(model.get()).n_vocab}};
  return WriteStdout(result.dump() + "\n");
}

}  // namespace krafla::tools
