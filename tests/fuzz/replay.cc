// Runs a target over each file of a folder and over seeded mutations of them: what a fuzzer would
// do with the compilers that have none. The mutations are the same on every machine.
//   fuzz_gguf FOLDER [MUTATIONS [SEED]]      FOLDER may be a single file
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/target.h"

namespace {

using Bytes = std::vector<uint8_t>;

std::vector<Bytes> ReadCorpus(const std::filesystem::path& path) {
  std::vector<std::filesystem::path> names;
  if (std::filesystem::is_directory(path)) {
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      names.push_back(entry.path());
    }
  } else {
    names.push_back(path);
  }
  std::sort(names.begin(), names.end());
  std::vector<Bytes> corpus;
  for (const auto& name : names) {
    std::ifstream in(name, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return corpus;
}

class Mutator {
 public:
  Mutator(const std::vector<Bytes>& corpus, uint64_t seed) : corpus_(corpus), random_(seed) {}

  Bytes Next() {
    Bytes bytes = corpus_[Below(corpus_.size())];
    for (uint64_t n = 1 + Below(4); n > 0; n--) Mutate(&bytes);
    return bytes;
  }

 private:
  uint64_t Below(uint64_t n) { return n == 0 ? 0 : random_() % n; }

  void Mutate(Bytes* bytes) {
    const size_t at = Below(bytes->size() + 1);
    const size_t left = bytes->size() - at;
    const auto here = bytes->begin() + static_cast<ptrdiff_t>(at);
    switch (Below(6)) {
      case 0:  // a bit
        if (left > 0) (*bytes)[at] ^= static_cast<uint8_t>(1u << Below(8));
        return;
      case 1: {  // a number
        const uint64_t numbers[] = {0, ~uint64_t{0}, random_(), uint64_t{1} << Below(64)};
        const size_t width = std::min<size_t>(left, size_t{1} << Below(4));
        std::memcpy(bytes->data() + at, &numbers[Below(4)], width);
        return;
      }
      case 2:  // a piece taken out
        bytes->erase(here, here + static_cast<ptrdiff_t>(Below(std::min<size_t>(left, 64) + 1)));
        return;
      case 3: {  // a piece of this or another file put in
        const Bytes& other = corpus_[Below(corpus_.size())];
        const size_t from = Below(other.size() + 1);
        const size_t n = Below(std::min<size_t>(other.size() - from, 64) + 1);
        const Bytes piece(other.begin() + static_cast<ptrdiff_t>(from),
                          other.begin() + static_cast<ptrdiff_t>(from + n));
        bytes->insert(here, piece.begin(), piece.end());
        return;
      }
      case 4: {  // a byte that formats care for
        constexpr char kBytes[] = "{}[]\",:\\%-0 9.eE\n|<>'\xff";
        const auto byte = static_cast<uint8_t>(kBytes[Below(sizeof kBytes)]);
        if (left > 0) (*bytes)[at] = byte;
        return;
      }
      default:  // the end cut off, rarely: little is left of most files then
        if (Below(8) == 0) bytes->resize(at);
        return;
    }
  }

  const std::vector<Bytes>& corpus_;
  std::mt19937_64 random_;
};

// In memory of its own size, so that a sanitizer sees a read beyond it.
void RunOne(const Bytes& bytes) {
  const Bytes exact(bytes);
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::vector<Bytes> corpus = ReadCorpus(argv[1]);
  const long mutations = argc > 2 ? std::strtol(argv[2], nullptr, 10) : 0;
  const uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  if (corpus.empty()) {
    std::fprintf(stderr, "%s: no files\n", argv[1]);
    return 1;
  }
  LLVMFuzzerTestOneInput(nullptr, 0);
  for (const Bytes& bytes : corpus) RunOne(bytes);
  Mutator mutator(corpus, seed);
  for (long i = 0; i < mutations; i++) RunOne(mutator.Next());
  std::printf("%zu files, %ld mutations\n", corpus.size(), mutations);
  return 0;
}
