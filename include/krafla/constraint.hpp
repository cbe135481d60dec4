// krafla::Constraint and krafla::ConstraintState: what a generated text must be. Part of
// krafla.hpp; C++17.
//
//   krafla::Constraint json = krafla::Constraint::JsonSchema(tokenizer, R"({"type": "object"})");
//   krafla_generate_options options = KRAFLA_GENERATE_OPTIONS_INIT;
//   options.constraint = json.get();
#ifndef KRAFLA_CONSTRAINT_HPP_
#define KRAFLA_CONSTRAINT_HPP_

#include <string_view>
#include <vector>

#include "krafla/chat.hpp"
#include "krafla/krafla_constraint.h"
#include "krafla/sampler.hpp"
#include "krafla/tokenizer.hpp"

namespace krafla {

class Constraint {
 public:
  using Options = krafla_constraint_options;

  static Constraint Choices(const Tokenizer& tokenizer, const std::vector<std::string_view>& texts,
                            const Options& options = KRAFLA_CONSTRAINT_OPTIONS_INIT) {
    std::vector<krafla_string> raw;
    for (const std::string_view text : texts) raw.push_back({text.data(), text.size()});
    return Compile(tokenizer, KRAFLA_CONSTRAINT_CHOICES, raw.data(), raw.size(), options);
  }
  static Constraint Regex(const Tokenizer& tokenizer, std::string_view pattern,
                          const Options& options = KRAFLA_CONSTRAINT_OPTIONS_INIT) {
    return Compile(tokenizer, KRAFLA_CONSTRAINT_REGEX, pattern, options);
  }
  static Constraint Gbnf(const Tokenizer& tokenizer, std::string_view grammar,
                         const Options& options = KRAFLA_CONSTRAINT_OPTIONS_INIT) {
    return Compile(tokenizer, KRAFLA_CONSTRAINT_GBNF, grammar, options);
  }
  static Constraint JsonSchema(const Tokenizer& tokenizer, std::string_view schema,
                               const Options& options = KRAFLA_CONSTRAINT_OPTIONS_INIT) {
    return Compile(tokenizer, KRAFLA_CONSTRAINT_JSON_SCHEMA, schema, options);
  }
  // Calls of the chat's tools, of the named one or ("") any.
  static Constraint Calls(Chat& chat, std::string_view tool = {},
                          const krafla_calls_options& calls = KRAFLA_CALLS_OPTIONS_INIT,
                          const Options& options = KRAFLA_CONSTRAINT_OPTIONS_INIT) {
    krafla_constraint* handle = nullptr;
    Check(krafla_constraint_compile_calls(&handle, chat.get(), tool.data(), tool.size(), &calls,
                                          &options));
    return Constraint(handle);
  }
  krafla_constraint* get() const noexcept { return handle_.get(); }

 private:
  explicit Constraint(krafla_constraint* handle) : handle_(handle) {}
  static Constraint Compile(const Tokenizer& tokenizer, std::int32_t kind,
                            const krafla_string* texts, std::size_t n, const Options& options) {
    krafla_constraint* handle = nullptr;
    Check(krafla_constraint_compile(&handle, tokenizer.get(), kind, texts, n, &options));
    return Constraint(handle);
  }
  static Constraint Compile(const Tokenizer& tokenizer, std::int32_t kind, std::string_view text,
                            const Options& options) {
    const krafla_string raw = {text.data(), text.size()};
    return Compile(tokenizer, kind, &raw, 1, options);
  }
  internal::Handle<krafla_constraint> handle_;
};

// A place in a text, for hosts that sample by themselves. Copies are independent.
class ConstraintState {
 public:
  explicit ConstraintState(const Constraint& constraint) {
    krafla_constraint_state* handle = nullptr;
    Check(krafla_constraint_state_create(&handle, constraint.get()));
    handle_.reset(handle);
  }
  ConstraintState Clone() const {
    krafla_constraint_state* handle = nullptr;
    Check(krafla_constraint_state_clone(&handle, handle_.get()));
    return ConstraintState(handle);
  }
  bool complete() const { return info().complete != 0; }
  bool open() const { return info().open != 0; }
  // A bit a token: which can follow.
  std::vector<std::uint32_t> Mask() {
    std::size_t n = 0;
    const std::int32_t code = krafla_constraint_state_get_mask(handle_.get(), nullptr, 0, &n);
    if (code != KRAFLA_E_BUFFER) Check(code);
    std::vector<std::uint32_t> mask(n);
    Check(krafla_constraint_state_get_mask(handle_.get(), mask.data(), n, &n));
    return mask;
  }
  void Accept(std::int32_t id) { Check(krafla_constraint_state_accept(handle_.get(), id)); }
  void Accept(std::string_view text) {
    Check(krafla_constraint_state_accept_text(handle_.get(), text.data(), text.size()));
  }
  // The tokens of the text that must follow.
  std::vector<std::int32_t> Forced() {
    std::vector<std::int32_t> ids(64);
    std::size_t n = 0;
    for (;;) {
      const std::int32_t code =
          krafla_constraint_state_get_forced(handle_.get(), ids.data(), ids.size(), &n);
      ids.resize(n);
      if (code == KRAFLA_E_BUFFER) continue;
      Check(code);
      return ids;
    }
  }
  krafla_constraint_state* get() const noexcept { return handle_.get(); }

 private:
  explicit ConstraintState(krafla_constraint_state* handle) : handle_(handle) {}
  krafla_constraint_state_info info() const {
    krafla_constraint_state_info info{};
    info.struct_size = sizeof(info);
    Check(krafla_constraint_state_get_info(handle_.get(), &info));
    return info;
  }
  internal::Handle<krafla_constraint_state> handle_;
};

}  // namespace krafla

#endif  // KRAFLA_CONSTRAINT_HPP_
