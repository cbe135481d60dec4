// The GGUF parser against headers that lie, are cut, or are damaged at random.
#include <cstring>
#include <functional>
#include <random>
#include <span>

#include "lib/convert/gguf.h"
#include "lib/quant/half.h"
#include "tests/convert/craft.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

Status OpenBytes(const std::string& bytes) {
  Checkpoint checkpoint;
  const auto gguf = GgufFile::Open(OpenMemory(bytes.data(), bytes.size()), &checkpoint);
  return gguf.ok() ? checkpoint.Finish() : gguf.status();
}

// What one change to a right file must be refused with.
struct Case {
  const char* message;
  std::function<void(GgufCraft*)> change;
};

void CheckRefused(std::span<const Case> cases) {
  REQUIRE(OpenBytes(LlamaGguf().Bytes()).ok());
  for (const Case& c : cases) {
    GgufCraft gguf = LlamaGguf();
    c.change(&gguf);
    const Status status = OpenBytes(gguf.Bytes());
    CAPTURE(c.message, std::string(Message(status)));
    CHECK(!status.ok());
    CHECK(Message(status).find(c.message) != std::string_view::npos);
  }
}

TEST_CASE("a GGUF's lies about tensors are refused by name", "[convert]") {
  const auto q = [](GgufCraft* f) { return f->Find("blk.1.attn_q.weight"); };
  const uint64_t max = INT64_MAX;
  const Case cases[] = {
      {"attn_q.weight: dimension 0",
       [=](GgufCraft* f) {
         q(f)->dims = {max + 1, 2};
       }},
      {"attn_q.weight: dimension 1",
       [=](GgufCraft* f) {
         q(f)->dims = {max, 2};
       }},
      {"beyond the file",
       [=](GgufCraft* f) {
         q(f)->dims = {(uint64_t{1} << 42) + 32, 1};
       }},
      {"too large",
       [=](GgufCraft* f) {
         q(f)->dims = {max / 2 / 32 * 32, 2};
       }},
      {"5 dimensions", [=](GgufCraft* f) { q(f)->n_dims = 5; }},
      {"9 dimensions", [=](GgufCraft* f) { q(f)->n_dims = 9; }},
      {"1000000 dimensions", [=](GgufCraft* f) { q(f)->n_dims = 1000000; }},
      {"4294967295 dimensions", [=](GgufCraft* f) { q(f)->n_dims = 0xFFFFFFFFu; }},
      {"blk.0.attn_q.weight comes twice",
       [=](GgufCraft* f) { q(f)->name = "blk.0.attn_q.weight"; }},
      {"attn_q.weight: type 42", [=](GgufCraft* f) { q(f)->type = 42; }},
      {"attn_q.weight: type 4 ", [=](GgufCraft* f) { q(f)->type = 4; }},
      {"attn_q.weight: type 31", [=](GgufCraft* f) { q(f)->type = 31; }},
      {"attn_q.weight: type 17 IQ2_XS", [=](GgufCraft* f) { q(f)->type = 17; }},
      {"type 4 Q4_2 (retired)", [=](GgufCraft* f) { q(f)->type = 4; }},
      {"type 5 Q4_3 (retired)", [=](GgufCraft* f) { q(f)->type = 5; }},
      {"type 33 Q4_0_8_8 (retired)", [=](GgufCraft* f) { q(f)->type = 33; }},
      {"type 4294967295", [=](GgufCraft* f) { q(f)->type = 0xFFFFFFFFu; }},
      {"has blocks of 32",
       [=](GgufCraft* f) {
         q(f)->type = 8, q(f)->dims = {31, 2};
       }},
      {"no multiple of 32", [=](GgufCraft* f) { q(f)->offset_shift = 4; }},
      {"beyond the file", [=](GgufCraft* f) { q(f)->offset_shift = int64_t{1} << 62; }},
      {"beyond the file", [=](GgufCraft* f) { q(f)->offset_shift = -int64_t{1} << 62; }},
      {"overlap", [=](GgufCraft* f) { q(f)->offset_shift = -128; }},
      {"tensor name", [=](GgufCraft* f) { q(f)->name = std::string(300, 'x'); }},
      {"empty or not UTF-8", [=](GgufCraft* f) { q(f)->name = ""; }},
  };
  CheckRefused(cases);
}

TEST_CASE("a GGUF's lies about itself and its keys are refused by name", "[convert]") {
  const Case cases[] = {
      {"not a GGUF", [](GgufCraft* f) { f->magic = "GGML"; }},
      {"version 1", [](GgufCraft* f) { f->version = 1; }},
      {"version 4", [](GgufCraft* f) { f->version = 4; }},
      {"big-endian", [](GgufCraft* f) { f->version = 3u << 24; }},
      {"limit 32768", [](GgufCraft* f) { f->extra_tensors = ~uint64_t{0} >> 1; }},
      {"limit 16384", [](GgufCraft* f) { f->extra_values = ~uint64_t{0} >> 1; }},
      {"empty or not UTF-8", [](GgufCraft* f) { f->SetU32("", 1); }},
      {"empty or not UTF-8", [](GgufCraft* f) { f->SetU32("\xff", 1); }},
      {"key a comes twice",
       [](GgufCraft* f) {
         f->SetU32("a", 1);
         f->values.push_back(f->values.back());
       }},
      {"value type 13", [](GgufCraft* f) { f->values[0].type = 13; }},
      {"general.alignment", [](GgufCraft* f) { f->SetU32("general.alignment", 0); }},
      {"general.alignment", [](GgufCraft* f) { f->SetU32("general.alignment", 24); }},
      {"general.alignment", [](GgufCraft* f) { f->SetU32("general.alignment", 1u << 31); }},
      {"general.alignment", [](GgufCraft* f) { f->SetString("general.alignment", "32"); }},
      {"elements of 4 bytes",
       [](GgufCraft* f) { f->SetArray("a", GgufType::kUint32, uint64_t{1} << 62, ""); }},
      {"strings in",
       [](GgufCraft* f) { f->SetArray("a", GgufType::kString, uint64_t{1} << 61, ""); }},
      {"an array of type 9", [](GgufCraft* f) { f->SetArray("a", GgufType::kArray, 1, ""); }},
      {"an array of type 77",
       [](GgufCraft* f) { f->SetArray("a", static_cast<GgufType>(77), 1, ""); }},
      {"string 0 of",
       [](GgufCraft* f) { f->SetArray("a", GgufType::kString, 1, std::string(8, '\x7f')); }},
      {"keys and strings of more",
       [](GgufCraft* f) {
         for (const char* key : {"a", "b"}) f->SetString(key, std::string(13 << 20, 'x'));
       }},
      {"limit", [](GgufCraft* f) { f->SetBytes("a", GgufType::kString, std::string(8, '\x7f')); }},
  };
  CheckRefused(cases);
}

TEST_CASE("a tensor of no elements loads", "[convert]") {
  GgufCraft gguf = LlamaGguf();
  gguf.Add("nothing", {0, 3}, 8, "");
  gguf.Add("scalar", {}, 0, std::string(4, '\0'));
  const std::string bytes = gguf.Bytes();
  Checkpoint checkpoint;
  REQUIRE(GgufFile::Open(OpenMemory(bytes.data(), bytes.size()), &checkpoint).ok());
  REQUIRE(checkpoint.Finish().ok());
  CHECK(checkpoint.Find("nothing")->bytes == 0);
  CHECK(checkpoint.Find("scalar")->bytes == 4);
  // 24 bytes are the smallest file there is.
  GgufCraft empty;
  CHECK(OpenBytes(empty.Bytes()).ok());
}

TEST_CASE("values keep their types", "[convert]") {
  GgufCraft gguf;
  gguf.Set("i8", GgufType::kInt8, int8_t{-5});
  gguf.Set("u16", GgufType::kUint16, uint16_t{65535});
  gguf.Set("i64", GgufType::kInt64, int64_t{-1} << 40);
  gguf.Set("u64", GgufType::kUint64, ~uint64_t{0});
  gguf.Set("f32", GgufType::kFloat32, 0.5f);
  gguf.Set("f64", GgufType::kFloat64, 0.1);
  gguf.Set("yes", GgufType::kBool, uint8_t{1});
  gguf.SetString("text", "abc");
  gguf.SetArray("strings", GgufType::kString, 2, GgufString("x") + GgufString("yz"));
  gguf.SetArray("bytes", GgufType::kInt8, 3, std::string("\x01\xff\x02", 3));
  const std::string bytes = gguf.Bytes();
  Checkpoint checkpoint;
  const auto file = GgufFile::Open(OpenMemory(bytes.data(), bytes.size()), &checkpoint);
  REQUIRE(file.ok());
  CHECK(file->Integer("i8") == -5);
  CHECK(file->Integer("u16") == 65535);
  CHECK(file->Integer("i64") == int64_t{-1} << 40);
  CHECK(!file->Integer("u64"));
  CHECK(file->Number("u64") == 0x1p64);
  CHECK(!file->Integer("f32"));
  CHECK(file->Number("f32") == 0.5);
  CHECK(file->Number("f64") == 0.1);
  CHECK(file->Bool("yes") == true);
  CHECK(!file->Integer("yes"));
  CHECK(file->String("text") == "abc");
  CHECK(!file->String("absent"));
  CHECK(file->Integer("strings.length") == 2);
  CHECK(file->Strings("strings")->at(1) == "yz");
  CHECK(file->Strings("absent")->empty());
  CHECK(file->Numbers("bytes") == std::vector<double>{1, -1, 2});
  // The right count in a narrower element type.
  CHECK(Message(file->Int32s("bytes").status()).find("want an ARRAY of INT32") !=
        std::string_view::npos);
  CHECK(!file->Strings("bytes").ok());
  CHECK(!file->Floats("strings").ok());
}

TEST_CASE("a GGUF cut anywhere is an error", "[convert]") {
  const std::string bytes = LlamaGguf(8).Bytes();
  for (size_t n = 0; n < bytes.size(); n += n < 3000 ? 1 : 4096) {
    const std::string cut = bytes.substr(0, n);
    REQUIRE(!OpenBytes(cut).ok());
  }
}

TEST_CASE("random damage to a GGUF never does worse than an error", "[convert]") {
  GgufCraft gguf = LlamaGguf();
  gguf.SetArray("tokenizer.ggml.tokens", GgufType::kString, 2, GgufString("x") + GgufString("yz"));
  const std::string good = gguf.Bytes();
  const size_t header_bytes = 2400;
  std::mt19937_64 random(3);
  size_t refused = 0;
  for (int i = 0; i < 2000; i++) {
    std::string bad = good;
    for (uint64_t n = random() % 4 + 1; n > 0; n--) {
      const uint64_t values[] = {0, ~uint64_t{0}, random(), uint64_t{1} << (random() % 64)};
      std::memcpy(&bad[random() % header_bytes], &values[random() % 4],
                  size_t{1} << (random() % 4));
    }
    Checkpoint checkpoint;
    const auto file = GgufFile::Open(OpenMemory(bad.data(), bad.size()), &checkpoint);
    if (file.ok() && checkpoint.Finish().ok()) {
      (void)file->Strings("tokenizer.ggml.tokens");
      for (const CheckpointTensor& tensor : checkpoint.tensors()) {
        if (tensor.bytes == 0) continue;
        std::vector<char> raw(tensor.row_bytes());
        std::vector<float> row(tensor.cols());
        REQUIRE(ReadRawRows(tensor, 0, 1, raw.data()).ok());
        DecodeRows(tensor, raw.data(), 1, row.data());
      }
    } else {
      refused++;
    }
  }
  CHECK(refused > 500);
}

TEST_CASE("block types decode", "[convert]") {
  CheckpointTensor tensor;
  tensor.shape = {1, 32};
  std::string raw;
  AppendRaw(&raw, F32ToF16(0.5f));
  AppendRaw(&raw, F32ToF16(-1.0f));
  for (int i = 0; i < 16; i++) raw.push_back(static_cast<char>(i | ((15 - i) << 4)));
  std::vector<float> x(32);
  tensor.type = SourceType::kQ4_1;
  DecodeRows(tensor, raw.data(), 1, x.data());
  CHECK(x[3] == 0.5f * 3 - 1);
  CHECK(x[16 + 3] == 0.5f * 12 - 1);
  tensor.type = SourceType::kQ4_0;
  raw.erase(2, 2);
  DecodeRows(tensor, raw.data(), 1, x.data());
  CHECK(x[3] == 0.5f * (3 - 8));
  CHECK(x[16 + 3] == 0.5f * (12 - 8));
}

}  // namespace
}  // namespace krafla
