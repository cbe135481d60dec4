// KV pages: reference counts, copy on write, growth, budgets; recurrent state's two copies.
#include "lib/model/state.h"

#include <algorithm>
#include <cstring>

#include "tests/support/catch.h"

namespace krafla {
namespace {

const KvShape kShape = {KvType::kF32, 2, 1, 4};

TEST_CASE("pages have room for every layer and head") {
  CHECK(kShape.k_bytes() == 32 * 4 * 4);
  CHECK(kShape.v_bytes() == 32 * 4 * 4);
  CHECK(kShape.page_bytes() == 2 * 2 * 512);
  CHECK(kShape.v_offset(1, 0) == 3 * 512);
  CHECK(PagesFor(0) == 0);
  CHECK(PagesFor(32) == 1);
  CHECK(PagesFor(33) == 2);
}

TEST_CASE("the reserve is taken at once, the rest in slabs up to the context") {
  Memory memory({}, kNoBudget);
  {
    auto state = State::Create(memory, kShape, 0, 320, 320, 64);
    REQUIRE(state.ok());
    CHECK(memory.used(MemoryKind::kKv) == 10 * kShape.page_bytes());
    REQUIRE(state->Prepare(0, 320).ok());
    CHECK(memory.used(MemoryKind::kKv) == 10 * kShape.page_bytes());
    CHECK(state->held_bytes() == 10 * kShape.page_bytes());
  }
  CHECK(memory.used() == 0);
  auto state = State::Create(memory, kShape, 0, 320, 0, 64);
  REQUIRE(state.ok());
  CHECK(memory.used() == 0);
  REQUIRE(state->Prepare(0, 1).ok());
  CHECK(memory.used() == 8 * kShape.page_bytes());
  REQUIRE(state->Prepare(1, 319).ok());
  CHECK(memory.used() == 10 * kShape.page_bytes());
}

TEST_CASE("a fork copies at most one page") {
  Memory memory({}, kNoBudget);
  auto parent = State::Create(memory, kShape, 0, 320, 0, 64);
  REQUIRE(parent.ok());
  REQUIRE(parent->Prepare(0, 40).ok());
  std::memset(parent->page(0), 1, kShape.page_bytes());
  std::memset(parent->page(1), 2, kShape.page_bytes());
  auto fork = parent->Fork(40, 0);
  REQUIRE(fork.ok());
  CHECK(fork->page(0) == parent->page(0));
  CHECK(fork->page(1) == parent->page(1));
  REQUIRE(fork->Prepare(40, 1).ok());
  CHECK(fork->page(0) == parent->page(0));
  REQUIRE(fork->page(1) != parent->page(1));
  CHECK(std::memcmp(fork->page(1), parent->page(1), kShape.page_bytes()) == 0);

  SECTION("the parent writes in place once the fork has its own") {
    const std::byte* page = parent->page(1);
    REQUIRE(parent->Prepare(40, 1).ok());
    CHECK(parent->page(1) == page);
  }
  SECTION("pages outlive the session that made them") {
    *parent = State();
    CHECK(fork->page(0)[0] == std::byte{1});
    *fork = State();
    CHECK(memory.used() == 0);
  }
  SECTION("a cut into a shared page copies it") {
    fork->Cut(20);
    REQUIRE(fork->Prepare(20, 1).ok());
    CHECK(fork->page(0) != parent->page(0));
    CHECK(fork->page(0)[5] == std::byte{1});
  }
}

TEST_CASE("a refused growth leaves the state as it was") {
  Memory memory({}, 9 * kShape.page_bytes());
  auto state = State::Create(memory, kShape, 0, 3200, 0, 64);
  REQUIRE(state.ok());
  REQUIRE(state->Prepare(0, 40).ok());
  const Status status = state->Prepare(40, 1000);
  CHECK(status.code() == absl::StatusCode::kPermissionDenied);
  CHECK(state->held_bytes() == 2 * kShape.page_bytes());
  CHECK(state->Prepare(40, 8 * 32 - 40).ok());
}

TEST_CASE("quantised pages take the bits that they are named for") {
  struct Bits {
    KvType type;
    double bits;
  };
  for (const Bits& want :
       {Bits{KvType::kF32, 32}, Bits{KvType::kF16, 16}, Bits{KvType::kQ8, 8.5},
        Bits{KvType::kK8V4, 6.5}, Bits{KvType::kK6V6, 6.75}, Bits{KvType::kK4V4, 4.75}}) {
    const KvShape shape = {want.type, 3, 2, 64};
    CHECK(static_cast<double>(shape.page_bytes()) * 8 == want.bits * 3 * 2 * 64 * 32 * 2);
    CHECK(shape.open_bytes() == (shape.quantised() ? 3 * 2 * 64 * 32 * 2 : 0));
  }
}

TEST_CASE("open companions: of the first page, the last, and those in work") {
  Memory memory({}, kNoBudget);
  const KvShape shape = {KvType::kK4V4, 2, 1, 32};
  {
    auto state = State::Create(memory, shape, 0, 640, 640, 64);
    REQUIRE(state.ok());
    CHECK(memory.used(MemoryKind::kKv) == KvBytes(shape, 640, 64));
    CHECK(KvBytes(shape, 640, 64) == 20 * shape.page_bytes() + 6 * shape.open_bytes());
    const auto held = [&](uint64_t pages, uint64_t open) {
      return state->held_bytes() == pages * shape.page_bytes() + open * shape.open_bytes();
    };
    REQUIRE(state->Prepare(0, 200).ok());
    for (const int64_t at : {0, 64, 128, 192}) {
      state->BeginPass(at, std::min<int64_t>(64, 200 - at));
      state->PassDone();
    }
    state->Commit();
    state->Cut(200);
    CHECK(held(7, 2));  // pages 0 and 6
    CHECK(state->Anchor(20) == 20);
    CHECK(state->Anchor(100) == 96);
    CHECK(state->Anchor(193) == 193);
    CHECK(memory.used(MemoryKind::kKv) == KvBytes(shape, 640, 64));

    auto fork = state->Fork(200, 0);
    REQUIRE(fork.ok());
    CHECK(fork->open(6) == state->open(6));
    REQUIRE(fork->Prepare(200, 1).ok());
    fork->BeginPass(200, 1);
    CHECK(fork->open(6) != state->open(6));
    CHECK(fork->open(0) == state->open(0));
    fork->PassDone();
    fork->Drop();
    fork->Cut(200);
    CHECK(fork->Anchor(199) == 199);
    *state = State();
    REQUIRE(fork->Prepare(201, 300).ok());
  }
  CHECK(memory.used() == 0);
}

TEST_CASE("recurrent state is written to B and committed by a swap") {
  Memory memory({}, kNoBudget);
  auto state = State::Create(memory, kShape, 64, 320, 0, 64);
  REQUIRE(state.ok());
  CHECK(memory.used(MemoryKind::kState) == 128);
  std::byte* b = state->recurrent_out();
  const std::byte* a = state->recurrent_in();
  CHECK(a != b);
  std::memset(b, 7, 64);
  state->PassDone();
  CHECK(state->recurrent_in() == b);
  CHECK(state->recurrent_out() == b);
  state->Drop();
  CHECK(state->recurrent_in() == a);
  state->PassDone();
  state->Commit();
  CHECK(state->recurrent_in() == b);
  CHECK(state->recurrent_out() == a);
  auto fork = state->Fork(0, 0);
  REQUIRE(fork.ok());
  CHECK(std::memcmp(fork->recurrent_in(), b, 64) == 0);
}

}  // namespace
}  // namespace krafla
