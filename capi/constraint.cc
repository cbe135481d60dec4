// krafla_constraint_*: compiled constraints, and places in them for hosts that sample by
// themselves.
#include "capi/chat_calls.h"
#include "capi/constrained.h"
#include "capi/guard.h"
#include "capi/handles.h"
#include "capi/structs.h"
#include "lib/constraint/calls.h"

using namespace krafla;  // NOLINT: the definitions below are the global C functions
using capi::Busy;
using capi::Guard;

struct krafla_constraint_state {
  std::shared_ptr<const void> owner;  // of the tokenizer's bytes
  ConstraintState state;
  mutable std::atomic<bool> busy{false};
};

namespace {

StatusOr<SchemaOptions> ToSchemaOptions(const krafla_constraint_options& given) {
  SchemaOptions options;
  switch (given.space) {
    case KRAFLA_JSON_SPACE_FLEXIBLE:
      options.space = JsonSpace::kFlexible;
      break;
    case KRAFLA_JSON_SPACE_NONE:
      options.space = JsonSpace::kNone;
      break;
    case KRAFLA_JSON_SPACE_PYTHON:
      options.space = JsonSpace::kPython;
      break;
    default:
      return ArgumentError("krafla_constraint_options: space: got {}, want KRAFLA_JSON_SPACE_*",
                           given.space);
  }
  options.in_order = given.in_order != 0;
  options.lenient = given.lenient != 0;
  return options;
}

StatusOr<uint32_t> MaxNodes(const krafla_constraint_options& given) {
  if (given.max_nodes > Automaton::kMaxNodes) {
    return ArgumentError("krafla_constraint_options: max_nodes: got {}, want at most {}",
                         given.max_nodes, Automaton::kMaxNodes);
  }
  return given.max_nodes == 0 ? Automaton::kMaxNodes : static_cast<uint32_t>(given.max_nodes);
}

StatusOr<std::vector<std::string_view>> ReadTexts(const krafla_string* texts, size_t n) {
  KRAFLA_RETURN_IF_ERROR(capi::CheckArray(texts, n, "texts"));
  std::vector<std::string_view> read;
  for (size_t i = 0; i < n; ++i) {
    KRAFLA_ASSIGN_OR_RETURN(const std::string_view text,
                            capi::ReadString(texts[i].text, texts[i].length, "texts"));
    read.push_back(text);
  }
  return read;
}

StatusOr<Grammar> ReadGrammar(int32_t kind, std::span<const std::string_view> texts,
                              const krafla_constraint_options& given) {
  KRAFLA_ASSIGN_OR_RETURN(const SchemaOptions schema, ToSchemaOptions(given));
  if (kind == KRAFLA_CONSTRAINT_CHOICES) return ReadChoices(texts);
  if (kind < KRAFLA_CONSTRAINT_CHOICES || kind > KRAFLA_CONSTRAINT_JSON_SCHEMA) {
    return ArgumentError("constraint: kind: got {}, want KRAFLA_CONSTRAINT_*", kind);
  }
  if (texts.size() != 1) {
    return ArgumentError("constraint: got {} texts, want one", texts.size());
  }
  if (kind == KRAFLA_CONSTRAINT_REGEX) return ReadRegex(texts[0]);
  if (kind == KRAFLA_CONSTRAINT_GBNF) return ReadGbnf(texts[0]);
  return ReadJsonSchema(texts[0], schema);
}

// One that no template and no tokenizer takes for something else.
bool IsPlainName(std::string_view name) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:/-";
  return name.find_first_not_of(kPlain) == std::string_view::npos;
}

StatusOr<CallsSource> ToCallsSource(const capi::ChatCalls& calls,
                                    const krafla_calls_options& given) {
  CallsSource source;
  const chat::CallTexts texts = chat::TextsOf(calls.form);
  if (texts.name_begin.empty()) {
    source.calls.push_back({std::string(texts.begin), calls.schema});
  } else {
    for (const Conversation::Tool& tool : calls.tools) {
      if (!IsPlainName(tool.name)) {
        return UnsupportedError(
            "tools: {}: letters, digits and _ . : / - are what a call of this "
            "form can name",
            tool.name);
      }
      source.calls.push_back(
          {std::string(texts.name_begin) + tool.name + std::string(texts.name_end),
           tool.parameters});
    }
  }
  source.end = texts.end;
  source.reasoning = calls.thinks      ? CallsSource::kBegun
                     : calls.may_think ? CallsSource::kMay
                                       : CallsSource::kNone;
  source.think_begin = texts.think_begin;
  source.think_end = texts.think_end;
  source.think_after = texts.think_after;
  if (given.parallel != 0) source.between = texts.between;
  if (given.choice == KRAFLA_CALLS_AUTO) {
    source.no_call = texts.no_call;
    source.text_begin = texts.text_begin;
    source.text_before = texts.text_before;
  } else if (given.choice != KRAFLA_CALLS_REQUIRED) {
    return ArgumentError("krafla_calls_options: choice: got {}, want KRAFLA_CALLS_*", given.choice);
  }
  return source;
}

template <typename Function>
int32_t With(const krafla_constraint_state* state, Function function) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(state);
    Busy busy(state->busy);
    KRAFLA_RETURN_IF_ERROR(busy.status());
    return function();
  });
}

}  // namespace

extern "C" {

int32_t krafla_constraint_compile(krafla_constraint** out, const krafla_tokenizer* tokenizer,
                                  int32_t kind, const krafla_string* texts, size_t n,
                                  const krafla_constraint_options* options) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(out);
    KRAFLA_CHECK_POINTER(tokenizer);
    krafla_constraint_options given;
    KRAFLA_RETURN_IF_ERROR(capi::ReadOptions(options, "krafla_constraint_options", &given));
    KRAFLA_ASSIGN_OR_RETURN(const uint32_t max_nodes, MaxNodes(given));
    KRAFLA_ASSIGN_OR_RETURN(const auto read, ReadTexts(texts, n));
    KRAFLA_ASSIGN_OR_RETURN(const Grammar grammar, ReadGrammar(kind, read, given));
    KRAFLA_ASSIGN_OR_RETURN(auto vocabulary, tokenizer->vocabulary->Get(tokenizer->tokenizer));
    KRAFLA_ASSIGN_OR_RETURN(auto constraint,
                            Constraint::Create(grammar, std::move(vocabulary), max_nodes));
    *out = new krafla_constraint{tokenizer->owner, std::move(constraint)};
    return OkStatus();
  });
}

int32_t krafla_constraint_compile_calls(krafla_constraint** out, krafla_chat* chat,
                                        const char* tool, size_t length,
                                        const krafla_calls_options* calls,
                                        const krafla_constraint_options* options) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(out);
    KRAFLA_CHECK_POINTER(chat);
    KRAFLA_ASSIGN_OR_RETURN(const auto name, capi::ReadString(tool, length, "tool"));
    krafla_calls_options wanted;
    KRAFLA_RETURN_IF_ERROR(capi::ReadOptions(calls, "krafla_calls_options", &wanted));
    krafla_constraint_options given;
    KRAFLA_RETURN_IF_ERROR(capi::ReadOptions(options, "krafla_constraint_options", &given));
    KRAFLA_ASSIGN_OR_RETURN(const uint32_t max_nodes, MaxNodes(given));
    KRAFLA_ASSIGN_OR_RETURN(SchemaOptions schema, ToSchemaOptions(given));
    schema.in_order = true;  // a call streams once its name is known
    KRAFLA_ASSIGN_OR_RETURN(const capi::ChatCalls form, capi::CallsOf(chat, name));
    KRAFLA_ASSIGN_OR_RETURN(const CallsSource source, ToCallsSource(form, wanted));
    KRAFLA_ASSIGN_OR_RETURN(const Grammar grammar, ReadCalls(source, schema, *form.tokenizer));
    KRAFLA_ASSIGN_OR_RETURN(auto vocabulary, form.vocabulary->Get(form.tokenizer));
    KRAFLA_ASSIGN_OR_RETURN(auto constraint,
                            Constraint::Create(grammar, std::move(vocabulary), max_nodes));
    *out = new krafla_constraint{form.owner, std::move(constraint)};
    return OkStatus();
  });
}

void krafla_constraint_free(krafla_constraint* constraint) { delete constraint; }

int32_t krafla_constraint_state_create(krafla_constraint_state** out,
                                       const krafla_constraint* constraint) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(out);
    KRAFLA_CHECK_POINTER(constraint);
    KRAFLA_ASSIGN_OR_RETURN(ConstraintState state, ConstraintState::Create(constraint->constraint));
    *out = new krafla_constraint_state{constraint->owner, std::move(state)};
    return OkStatus();
  });
}

void krafla_constraint_state_free(krafla_constraint_state* state) { delete state; }

int32_t krafla_constraint_state_clone(krafla_constraint_state** out,
                                      const krafla_constraint_state* state) {
  return With(state, [&]() -> Status {
    KRAFLA_CHECK_POINTER(out);
    *out = new krafla_constraint_state{state->owner, state->state};
    return OkStatus();
  });
}

int32_t krafla_constraint_state_get_info(const krafla_constraint_state* state,
                                         krafla_constraint_state_info* info) {
  return With(state, [&]() -> Status {
    KRAFLA_RETURN_IF_ERROR(capi::CheckInfo(info, "krafla_constraint_state_info"));
    krafla_constraint_state_info filled{};
    filled.complete = state->state.complete() ? 1 : 0;
    filled.open = state->state.open() ? 1 : 0;
    capi::WriteInfo(filled, info);
    return OkStatus();
  });
}

int32_t krafla_constraint_state_get_mask(krafla_constraint_state* state, uint32_t* mask,
                                         size_t capacity, size_t* n) {
  return With(state, [&]() -> Status {
    KRAFLA_CHECK_POINTER(n);
    *n = state->state.constraint().vocabulary().mask_words();
    if (mask == nullptr || capacity < *n) {
      return BufferError("mask: need room for {}, got {}", *n, mask == nullptr ? 0 : capacity);
    }
    return state->state.Mask({mask, *n});
  });
}

int32_t krafla_constraint_state_accept(krafla_constraint_state* state, int32_t id) {
  return With(state, [&] { return state->state.Accept(id); });
}

int32_t krafla_constraint_state_accept_text(krafla_constraint_state* state, const char* text,
                                            size_t length) {
  return With(state, [&]() -> Status {
    KRAFLA_ASSIGN_OR_RETURN(const auto given, capi::ReadString(text, length, "text"));
    return state->state.AcceptText(given);
  });
}

int32_t krafla_constraint_state_get_forced(krafla_constraint_state* state, int32_t* ids,
                                           size_t capacity, size_t* n) {
  return With(state, [&]() -> Status {
    KRAFLA_CHECK_POINTER(n);
    std::vector<int32_t> forced;
    KRAFLA_RETURN_IF_ERROR(state->state.ForcedTokens(&forced));
    return capi::CopyOut(forced.data(), forced.size(), "forced", ids, capacity, n);
  });
}

}  // extern "C"
