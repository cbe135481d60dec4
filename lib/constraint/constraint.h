// A constraint: what a generated text must be. Constraint is compiled once, immutable and shared by
// any number of generations; ConstraintState is one generation's place in it, a few words that are
// cheap to copy (a fork, a draft that may be rolled back). It fails closed: whatever cannot be
// decided within the limits is an error, never a text without the constraint.
#ifndef KRAFLA_LIB_CONSTRAINT_CONSTRAINT_H_
#define KRAFLA_LIB_CONSTRAINT_CONSTRAINT_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/constraint/automaton.h"
#include "lib/constraint/grammar.h"
#include "lib/constraint/vocabulary.h"
#include "lib/constraint/walker.h"

namespace krafla {

class Constraint {
 public:
  static StatusOr<std::shared_ptr<const Constraint>> Create(
      const Grammar& grammar, std::shared_ptr<const Vocabulary> vocabulary,
      uint32_t max_nodes = Automaton::kMaxNodes);

  const Vocabulary& vocabulary() const { return *vocabulary_; }
  uint32_t n_nodes() const { return automaton_.n_nodes(); }

 private:
  friend class ConstraintState;
  Constraint(Automaton automaton, std::shared_ptr<const Vocabulary> vocabulary)
      : automaton_(std::move(automaton)), vocabulary_(std::move(vocabulary)) {}

  std::shared_ptr<Walker> walker() const;  // what new states begin with
  void Replace(const Walker* old, const std::shared_ptr<Walker>& fresh) const;

  const Automaton automaton_;
  const std::shared_ptr<const Vocabulary> vocabulary_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<Walker> walker_;
};

// Calls that fail leave it as it was. One thread at a time; copies are independent.
class ConstraintState {
 public:
  static StatusOr<ConstraintState> Create(std::shared_ptr<const Constraint> constraint);

  const Constraint& constraint() const { return *constraint_; }

  // Bit id % 32 of word id / 32: the token can follow. Special tokens never match text, they follow
  // where a grammar of our own asks for them (calls.h); whether the text may end is complete()'s
  // matter. `bits` has vocabulary().mask_words().
  Status Mask(std::span<uint32_t> bits);
  bool complete() const { return complete_; }  // the text so far is a whole one
  bool open() const { return open_; }          // something can follow
  // ArgumentError where the token or the text cannot follow.
  Status Accept(int32_t id);
  Status AcceptText(std::string_view text);  // a part of UTF-8

  // The bytes that must follow, special tokens' included, up to where there is a choice or the text
  // may end.
  Status ForcedText(std::string* text);
  // The tokens of the forced text, as the tokenizer makes them of it, up to a special token or one
  // such. The last one is left out where more text follows, since it may be written as the
  // beginning of a longer token.
  Status ForcedTokens(std::vector<int32_t>* ids);

 private:
  ConstraintState() = default;
  StatusOr<size_t> AcceptBytes(std::string_view bytes);
  template <typename Function>
  Status Use(Function function);
  void Become(ConfigId config);

  std::shared_ptr<const Constraint> constraint_;
  std::shared_ptr<Walker> walker_;
  ConfigId config_ = Walker::kDead;
  bool complete_ = false, open_ = false;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_CONSTRAINT_CONSTRAINT_H_
