// Command-line options with one manner of refusing: what, got, wanted. Numbers are parsed here
// rather than by CLI11, which takes "nan" and wraps what is too large.
#ifndef KRAFLA_TOOLS_OPTIONS_H_
#define KRAFLA_TOOLS_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/exit_code.h"

namespace krafla::tools {

// --version, and the rules for all programs. App is for the program, not for a subcommand.
void SetUp(CLI::App& app, const char* name);

CLI::Option* AddInteger(CLI::App& app, const char* flags, int64_t* target, int64_t min, int64_t max,
                        const char* help);
// Finite; its bounds are checked by whoever takes it.
CLI::Option* AddReal(CLI::App& app, const char* flags, std::optional<double>* target,
                     const char* help);
CLI::Option* AddSeed(CLI::App& app, std::optional<uint64_t>* target, const char* help);
// Bytes: "1500000000", "512M", "1.5G" (powers of 1024).
CLI::Option* AddBytes(CLI::App& app, const char* flags, std::optional<uint64_t>* target,
                      const char* help);
// "1,2,3"
CLI::Option* AddIntegers(CLI::App& app, const char* flags, std::vector<int64_t>* target,
                         int64_t min, int64_t max, const char* help);
// One of `choices`; `later` are names that exist but that this version does not have.
CLI::Option* AddChoice(CLI::App& app, const char* flags, std::string* target,
                       std::vector<std::string> choices, std::vector<std::string> later,
                       const char* help);

// Sets *finished when there is nothing more to do: --help, --version, or an error, which is
// printed.
ExitCode Parse(CLI::App& app, int argc, char** argv, bool* finished);

// "" or what is wrong with `text`.
std::string ParseInteger(const std::string& text, int64_t min, int64_t max, int64_t* value);
std::string ParseBytes(const std::string& text, std::optional<uint64_t>* bytes);
std::string ParseSeed(const std::string& text, std::optional<uint64_t>* seed);

}  // namespace krafla::tools

#endif  // KRAFLA_TOOLS_OPTIONS_H_
