// One small .mlb opened in every way: the same bytes each time, in place where they can be, counted
// where not; wrong shapes, refusals, failing reads and stopped loads leave nothing behind.
#include "lib/weights/weights.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "lib/file/mlb_writer.h"
#include "tests/support/catch.h"
#include "tests/support/temp_folder.h"

namespace krafla {
namespace {

constexpr uint64_t kBigRows = 1600;  // f32: 10.24 MB, several steps
constexpr uint64_t kBigCols = 1600;

std::string Bytes(uint64_t n, unsigned seed) {
  std::minstd_rand random(seed);
  std::string bytes(n, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random() >> 8);
  return bytes;
}

// The file, and for each tensor the bytes that it must have.
class Fixture {
 public:
  Fixture() {
    const auto matrix = [](const char* name, Format format, uint64_t rows, uint64_t cols) {
      return MlbWriter::TensorDecl{name, static_cast<uint32_t>(format), kLayoutTiles, {rows, cols}};
    };
    std::vector<MlbWriter::TensorDecl> decls = {
        matrix("q8", Format::kQ8, 33, 70), matrix("q4", Format::kQ4, 16, 32),
        matrix("f16", Format::kF16, 1, 1), matrix("bf16", Format::kBF16, 17, 5),
        matrix("big", Format::kF32, kBigRows, kBigCols)};
    decls.push_back({"norm", 0, kLayoutPlain, {13}});
    MlbWriter writer;
    for (const auto& decl : decls) REQUIRE(writer.AddTensor(decl).ok());
    const std::vector<MlbWriter::TensorDecl> experts = {
        {"gate", static_cast<uint32_t>(Format::kQ8), kLayoutTiles, {3, 16, 32}},
        {"up", static_cast<uint32_t>(Format::kQ4), kLayoutTiles, {3, 20, 32}}};
    REQUIRE(writer.AddExperts(experts).ok());
    decls.insert(decls.end(), experts.begin(), experts.end());
    REQUIRE(writer.Begin(path()).ok());
    for (size_t i = 0; i < decls.size(); ++i) {
      const uint64_t slices = decls[i].dims[2] != 0 ? decls[i].dims[0] : 1;
      const auto slice = MlbTensorSliceBytes(decls[i].type, decls[i].layout, decls[i].dims);
      REQUIRE(slice.ok());
      const std::string bytes = Bytes(*slice * slices, static_cast<unsigned>(i) + 1);
      REQUIRE(writer.Write(i, bytes.data(), bytes.size()).ok());
      tensors[decls[i].name] = bytes;
      total += bytes.size();
    }
    REQUIRE(writer.Finish().ok());
    std::ifstream in(path(), std::ios::binary);
    content.assign(std::istreambuf_iterator<char>(in), {});
  }
  std::string path() const { return folder_ / "small.mlb"; }

  std::map<std::string, std::string> tensors;
  std::string content;
  uint64_t total = 0;

 private:
  TempFolder folder_;
};

const Fixture& File() {
  static const Fixture fixture;
  return fixture;
}

std::shared_ptr<Runtime> MakeRuntime(uint64_t budget = kNoBudget, HostAllocator allocator = {}) {
  RuntimeOptions options;
  options.threads.threads = 1;
  options.budget = budget;
  options.allocator = allocator;
  auto runtime = Runtime::Create(options);
  REQUIRE(runtime.ok());
  return *runtime;
}

StatusOr<std::unique_ptr<Weights>> Load(std::shared_ptr<Runtime> runtime,
                                        std::unique_ptr<FileSource> source,
                                        LoadProgress progress = nullptr, void* user = nullptr) {
  auto file = MlbFile::Open(std::move(source));
  REQUIRE(file.ok());
  return Weights::Load(std::move(runtime), *std::move(file), progress, user);
}

std::unique_ptr<FileSource> Reading() { return *OpenForReading(File().path()); }

int ReadFromContent(void* user, uint64_t offset, void* out, size_t n) {
  if (user != nullptr && offset + n > *static_cast<uint64_t*>(user)) return 7;
  std::memcpy(out, File().content.data() + offset, n);
  return 0;
}

bool Same(const void* data, const std::string& name) {
  const std::string& bytes = File().tensors.at(name);
  return reinterpret_cast<uintptr_t>(data) % 64 == 0 &&
         std::memcmp(data, bytes.data(), bytes.size()) == 0;
}

void CheckContent(const Weights& weights) {
  struct Want {
    const char* name;
    Format format;
    size_t rows, cols;
  };
  for (const Want& want : {Want{"q8", Format::kQ8, 33, 70}, Want{"q4", Format::kQ4, 16, 32},
                           Want{"f16", Format::kF16, 1, 1}, Want{"bf16", Format::kBF16, 17, 5},
                           Want{"big", Format::kF32, kBigRows, kBigCols}}) {
    CAPTURE(want.name);
    const auto m = weights.FindMatrix(want.name, want.rows, want.cols);
    REQUIRE(m.ok());
    REQUIRE(m->format == want.format);
    REQUIRE(m->rows == want.rows);
    REQUIRE(m->cols == want.cols);
    REQUIRE(Same(m->tiles, want.name));
  }
  const auto norm = weights.FindVector("norm", 13);
  REQUIRE(norm.ok());
  REQUIRE(norm->size == 13);
  REQUIRE(Same(norm->data, "norm"));
}

// The file's content at an address of the given remainder modulo 64.
struct Shifted {
  std::vector<char> memory;
  char* data;
  explicit Shifted(size_t shift) : memory(File().content.size() + 128) {
    data = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64 + shift;
    std::memcpy(data, File().content.data(), File().content.size());
  }
};

TEST_CASE("mapped and aligned host memory are used in place") {
  const auto runtime = MakeRuntime(0);
  SECTION("mapped") {
    const auto weights = Load(runtime, *OpenMapped(File().path()));
    REQUIRE(weights.ok());
    CheckContent(**weights);
  }
  SECTION("memory") {
    const Shifted host(0);
    const auto weights = Load(runtime, OpenMemory(host.data, File().content.size()));
    REQUIRE(weights.ok());
    CheckContent(**weights);
    const std::byte* tiles =
        static_cast<const std::byte*>((*weights)->FindMatrix("q4", 16, 32)->tiles);
    REQUIRE(tiles > reinterpret_cast<std::byte*>(host.data));
    REQUIRE(tiles < reinterpret_cast<std::byte*>(host.data) + File().content.size());
  }
  REQUIRE(runtime->memory().peak() == 0);
}

TEST_CASE("read, called back and badly aligned memory give the same bytes, counted as weights") {
  const auto runtime = MakeRuntime();
  const Shifted host(4);
  StatusOr<std::unique_ptr<Weights>> weights = InternalError("not loaded");
  SECTION("read") { weights = Load(runtime, Reading()); }
  SECTION("callback") {
    weights = Load(runtime, OpenCallback(ReadFromContent, nullptr, File().content.size()));
  }
  SECTION("memory") { weights = Load(runtime, OpenMemory(host.data, File().content.size())); }
  REQUIRE(weights.ok());
  CheckContent(**weights);
  REQUIRE(runtime->memory().used(MemoryKind::kWeights) == Weights::ReadBytes((*weights)->file()));
  REQUIRE(runtime->memory().used(MemoryKind::kWeights) >= File().total);
  weights->reset();
  REQUIRE(runtime->memory().used() == 0);
}

TEST_CASE("a tensor that is not the wanted one is named with both shapes") {
  const auto weights = Load(MakeRuntime(), *OpenMapped(File().path()));
  REQUIRE(weights.ok());
  const std::string file = File().path() + ": ";
  const auto matrix_error = [&](const char* name, size_t rows, size_t cols) {
    const Status status = (*weights)->FindMatrix(name, rows, cols).status();
    REQUIRE(status.code() == absl::StatusCode::kDataLoss);
    return std::string(Message(status));
  };
  const auto vector_error = [&](const char* name, size_t size) {
    const Status status = (*weights)->FindVector(name, size).status();
    REQUIRE(status.code() == absl::StatusCode::kDataLoss);
    return std::string(Message(status));
  };
  REQUIRE(matrix_error("q8", 33, 71) == file + "tensor q8: 33x70, want 33x71");
  REQUIRE(matrix_error("q8", 48, 70) == file + "tensor q8: 33x70, want 48x70");
  REQUIRE(matrix_error("wq", 4, 5) == file + "tensor wq: absent, want 4x5");
  REQUIRE(matrix_error("norm", 13, 1) == file + "tensor norm: 13, want 13x1");
  REQUIRE(matrix_error("norm", 13, 0) == file + "tensor norm: layout id 0, want 1");
  REQUIRE(matrix_error("gate", 16, 32) == file + "tensor gate: 3x16x32, want 16x32");
  REQUIRE(vector_error("norm", 12) == file + "tensor norm: 13, want 12");
  REQUIRE(vector_error("f16", 1) == file + "tensor f16: 1x1, want 1");
  REQUIRE(vector_error("bias", 8) == file + "tensor bias: absent, want 8");
}

TEST_CASE("a budget that does not hold the weights refuses before anything is read") {
  const uint64_t need = Weights::ReadBytes(**MlbFile::Open(Reading()));
  const auto runtime = MakeRuntime(need - 1);
  uint64_t header_only = 0;
  header_only = File().content.size() - File().total;  // no tensor byte may be asked for
  const auto weights =
      Load(runtime, OpenCallback(ReadFromContent, &header_only, File().content.size()));
  REQUIRE(Message(weights.status()) == "budget: weights of callback: need " + std::to_string(need) +
                                           " bytes, " + std::to_string(need - 1) + " of " +
                                           std::to_string(need - 1) + " left");
  REQUIRE(runtime->memory().peak() == 0);
  REQUIRE(Load(MakeRuntime(need), Reading()).ok());
}

TEST_CASE("every allocation may fail") {
  struct Host {
    int calls = 0;
    int fail_at = -1;
    int live = 0;
  };
  const auto allocate = [](void* user, size_t bytes, size_t alignment) -> void* {
    Host& host = *static_cast<Host*>(user);
    if (host.calls++ == host.fail_at) return nullptr;
    ++host.live;
    return ::operator new (bytes, std::align_val_t{alignment}, std::nothrow);
  };
  const auto release = [](void* user, void* data, size_t, size_t alignment) {
    --static_cast<Host*>(user)->live;
    ::operator delete (data, std::align_val_t{alignment});
  };
  const int n = 1;  // one buffer for all tensors
  for (int fail_at = 0; fail_at <= n; ++fail_at) {
    Host host{0, fail_at, 0};
    const auto runtime = MakeRuntime(kNoBudget, {allocate, release, &host});
    {
      const auto weights = Load(runtime, Reading());
      REQUIRE(weights.ok() == (fail_at == n));
      if (fail_at < n) {
        REQUIRE(weights.status().code() == absl::StatusCode::kResourceExhausted);
        REQUIRE(host.live == 0);
      }
    }
    REQUIRE(host.live == 0);
    REQUIRE(runtime->memory().used() == 0);
  }
}

struct Watch {
  uint64_t stop_at = UINT64_MAX;
  std::vector<uint64_t> done;
  uint64_t total = 0;
  static int Report(void* user, uint64_t done, uint64_t total) {
    Watch& self = *static_cast<Watch*>(user);
    self.done.push_back(done);
    self.total = total;
    return done >= self.stop_at;
  }
};

TEST_CASE("progress comes in small steps and ends at the total") {
  Watch watch;
  SECTION("read") {
    REQUIRE(Load(MakeRuntime(), Reading(), Watch::Report, &watch).ok());
    REQUIRE(watch.done.front() == 0);
    for (size_t i = 1; i < watch.done.size(); ++i) {
      REQUIRE(watch.done[i] > watch.done[i - 1]);
      REQUIRE(watch.done[i] - watch.done[i - 1] <= uint64_t{4} << 20);
    }
  }
  SECTION("in place") {
    REQUIRE(Load(MakeRuntime(), *OpenMapped(File().path()), Watch::Report, &watch).ok());
    REQUIRE(watch.done.size() == 1);
  }
  REQUIRE(watch.done.back() == File().total);
  REQUIRE(watch.total == File().total);
}

TEST_CASE("progress can stop a load at any step") {
  Watch all;
  REQUIRE(Load(MakeRuntime(), Reading(), Watch::Report, &all).ok());
  for (uint64_t stop_at : all.done) {
    const auto runtime = MakeRuntime();
    Watch watch;
    watch.stop_at = stop_at;
    const auto weights = Load(runtime, Reading(), Watch::Report, &watch);
    REQUIRE(weights.status().code() == absl::StatusCode::kAborted);
    REQUIRE(Message(weights.status()).starts_with("load: stopped by the progress callback at "));
    REQUIRE(watch.done.back() == stop_at);
    REQUIRE(runtime->memory().used() == 0);
  }
  Watch watch;
  watch.stop_at = 0;
  REQUIRE(Load(MakeRuntime(), *OpenMapped(File().path()), Watch::Report, &watch).status().code() ==
          absl::StatusCode::kAborted);
}

TEST_CASE("a failing read is an error and frees what was read") {
  const auto runtime = MakeRuntime();
  uint64_t readable = File().content.size() / 2;
  const auto weights =
      Load(runtime, OpenCallback(ReadFromContent, &readable, File().content.size()));
  REQUIRE(weights.status().code() == absl::StatusCode::kUnavailable);
  REQUIRE(runtime->memory().used() == 0);
}

}  // namespace
}  // namespace krafla
