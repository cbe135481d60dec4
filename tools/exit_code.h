// How the programs end and how they tell of a failure: every code of the ABI becomes one exit code,
// in one place, and every message goes to stderr as "program: what: message".
#ifndef KRAFLA_TOOLS_EXIT_CODE_H_
#define KRAFLA_TOOLS_EXIT_CODE_H_

#include <fmt/format.h>

#include <cstdint>
#include <string_view>
#include <utility>

namespace krafla::tools {

enum [[nodiscard]] ExitCode : int{
    kExitOk = 0,        kExitOther = 1,  kExitArguments = 2,     kExitCpu = 3,
    kExitModelFile = 4, kExitMemory = 5, kExitInterrupted = 130,
};

ExitCode ExitCodeOf(int32_t abi_code);

// Prints "program: message".
void PrintError(std::string_view message);

template <typename... Args>
ExitCode Fail(ExitCode exit_code, fmt::format_string<Args...> format, Args&&... args) {
  PrintError(fmt::format(format, std::forward<Args>(args)...));
  return exit_code;
}

// For a failed call of the library: prints "program: what: the library's message". Says nothing
// when the call failed because the user interrupted it.
ExitCode FailWith(int32_t abi_code, std::string_view what);
// The same with an exit code that the caller knows better.
ExitCode FailAs(ExitCode exit_code, std::string_view what);

// The body of every main: checks the processor before anything else, and turns what the standard
// library throws (no memory) into an exit code.
int RunProgram(const char* name, int argc, char** argv, ExitCode (*body)(int, char**));

}  // namespace krafla::tools

#endif  // KRAFLA_TOOLS_EXIT_CODE_H_
