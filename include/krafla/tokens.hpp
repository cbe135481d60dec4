// krafla::Tokens: a generation as a range.
//
//   for (const krafla::Token& token : krafla::Tokens(session, sampler)) std::cout << token.text;
//
// Leaving the loop early abandons the token that is being read and keeps those before it. Part of
// krafla.hpp; C++17.
#ifndef KRAFLA_TOKENS_HPP_
#define KRAFLA_TOKENS_HPP_

#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "krafla/session.hpp"

namespace krafla {

// id -1: text that was held back until the end.
struct Token {
  std::int32_t id = -1;
  std::int64_t position = 0;
  std::string text;
  float logprob = 0;  // where options.logprobs is set
};

class Tokens {
 public:
  // The session must outlive the range; options.on_token and user are not used.
  explicit Tokens(Session& session, Sampler& sampler,
                  krafla_generate_options options = KRAFLA_GENERATE_OPTIONS_INIT)
      : session_(session) {
    options.user = this;
    options.on_token = [](void* user, const krafla_token* token) -> int {
      static_cast<Tokens*>(user)->Push(*token);
      return 0;
    };
    session_.BeginGenerate(sampler, options);
  }
  ~Tokens() {
    if (!ended_) krafla_session_abandon(session_.get());
  }
  Tokens(const Tokens&) = delete;
  Tokens& operator=(const Tokens&) = delete;

  struct End {};
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Token;
    using difference_type = std::ptrdiff_t;
    using pointer = const Token*;
    using reference = const Token&;
    explicit Iterator(Tokens* tokens) : tokens_(tokens) {}
    const Token& operator*() const { return *tokens_->token_; }
    const Token* operator->() const { return &*tokens_->token_; }
    Iterator& operator++() {
      tokens_->Next();
      return *this;
    }
    void operator++(int) { tokens_->Next(); }
    friend bool operator==(const Iterator& a, End) { return a.at_end(); }
    friend bool operator!=(const Iterator& a, End) { return !a.at_end(); }

   private:
    bool at_end() const { return !tokens_->token_; }
    Tokens* tokens_;
  };
  Iterator begin() {
    Next();
    return Iterator(this);
  }
  End end() const noexcept { return {}; }

 private:
  // The last step may give two: a token and what was held back.
  void Push(const krafla_token& token) {
    std::optional<Token>& slot = token_ ? held_ : token_;
    slot =
        Token{token.id, token.position, std::string(token.text, token.text_length), token.logprob};
  }
  void Next() {
    token_ = std::exchange(held_, std::nullopt);
    while (!token_ && !ended_) ended_ = session_.Step(0);
  }

  Session& session_;
  std::optional<Token> token_;
  std::optional<Token> held_;
  bool ended_ = false;
};

}  // namespace krafla

#endif  // KRAFLA_TOKENS_HPP_
