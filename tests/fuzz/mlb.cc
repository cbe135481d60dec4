// A .mlb or .mlt as `ml_convert check` reads it. The header's checksum is put right first: it finds
// damage, and would hide everything behind it from a fuzzer.
#include "lib/file/mlb.h"

#include <cstring>
#include <vector>

#include "lib/convert/convert.h"
#include "lib/file/checksum.h"
#include "lib/file/mlb_layout.h"
#include "tests/fuzz/target.h"

namespace {

void MendChecksum(std::vector<uint8_t>* bytes) {
  krafla::mlb::Header header;
  if (bytes->size() < sizeof header) return;
  std::memcpy(&header, bytes->data(), sizeof header);
  if (header.header_bytes > bytes->size() || header.header_bytes < sizeof header) return;
  header.file_bytes = bytes->size();
  header.checksum = 0;
  std::memcpy(bytes->data(), &header, sizeof header);
  header.checksum = krafla::ChecksumOf(bytes->data(), header.header_bytes);
  std::memcpy(bytes->data(), &header, sizeof header);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace krafla;  // NOLINT: one function
  std::vector<uint8_t> bytes(data, data + size);
  MendChecksum(&bytes);
  auto file = MlbFile::Open(OpenMemory(bytes.data(), bytes.size()));
  if (!file.ok()) return 0;
  for (const MlbTensor& tensor : (*file)->tensors()) {
    KRAFLA_MUST(tensor.offset + tensor.bytes <= bytes.size());
    KRAFLA_MUST((*file)->Tensor(tensor.name) == &tensor);
  }
  for (const MlbSection& section : (*file)->sections()) {
    const auto read = (*file)->Section(section.name);
    KRAFLA_MUST(read.ok() && read->size() == section.bytes);
  }
  (void)(*file)->VerifyChecksums(nullptr, nullptr);
  (void)CheckSource(OpenMemory(bytes.data(), bytes.size()), nullptr, nullptr);
  return 0;
}
