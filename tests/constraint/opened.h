// Vocabularies and constraints for the tests of this folder: from a tokenizer of the test data, or
// from a model file that KRAFLA_TEST_MODEL names.
#ifndef KRAFLA_TESTS_CONSTRAINT_OPENED_H_
#define KRAFLA_TESTS_CONSTRAINT_OPENED_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/constraint/constraint.h"

namespace krafla::test {

// kjv: a small byte-level BPE.
std::shared_ptr<const Vocabulary> SmallVocabulary();

std::shared_ptr<const Constraint> Compile(const StatusOr<Grammar>& grammar,
                                          std::shared_ptr<const Vocabulary> vocabulary);
ConstraintState Start(std::shared_ptr<const Constraint> constraint);

// Whether the whole text is what the constraint wants, byte by byte.
bool Matches(const std::shared_ptr<const Constraint>& constraint, std::string_view text);
bool Matches(const StatusOr<Grammar>& grammar, std::string_view text);

// Each token walked alone.
std::vector<uint32_t> MaskByTokens(const ConstraintState& state);
std::vector<uint32_t> MaskOf(const ConstraintState& state);

}  // namespace krafla::test

#endif  // KRAFLA_TESTS_CONSTRAINT_OPENED_H_
