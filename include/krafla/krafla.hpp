// Krafla for C++17: move-only owners over the C ABI of krafla.h, errors as krafla::Error.
// Header-only, so that only the C ABI lies between a program and the library.
//
//   krafla::Model model = krafla::Model::Open("smollm2.mlb");
//   krafla::Tokenizer tokenizer(model);
//   krafla::Session session(model);
//   session.Append(tokenizer.Encode("Once upon a time"));
//   krafla::Sampler greedy;
//   for (const krafla::Token& token : krafla::Tokens(session, greedy)) std::cout << token.text;
#ifndef KRAFLA_KRAFLA_HPP_
#define KRAFLA_KRAFLA_HPP_

#include "krafla/chat.hpp"
#include "krafla/constraint.hpp"
#include "krafla/error.hpp"
#include "krafla/model.hpp"
#include "krafla/residency.hpp"
#include "krafla/sampler.hpp"
#include "krafla/scheduler.hpp"
#include "krafla/session.hpp"
#include "krafla/tokenizer.hpp"
#include "krafla/tokens.hpp"

#endif  // KRAFLA_KRAFLA_HPP_
