// See constraint.h. A walker grows while it is used; a state that finds its own too large goes on
// in a new one, and the old one goes when the last state has left it.
#include "lib/constraint/constraint.h"

#include <utility>

#include "lib/base/utf8.h"
#include "lib/constraint/special_bytes.h"

namespace krafla {
namespace {

constexpr size_t kMaxForced = 4096;  // bytes looked ahead at once

Status TooLarge() {
  return UnsupportedError(
      "constraint: a step has too many possibilities at once: the grammar is too ambiguous");
}

}  // namespace

StatusOr<std::shared_ptr<const Constraint>> Constraint::Create(
    const Grammar& grammar, std::shared_ptr<const Vocabulary> vocabulary, uint32_t max_nodes) {
  KRAFLA_ASSIGN_OR_RETURN(Automaton automaton, Automaton::Build(grammar, max_nodes));
  return std::shared_ptr<const Constraint>(
      new Constraint(std::move(automaton), std::move(vocabulary)));
}

std::shared_ptr<Walker> Constraint::walker() const {
  std::lock_guard lock(mutex_);
  if (walker_ == nullptr) walker_ = std::make_shared<Walker>(&automaton_, vocabulary_.get());
  return walker_;
}

void Constraint::Replace(const Walker* old, const std::shared_ptr<Walker>& fresh) const {
  std::lock_guard lock(mutex_);
  if (walker_.get() == old) walker_ = fresh;
}

StatusOr<ConstraintState> ConstraintState::Create(std::shared_ptr<const Constraint> constraint) {
  ConstraintState state;
  state.constraint_ = std::move(constraint);
  state.walker_ = state.constraint_->walker();
  const Status status = state.Use([&state](Walker& walker) {
    const ConfigId config = walker.Start();
    if (config == Walker::kTooLarge) return false;
    state.Become(config);
    return true;
  });
  if (!status.ok()) return status;
  return state;
}

void ConstraintState::Become(ConfigId config) {
  config_ = config;
  complete_ = walker_->complete(config);
  open_ = walker_->open(config);
}

// Runs function(walker), which gives false where a limit was met; then once more in a new walker.
// A walker that is large already is left first.
template <typename Function>
Status ConstraintState::Use(Function function) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    const std::shared_ptr<Walker> walker = walker_;  // held while its lock is
    std::lock_guard lock(walker->mutex);
    if (!(attempt == 0 && walker->full()) && function(*walker)) return OkStatus();
    if (attempt != 0) break;
    auto fresh = std::make_shared<Walker>(&constraint_->automaton_, &constraint_->vocabulary());
    const ConfigId config = fresh->Import(*walker, config_);
    if (config == Walker::kTooLarge) break;
    constraint_->Replace(walker.get(), fresh);
    walker_ = std::move(fresh);
    config_ = config;
  }
  return TooLarge();
}

Status ConstraintState::Mask(std::span<uint32_t> bits) {
  if (bits.size() != constraint_->vocabulary().mask_words()) {
    return ArgumentError("constraint: mask: got {} words, want {}", bits.size(),
                         constraint_->vocabulary().mask_words());
  }
  return Use([&](Walker& walker) { return walker.Mask(config_, bits); });
}

Status ConstraintState::Accept(int32_t id) {
  const Tokenizer& tokenizer = constraint_->vocabulary().tokenizer();
  KRAFLA_ASSIGN_OR_RETURN(const std::string_view bytes, tokenizer.TokenBytes(id));
  const bool special = tokenizer.IsSpecial(id);
  if (bytes.empty() && !special) {
    return ArgumentError("constraint: token {} stands for no text", id);
  }
  if (!special) return AcceptText(bytes);
  KRAFLA_ASSIGN_OR_RETURN(const size_t went, AcceptBytes(SpecialBytes(id)));
  if (went == kSpecialBytes) return OkStatus();
  return ArgumentError("constraint: special token {} cannot follow", id);
}

Status ConstraintState::AcceptText(std::string_view text) {
  size_t possible = text.find(kSpecialLead);
  if (possible == std::string_view::npos) {
    KRAFLA_ASSIGN_OR_RETURN(possible, AcceptBytes(text));
    if (possible == text.size()) return OkStatus();
  }
  return ArgumentError("constraint: byte {} of \"{}\" cannot follow", possible,
                       ReplaceInvalidUtf8(text.substr(0, 64)));
}

// How many of the bytes can follow; all of them, or the state stays.
StatusOr<size_t> ConstraintState::AcceptBytes(std::string_view text) {
  size_t at = 0;
  bool possible = true;
  KRAFLA_RETURN_IF_ERROR(Use([&](Walker& walker) {
    ConfigId config = config_;
    for (at = 0; at < text.size() && config != Walker::kDead; ++at) {
      config = walker.Next(config, static_cast<uint8_t>(text[at]));
      if (config == Walker::kTooLarge) return false;
    }
    possible = config != Walker::kDead;
    if (possible) Become(config);
    return true;
  }));
  return possible ? text.size() : at - 1;
}

Status ConstraintState::ForcedText(std::string* text) {
  std::string forced;
  KRAFLA_RETURN_IF_ERROR(Use([&](Walker& walker) {
    forced.clear();
    for (ConfigId config = config_; forced.size() < kMaxForced;) {
      const int byte = walker.ForcedByte(config);
      if (byte == -2) return false;
      if (byte == -1) return true;
      forced.push_back(static_cast<char>(byte));
      config = walker.Next(config, static_cast<uint8_t>(byte));
      if (config == Walker::kTooLarge) return false;
    }
    return true;
  }));
  text->swap(forced);
  return OkStatus();
}

Status ConstraintState::ForcedTokens(std::vector<int32_t>* ids) {
  std::string text;
  KRAFLA_RETURN_IF_ERROR(ForcedText(&text));
  if (text.size() >= kSpecialBytes && text[0] == kSpecialLead) {
    ids->assign(1, SpecialId(text));
    return OkStatus();
  }
  const size_t special = text.find(kSpecialLead);
  const bool before_special = special != std::string::npos;  // which joins with no text
  text.resize(before_special ? special : text.size() - IncompleteUtf8Suffix(text));
  std::vector<int32_t> tokens;
  if (!text.empty() && ValidUtf8Prefix(text) == text.size()) {
    const Tokenizer& tokenizer = constraint_->vocabulary().tokenizer();
    KRAFLA_RETURN_IF_ERROR(tokenizer.Encode(text, false, false, &tokens));
    // Some tokenizers put a space in front or change characters; then nothing is forced.
    std::string_view rest = text;
    for (int32_t id : tokens) {
      const auto bytes = tokenizer.TokenBytes(id);
      if (!bytes.ok() || bytes->empty() || tokenizer.IsSpecial(id) || !rest.starts_with(*bytes)) {
        rest = text;
        break;
      }
      rest.remove_prefix(bytes->size());
    }
    if (!rest.empty()) tokens.clear();
    ConstraintState after = *this;
    if (!tokens.empty()) {
      KRAFLA_RETURN_IF_ERROR(after.AcceptText(text));
      if (after.open_ && !before_special) tokens.pop_back();
    }
  }
  ids->swap(tokens);
  return OkStatus();
}

}  // namespace krafla
