// The smallest program in C++17: continues a text. Usage: hello_cc [MODEL.mlb]
#include <iostream>
#include <krafla/krafla.hpp>

int main(int argc, char** argv) {
  try {
    krafla::Model model =
        krafla::Model::Open(argc > 1 ? argv[1] : "models/smollm2-135m-instruct-q8.mlb");
    krafla::Session session(model);
    session.AppendText("The capital of France is");
    krafla::Sampler greedy;
    krafla_generate_options options = KRAFLA_GENERATE_OPTIONS_INIT;
    options.max_tokens = 16;
    for (const krafla::Token& token : krafla::Tokens(session, greedy, options)) {
      std::cout << token.text << std::flush;
    }
    std::cout << '\n';
  } catch (const krafla::Error& error) {
    std::cerr << error.name() << ": " << error.what() << '\n';
    return 1;
  }
}
