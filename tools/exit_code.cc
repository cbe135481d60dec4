// The one table from ABI codes to exit codes, and the frame of every program.
#include "tools/exit_code.h"

#include <krafla/krafla.h>

#include <exception>
#include <new>

#include "tools/interrupt.h"
#include "tools/output.h"

namespace krafla::tools {
namespace {

const char* program_name = "krafla";

}  // namespace

ExitCode ExitCodeOf(int32_t abi_code) {
  switch (abi_code) {
    case KRAFLA_OK:
      return kExitOk;
    case KRAFLA_E_ARGUMENT:
    case KRAFLA_E_CONTEXT:  // too long a prompt
      return kExitArguments;
    case KRAFLA_E_CPU:
      return kExitCpu;
    case KRAFLA_E_IO:
    case KRAFLA_E_FILE:
    case KRAFLA_E_UNSUPPORTED:
    case KRAFLA_E_NOT_FOUND:
      return kExitModelFile;
    case KRAFLA_E_MEMORY:
    case KRAFLA_E_BUDGET:
      return kExitMemory;
    case KRAFLA_E_CANCELLED:
      return kExitInterrupted;
    default:
      return kExitOther;
  }
}

void PrintError(std::string_view message) {
  WriteStderr(fmt::format("{}: {}\n", program_name, message));
}

ExitCode FailAs(ExitCode exit_code, std::string_view what) {
  const std::string_view message = krafla_error_message();
  if (message.starts_with(what)) return Fail(exit_code, "{}", message);  // it names the file itself
  return Fail(exit_code, "{}: {}", what, message);
}

ExitCode FailWith(int32_t abi_code, std::string_view what) {
  const bool stopped = abi_code == KRAFLA_E_CANCELLED || abi_code == KRAFLA_E_CALLBACK;
  if (stopped && Interrupted()) return kExitInterrupted;
  return FailAs(ExitCodeOf(abi_code), what);
}

int RunProgram(const char* name, int argc, char** argv, ExitCode (*body)(int, char**)) {
  program_name = name;
  PrepareStandardStreams();
  if (krafla_cpu_check() != KRAFLA_OK) return Fail(kExitCpu, "{}", krafla_error_message());
  InstallInterrupt();
  try {
    std::vector<std::string> arguments = ProgramArguments(argc, argv);
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    const ExitCode exit_code = body(static_cast<int>(pointers.size()), pointers.data());
    EndIfTerminated();
    return exit_code;
  } catch (const std::bad_alloc&) {
    return Fail(kExitMemory, "out of memory");
  } catch (const std::exception& error) {
    return Fail(kExitOther, "{}", error.what());
  }
}

}  // namespace krafla::tools
