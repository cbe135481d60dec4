// CLI11 calls a check with each value before it is stored; a check that returns a text refuses it.
#include "tools/options.h"

#include <krafla/krafla.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iostream>
#include <string_view>
#include <system_error>
#include <utility>

namespace krafla::tools {
namespace {

// Whether all of `text` is one number that fits T.
template <typename T>
bool ParseWhole(std::string_view text, T* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

const CLI::Option* FindOption(const CLI::App& app, const std::string& name) {
  if (const CLI::Option* own = app.get_option_no_throw(name)) return own;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    if (const CLI::Option* option = command->get_option_no_throw(name)) return option;
  }
  return nullptr;
}

// "--system=" becomes "--system" and "": CLI11 would take the argument behind it for the value.
std::vector<std::string> SplitEmptyValues(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> args;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    args.push_back(arg);
    if (!arg.starts_with('-')) continue;
    const CLI::Option* option = FindOption(app, arg);
    if (option != nullptr && option->get_items_expected_min() > 0) {
      if (++i < argc) args.emplace_back(argv[i]);  // its value, whatever it looks like
    } else if (arg.starts_with("--") && arg.ends_with('=') &&
               FindOption(app, arg.substr(0, arg.size() - 1)) != nullptr) {
      args.back().pop_back();
      args.emplace_back();
    }
  }
  return args;
}

std::vector<std::string_view> SplitAtCommas(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t comma = text.find(',');
    parts.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

std::string ParseInteger(const std::string& text, int64_t min, int64_t max, int64_t* value) {
  int64_t parsed = 0;
  if (!ParseWhole(text, &parsed) || parsed < min || parsed > max) {
    return fmt::format("got \"{}\", want a whole number from {} to {}", text, min, max);
  }
  *value = parsed;
  return {};
}

std::string ParseSeed(const std::string& text, std::optional<uint64_t>* seed) {
  uint64_t parsed = 0;
  int64_t negative = 0;
  if (text == "-1") {
    seed->reset();
  } else if (ParseWhole(text, &parsed)) {
    *seed = parsed;
  } else if (ParseWhole(text, &negative)) {  // the same bits, as ml_server takes it
    *seed = static_cast<uint64_t>(negative);
  } else {
    return fmt::format("got \"{}\", want a whole number from {} to {}, or -1 to draw one", text,
                       INT64_MIN, UINT64_MAX);
  }
  return {};
}

void SetUp(CLI::App& app, const char* name) {
  app.name(name);
  app.allow_windows_style_options(false);  // "/models/a.mlb" is a path everywhere
  const uint32_t version = krafla_version();
  app.set_version_flag(
      "--version",
      fmt::format("{} {}.{}.{} ({}, arithmetic {})", name, version >> 16, version >> 8 & 255,
                  version & 255, krafla_isa(), krafla_arithmetic()),
      "Print the version and the instruction set");
}

CLI::Option* AddInteger(CLI::App& app, const char* flags, int64_t* target, int64_t min, int64_t max,
                        const char* help) {
  auto store = [=](const std::string& text) { (void)ParseInteger(text, min, max, target); };
  auto check = [=](const std::string& text) {
    int64_t value = 0;
    return ParseInteger(text, min, max, &value);
  };
  return app.add_option_function<std::string>(flags, store, help)->check(check)->type_name("N");
}

CLI::Option* AddReal(CLI::App& app, const char* flags, std::optional<double>* target,
                     const char* help) {
  auto store = [=](const std::string& text) {
    double value = 0;
    if (ParseWhole(text, &value)) *target = value;
  };
  auto check = [](const std::string& text) -> std::string {
    double value = 0;
    if (ParseWhole(text, &value) && std::isfinite(value)) return {};
    return fmt::format("got \"{}\", want a finite number", text);
  };
  return app.add_option_function<std::string>(flags, store, help)->check(check)->type_name("X");
}

CLI::Option* AddSeed(CLI::App& app, std::optional<uint64_t>* target, const char* help) {
  return app
      .add_option_function<std::string>(
          "--seed", [target](const std::string& text) { (void)ParseSeed(text, target); }, help)
      ->check([](const std::string& text) {
        std::optional<uint64_t> seed;
        return ParseSeed(text, &seed);
      })
      ->type_name("N");
}

std::string ParseBytes(const std::string& text, std::optional<uint64_t>* bytes) {
  constexpr std::string_view kUnits = "KMGT";
  std::string_view number = text;
  double unit = 1;
  if (!number.empty()) {
    if (const size_t at = kUnits.find(number.back()); at != std::string_view::npos) {
      unit = std::ldexp(1.0, 10 * static_cast<int>(at + 1));
      number.remove_suffix(1);
    }
  }
  double value = 0;
  if (!ParseWhole(number, &value) || !(value >= 0) || !(value * unit < 0x1p63)) {
    return fmt::format("got \"{}\", want a number of bytes, or one with K, M, G or T", text);
  }
  *bytes = static_cast<uint64_t>(value * unit);
  return {};
}

CLI::Option* AddBytes(CLI::App& app, const char* flags, std::optional<uint64_t>* target,
                      const char* help) {
  auto store = [target](const std::string& text) { (void)ParseBytes(text, target); };
  auto check = [](const std::string& text) {
    std::optional<uint64_t> bytes;
    return ParseBytes(text, &bytes);
  };
  return app.add_option_function<std::string>(flags, store, help)->check(check)->type_name("SIZE");
}

CLI::Option* AddIntegers(CLI::App& app, const char* flags, std::vector<int64_t>* target,
                         int64_t min, int64_t max, const char* help) {
  auto parse = [=](const std::string& text, std::vector<int64_t>* values) -> std::string {
    values->clear();
    for (const std::string_view part : SplitAtCommas(text)) {
      int64_t value = 0;
      std::string error = ParseInteger(std::string(part), min, max, &value);
      if (!error.empty()) return error + ", more of them after commas";
      values->push_back(value);
    }
    return {};
  };
  auto store = [=](const std::string& text) { (void)parse(text, target); };
  auto check = [=](const std::string& text) {
    std::vector<int64_t> values;
    return parse(text, &values);
  };
  return app.add_option_function<std::string>(flags, store, help)
      ->check(check)
      ->type_name("N,N,...");
}

CLI::Option* AddChoice(CLI::App& app, const char* flags, std::string* target,
                       std::vector<std::string> choices, std::vector<std::string> later,
                       const char* help) {
  const std::string list = fmt::format("{}", fmt::join(choices, "|"));
  auto check = [choices = std::move(choices), later = std::move(later),
                list](const std::string& text) -> std::string {
    if (std::count(choices.begin(), choices.end(), text) > 0) return {};
    if (std::count(later.begin(), later.end(), text) > 0) {
      return fmt::format("{} is not supported by this version, want {}", text, list);
    }
    return fmt::format("got \"{}\", want {}", text, list);
  };
  return app.add_option(flags, *target, help)->check(check)->type_name(list);
}

ExitCode Parse(CLI::App& app, int argc, char** argv, bool* finished) {
  *finished = true;
  try {
    std::vector<std::string> args = SplitEmptyValues(app, argc, argv);
    std::reverse(args.begin(), args.end());  // as CLI11 wants them
    app.parse(std::move(args));
  } catch (const CLI::Success& done) {  // --help, --version
    app.exit(done);
    std::cout.flush();
    return std::cout ? kExitOk : Fail(kExitOther, "stdout: cannot be written");
  } catch (const CLI::ParseError& error) {
    // CLI11 would only say that a subcommand is missing.
    const std::vector<std::string> rest = app.remaining();
    if (!rest.empty() && app.get_subcommands().empty() && app.get_require_subcommand_min() > 0) {
      return Fail(kExitArguments, "no command \"{}\" (see --help)", rest[0]);
    }
    // In their order, which CLI11 turns round.
    const std::vector<std::string> unexpected = app.remaining(/*recurse=*/true);
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !unexpected.empty()) {
      return Fail(kExitArguments, "not expected: {} (see --help)", fmt::join(unexpected, " "));
    }
    return Fail(kExitArguments, "{} (see --help)", error.what());
  }
  *finished = false;
  return kExitOk;
}

}  // namespace krafla::tools
