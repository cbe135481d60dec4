// Krafla for C++17: move-only owners over the C ABI of krafla.h, errors as krafla::Error.
// Header-only, so that only the C ABI lies between a program and the library.
//
//   krafla::Model model = krafla::Model::Open("smollm2.mlb");
//   krafla::Tokenizer tokenizer(model);
//   krafla::Session session(model);
//   session.Append(tokenizer.Encode("Once upon a time"));
//   krafla::Sampler greedy;
//   session.Generate(greedy, KRAFLA_GENERATE_OPTIONS_INIT, [](const krafla_token& token) {
//     std::fwrite(token.text, 1, token.text_length, stdout);
//     return true;
//   });
#ifndef KRAFLA_KRAFLA_HPP_
#define KRAFLA_KRAFLA_HPP_

#include "krafla/error.hpp"
#include "krafla/model.hpp"
#include "krafla/sampler.hpp"
#include "krafla/session.hpp"
#include "krafla/tokenizer.hpp"

#endif  // KRAFLA_KRAFLA_HPP_
