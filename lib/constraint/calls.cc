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

StatusOr<ExprId> Reasoning(CallsSource::Reasoning reasoning, const Tokenizer& tokenizer,
                           Grammar* grammar) {
  if (reasoning == CallsSource::kNone) return grammar->Empty();
  KRAFLA_ASSIGN_OR_RETURN(const ExprId begin, Trusted("<think>", tokenizer, grammar));
  KRAFLA_ASSIGN_OR_RETURN(const ExprId inside, Without("</think>", grammar));
  KRAFLA_ASSIGN_OR_RETURN(const ExprId end, Trusted("</think>", tokenizer, grammar));
  const ExprId lines = grammar->Repeat(grammar->Bytes("\n"), 0, 2);
  const bool begun = reasoning == CallsSource::kBegun;
  const ExprId parts[] = {begun ? grammar->Empty() : begin, inside, end, lines};
  const ExprId whole = grammar->Sequence(parts);
  return begun ? whole : grammar->Repeat(whole, 0, 1);
}

}  // namespace

StatusOr<Grammar> ReadCalls(const CallsSource& source, const SchemaOptions& options,
                            const Tokenizer& tokenizer) {
  KRAFLA_ASSIGN_OR_RETURN(Grammar grammar, ReadJsonSchema(source.schema, options));
  KRAFLA_ASSIGN_OR_RETURN(const ExprId begin, Trusted(source.begin, tokenizer, &grammar));
  KRAFLA_ASSIGN_OR_RETURN(const ExprId end, Trusted(source.end, tokenizer, &grammar));
  const ExprId one_parts[] = {begin, grammar.Call(grammar.root), end};
  ExprId calls = grammar.Sequence(one_parts);
  if (!source.between.empty()) {
    KRAFLA_ASSIGN_OR_RETURN(const ExprId between, Trusted(source.between, tokenizer, &grammar));
    const ExprId more[] = {between, grammar.Call(grammar.root)};
    const ExprId parts[] = {begin, grammar.Call(grammar.root),
                            grammar.Repeat(grammar.Sequence(more), 0, kUnbounded), end};
    calls = grammar.Sequence(parts);
  }
  if (!source.no_call.empty()) {
    KRAFLA_ASSIGN_OR_RETURN(const ExprId text, Without(source.no_call, &grammar));
    if (source.text_before) {
      const ExprId parts[] = {text, grammar.Repeat(calls, 0, 1)};
      calls = grammar.Sequence(parts);
    } else {
      const ExprId either[] = {text, calls};
      calls = grammar.Choice(either);
    }
  }
  KRAFLA_ASSIGN_OR_RETURN(const ExprId reasoning, Reasoning(source.reasoning, tokenizer, &grammar));
  const ExprId all[] = {reasoning, calls};
  const RuleId root = grammar.AddRule("reply");
  grammar.rules[root].body = grammar.Sequence(all);
  grammar.root = root;
  return grammar;
}

}  // namespace krafla
