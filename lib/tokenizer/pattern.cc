// PCRE2 behind Pattern: JIT where the system lets us have it, the interpreter where it does not or
// where a match outgrows the JIT's stack. Steps and memory of a match are limited, linearly in the
// text.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "lib/tokenizer/pattern.h"

#include <pcre2.h>

#include <algorithm>

namespace krafla {
namespace {

constexpr uint32_t kMatchLimitBase = 10'000'000;
constexpr uint32_t kHeapLimitKib = 256 * 1024;
constexpr size_t kJitStackStart = 32 * 1024, kJitStackMax = 1024 * 1024;

struct FreeCode {
  // The compiler keeps a chunk of executable memory for its next code: a library that is closed
  // again would leave it behind.
  void operator()(pcre2_code* p) const {
    pcre2_code_free(p);
    pcre2_jit_free_unused_memory(nullptr);
  }
};
struct FreeCompileContext {
  void operator()(pcre2_compile_context* p) const { pcre2_compile_context_free(p); }
};
struct FreeMatchContext {
  void operator()(pcre2_match_context* p) const { pcre2_match_context_free(p); }
};
struct FreeMatchData {
  void operator()(pcre2_match_data* p) const { pcre2_match_data_free(p); }
};
struct FreeJitStack {
  void operator()(pcre2_jit_stack* p) const { pcre2_jit_stack_free(p); }
};

std::string ErrorText(int code) {
  PCRE2_UCHAR buffer[128] = {};
  pcre2_get_error_message(code, buffer, sizeof(buffer));
  return reinterpret_cast<const char*>(buffer);
}

}  // namespace

struct Pattern::Impl {
  std::unique_ptr<pcre2_code, FreeCode> code;
};

struct PatternScratch::Impl {
  std::unique_ptr<pcre2_match_data, FreeMatchData> data;
  std::unique_ptr<pcre2_match_context, FreeMatchContext> context;
  std::unique_ptr<pcre2_jit_stack, FreeJitStack> jit_stack;
};

Pattern::Pattern(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Pattern::~Pattern() = default;

StatusOr<std::unique_ptr<Pattern>> Pattern::Compile(std::string_view oniguruma) {
  KRAFLA_ASSIGN_OR_RETURN(const std::string source, TranslatePattern(oniguruma));
  const std::unique_ptr<pcre2_compile_context, FreeCompileContext> context(
      pcre2_compile_context_create(nullptr));
  if (context == nullptr) return MemoryError("tokenizer: no memory for a pattern");
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  pcre2_set_parens_nest_limit(context.get(), 100);
  int error = 0;
  PCRE2_SIZE offset = 0;
  auto impl = std::make_unique<Impl>();
  impl->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(source.data()), source.size(),
                                 PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C,
                                 &error, &offset, context.get()));
  if (impl->code == nullptr) {
    if (error == PCRE2_ERROR_HEAP_FAILED) return MemoryError("tokenizer: no memory for a pattern");
    return FileError("tokenizer: pattern {}: {}", oniguruma, ErrorText(error));
  }
  // Without JIT (forbidden, or not built for this CPU) pcre2_match interprets: slower, the same
  // result.
  pcre2_jit_compile(impl->code.get(), PCRE2_JIT_COMPLETE);
  return std::unique_ptr<Pattern>(new Pattern(std::move(impl)));
}

PatternScratch::PatternScratch() : impl_(std::make_unique<Impl>()) {
  impl_->data.reset(pcre2_match_data_create(1, nullptr));
  impl_->context.reset(pcre2_match_context_create(nullptr));
  if (impl_->context != nullptr) pcre2_set_heap_limit(impl_->context.get(), kHeapLimitKib);
}
PatternScratch::~PatternScratch() = default;

StatusOr<bool> Pattern::Matches::Next(size_t* begin, size_t* end) {
  PatternScratch::Impl& scratch = *scratch_->impl_;
  if (scratch.data == nullptr || scratch.context == nullptr) {
    return MemoryError("tokenizer: no memory to match a pattern");
  }
  const auto subject = reinterpret_cast<PCRE2_SPTR>(text_.data() == nullptr ? "" : text_.data());
  const uint64_t steps = kMatchLimitBase + uint64_t{64} * text_.size();
  pcre2_set_match_limit(scratch.context.get(),
                        static_cast<uint32_t>(std::min<uint64_t>(steps, UINT32_MAX)));
  while (from_ <= text_.size()) {
    pcre2_code* code = pattern_.impl_->code.get();
    int rc = pcre2_match(code, subject, text_.size(), from_, PCRE2_NO_UTF_CHECK, scratch.data.get(),
                         scratch.context.get());
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT && scratch.jit_stack == nullptr) {
      scratch.jit_stack.reset(pcre2_jit_stack_create(kJitStackStart, kJitStackMax, nullptr));
      if (scratch.jit_stack != nullptr) {
        pcre2_jit_stack_assign(scratch.context.get(), nullptr, scratch.jit_stack.get());
        continue;
      }
    }
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT) {
      rc = pcre2_match(code, subject, text_.size(), from_, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                       scratch.data.get(), scratch.context.get());
    }
    if (rc == PCRE2_ERROR_NOMATCH) break;
    if (rc == PCRE2_ERROR_NOMEMORY) return MemoryError("tokenizer: no memory to match a pattern");
    if (rc < 0) {
      return ArgumentError("tokenizer: the split pattern gave up at byte {} of a text of {}: {}",
                           from_, text_.size(), ErrorText(rc));
    }
    const PCRE2_SIZE* range = pcre2_get_ovector_pointer(scratch.data.get());
    // \K in a lookahead can make a match that ends before it starts; no tokenizer means that.
    if (range[0] > range[1] || range[0] < from_) {
      return ArgumentError("tokenizer: the split pattern matches backwards at byte {}", from_);
    }
    if (range[0] == range[1] && range[1] == last_end_) {
      // An empty match right behind the last one: try again one character later.
      do {
        ++from_;
      } while (from_ < text_.size() && (static_cast<uint8_t>(text_[from_]) & 0xC0) == 0x80);
      continue;
    }
    *begin = range[0];
    *end = from_ = last_end_ = range[1];
    return true;
  }
  from_ = text_.size() + 1;
  return false;
}

}  // namespace krafla
