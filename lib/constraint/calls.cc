// See calls.h.
#include "lib/constraint/calls.h"

#include <utility>

#include "lib/constraint/regex.h"
#include "lib/constraint/special_bytes.h"

namespace krafla {
namespace {

// A text in which special tokens are themselves.
StatusOr<ExprId> Trusted(std::string_view text, const Tokenizer& tokenizer, Grammar* grammar) {
  std::vector<int32_t> ids;
  const TextPiece piece = {text, true};
  KRAFLA_RETURN_IF_ERROR(tokenizer.EncodePieces({&piece, 1}, /*add_special=*/false, &ids));
  std::vector<ExprId> parts;
  for (const int32_t id : ids) {
    if (!tokenizer.IsSpecial(id)) continue;
    KRAFLA_ASSIGN_OR_RETURN(const std::string_view spelling, tokenizer.TokenText(id));
    const size_t at = text.find(spelling);
    if (at == std::string_view::npos) {
      return UnsupportedError("calls: token {} of \"{}\" is written otherwise there", id, text);
    }
    parts.push_back(grammar->Bytes(text.substr(0, at)));
    parts.push_back(grammar->Bytes(SpecialBytes(id)));
    text.remove_prefix(at + spelling.size());
  }
  parts.push_back(grammar->Bytes(text));
  return grammar->Sequence(parts);
}

// Any text in which the pattern is not found.
StatusOr<ExprId> Without(std::string_view pattern, Grammar* grammar) {
  KRAFLA_ASSIGN_OR_RETURN(const CharDfa found, RegexDfa(pattern, RegexMatch::kSearch));
  KRAFLA_ASSIGN_OR_RETURN(CharDfa without, CharDfa::Minus(CharDfa::All(), found));
  return grammar->Strings(std::move(without));
}

// The text as a pattern that finds it.
std::string Literally(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (std::string_view("\\^$.*+?()[]{}|/").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

StatusOr<ExprId> Reasoning(const CallsSource& source, const Tokenizer& tokenizer,
                           Grammar* grammar) {
  if (source.reasoning == CallsSource::kNone) return grammar->Empty();
  KRAFLA_ASSIGN_OR_RETURN(const ExprId begin, Trusted(source.think_begin, tokenizer, grammar));
  KRAFLA_ASSIGN_OR_RETURN(const ExprId inside, Without(Literally(source.think_end), grammar));
  KRAFLA_ASSIGN_OR_RETURN(const ExprId end, Trusted(source.think_end, tokenizer, grammar));
  ExprId after = grammar->Repeat(grammar->Bytes("\n"), 0, 2);
  if (!source.think_after.empty()) {
    KRAFLA_ASSIGN_OR_RETURN(after, Trusted(source.think_after, tokenizer, grammar));
  }
  const bool begun = source.reasoning == CallsSource::kBegun;
  const ExprId parts[] = {begun ? grammar->Empty() : begin, inside, end, after};
  const ExprId whole = grammar->Sequence(parts);
  return begun ? whole : grammar->Repeat(whole, 0, 1);
}

// One of the source's calls, or several of it.
StatusOr<ExprId> Calls(const CallsSource& source, const SchemaOptions& options,
                       const Tokenizer& tokenizer, Grammar* grammar) {
  std::vector<ExprId> either;
  for (const CallsSource::Call& call : source.calls) {
    KRAFLA_ASSIGN_OR_RETURN(Grammar schema, ReadJsonSchema(call.schema, options));
    const RuleId root = grammar->Include(std::move(schema));
    KRAFLA_ASSIGN_OR_RETURN(const ExprId begin, Trusted(call.begin, tokenizer, grammar));
    std::vector<ExprId> parts = {begin, grammar->Call(root)};
    if (!source.between.empty()) {
      KRAFLA_ASSIGN_OR_RETURN(const ExprId between, Trusted(source.between, tokenizer, grammar));
      const ExprId more[] = {between, grammar->Call(root)};
      parts.push_back(grammar->Repeat(grammar->Sequence(more), 0, kUnbounded));
    }
    either.push_back(grammar->Sequence(parts));
  }
  KRAFLA_ASSIGN_OR_RETURN(const ExprId end, Trusted(source.end, tokenizer, grammar));
  const ExprId parts[] = {grammar->Choice(either), end};
  return grammar->Sequence(parts);
}

}  // namespace

StatusOr<Grammar> ReadCalls(const CallsSource& source, const SchemaOptions& options,
                            const Tokenizer& tokenizer) {
  Grammar grammar;
  KRAFLA_ASSIGN_OR_RETURN(ExprId calls, Calls(source, options, tokenizer, &grammar));
  if (!source.no_call.empty()) {
    KRAFLA_ASSIGN_OR_RETURN(const ExprId begin, Trusted(source.text_begin, tokenizer, &grammar));
    KRAFLA_ASSIGN_OR_RETURN(const ExprId inside, Without(source.no_call, &grammar));
    const ExprId text[] = {begin, inside};
    if (source.text_before) {
      const ExprId parts[] = {grammar.Sequence(text), grammar.Repeat(calls, 0, 1)};
      calls = grammar.Sequence(parts);
    } else {
      const ExprId either[] = {grammar.Sequence(text), calls};
      calls = grammar.Choice(either);
    }
  }
  KRAFLA_ASSIGN_OR_RETURN(const ExprId reasoning, Reasoning(source, tokenizer, &grammar));
  const ExprId all[] = {reasoning, calls};
  const RuleId root = grammar.AddRule("reply");
  grammar.rules[root].body = grammar.Sequence(all);
  grammar.root = root;
  return grammar;
}

}  // namespace krafla
