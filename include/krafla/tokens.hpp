// krafla::Tokens: a generation as a range.
//
//   for (const krafla::Token& token : krafla::Tokens(session, sampler)) std::cout << token.text;
//
// Leaving the loop early abandons the token that is being read and keeps those before it. Part of
// krafla.hpp; C++17.
#ifndef KRAFLA_TOKENS_HPP_
#define KRAFLA_TOKENS_HPP_

#include <deque>
#include <iterator>
#include <string>

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
    const Token& operator*() const { return tokens_->tokens_.front(); }
    const Token* operator->() const { return &tokens_->tokens_.front(); }
    Iterator& operator++() {
      tokens_->tokens_.pop_front();
      tokens_->Fill();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& a, End) { return a.at_end(); }
    friend bool operator!=(const Iterator& a, End) { return !a.at_end(); }

   private:
    bool at_end() const { return tokens_->tokens_.empty(); }
    Tokens* tokens_;
  };
  Iterator begin() {
    Fill();
    return Iterator(this);
  }
  End end() const noexcept { return {}; }

 private:
  void Push(const krafla_token& token) {
    tokens_.push_back(
        {token.id, token.position, std::string(token.text, token.text_length), token.logprob});
  }
  // A step may give none, or several: those of a draft, or what a constraint forces.
  void Fill() {
    while (tokens_.empty() && !ended_) ended_ = session_.Step(0);
  }

  Session& session_;
  std::deque<Token> tokens_;  // reported, the first one being looked at
  bool ended_ = false;
};

}  // namespace krafla

#endif  // KRAFLA_TOKENS_HPP_
