// Turns of ml_run's chat that come to nothing: interrupted ones, refused ones, empty replies. The
// conversation stays what it was, and the next turn works.
#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/capi/fixture.h"
#include "tests/support/catch.h"
#include "tools/interrupt.h"
#include "tools/run/chat.h"

namespace krafla::tools {
namespace {

TalkArgs TinyArgs() {
  InstallInterrupt();
  TalkArgs args;
  args.model.model = test::TinyModelPath();
  args.model.threads = 1;
  args.system = "Be kind";
  args.has_system = true;
  args.max_tokens = 6;
  return args;
}

nlohmann::json Said(const Talk& talk) { return nlohmann::json::parse(talk.Messages()); }

// A Ctrl-C that comes as a turn begins.
void InterruptedTurn(Talk& talk, const std::string& line) {
  std::raise(SIGINT);
  Turn(talk, line);
  CHECK(Interrupted());
  ClearInterrupt();
}

TEST_CASE("an interrupted turn leaves the conversation") {
  Talk talk;
  REQUIRE(talk.Open(TinyArgs()) == kExitOk);
  const auto nothing = Said(talk);
  InterruptedTurn(talk, "In the beginning");
  CHECK(Said(talk) == nothing);
  Turn(talk, "/regen");  // there is no message
  CHECK(Said(talk) == nothing);

  Turn(talk, "In the beginning");
  const auto one = Said(talk);
  REQUIRE(one.size() == 3);
  for (int i = 0; i < 3; ++i) {
    InterruptedTurn(talk, "/regen");
    CHECK(Said(talk) == one);
  }
  Turn(talk, "/regen");  // greedy: the same words
  CHECK(Said(talk) == one);

  InterruptedTurn(talk, "and then");
  CHECK(Said(talk) == one);
  Turn(talk, "and then");
  auto two = Said(talk);
  REQUIRE(two.size() == 5);
  two.erase(4);
  two.erase(3);
  CHECK(two == one);
}

TEST_CASE("a reply is not lost to one that fails or is empty") {
  Talk first;
  REQUIRE(first.Open(TinyArgs()) == kExitOk);
  Turn(first, "In the beginning");
  const auto one = Said(first);
  REQUIRE(one.size() == 3);

  TalkArgs refuses = TinyArgs();
  refuses.model.context = 16;
  TalkArgs ends = TinyArgs();
  ends.sampler.biases = {"2+1000"};  // the token that ends a reply
  for (const TalkArgs& args : {refuses, ends}) {
    Talk talk;
    REQUIRE(talk.Open(args) == kExitOk);
    talk.SetMessages(one.dump());
    Turn(talk, "/regen");
    CHECK(Said(talk) == one);
  }
}

TEST_CASE("without a template a line is the whole prompt") {
  TalkArgs args = TinyArgs();
  args.chat = "none";
  args.has_system = false;
  Talk talk;
  REQUIRE(talk.Open(args) == kExitOk);
  CHECK_FALSE(talk.TakeBackReply());
  Turn(talk, "In the beginning");
  InterruptedTurn(talk, "and then");
  CHECK(talk.Messages() == "In the beginning");
  Turn(talk, "/regen");
  Turn(talk, "and then");
  CHECK(talk.Messages() == "and then");
  Turn(talk, "/clear");
  CHECK_FALSE(talk.TakeBackReply());
}

}  // namespace
}  // namespace krafla::tools
