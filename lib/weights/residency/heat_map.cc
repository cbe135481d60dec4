// The file: "KRAFLAH\n", u32 version, u32 layers, u64 content hash of the model, for each layer u32
// experts and u32 counts, then XXH64 of all before as u64; little-endian.
#include "lib/weights/residency/heat_map.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "lib/file/checksum.h"
#include "lib/file/output_file.h"
#include "lib/file/source.h"

namespace krafla {
namespace {

constexpr uint32_t kVersion = 1;
constexpr uint32_t kMostUses = uint32_t{1} << 24;  // then all counts of the layer are halved
constexpr uint64_t kLargestFile = uint64_t{64} << 20;

constexpr std::string_view kMagic = "KRAFLAH\n";

struct Header {
  char magic[8] = {'K', 'R', 'A', 'F', 'L', 'A', 'H', '\n'};
  uint32_t version = kVersion;
  uint32_t layers = 0;
  uint64_t content_hash = 0;
};
static_assert(sizeof(Header) == 24);

}  // namespace

HeatMap::HeatMap(const ExpertLayout& layout) {
  for (const ExpertLayer& layer : layout.layers) counts_.emplace_back(layer.experts, 0U);
}

void HeatMap::Add(size_t layer, uint32_t expert, uint32_t uses) {
  uint32_t& count = counts_[layer][expert];
  count += std::min(uses, kMostUses);
  if (count < kMostUses) return;
  for (uint32_t& c : counts_[layer]) c /= 2;
}

uint32_t HeatMap::ThresholdOf(size_t layer, size_t n) const {
  if (n == 0 || n >= counts_[layer].size()) return UINT32_MAX;
  std::vector<uint32_t> sorted = counts_[layer];
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<ptrdiff_t>(n - 1), sorted.end(),
                   std::greater<>());
  return sorted[n - 1] > 1 ? sorted[n - 1] : UINT32_MAX;
}

Status HeatMap::CheckReplaces(const std::string& path) {
  return krafla::CheckReplaces(path, kMagic);
}

Status HeatMap::Load(const std::string& path, uint64_t content_hash) {
  KRAFLA_ASSIGN_OR_RETURN(const std::unique_ptr<FileSource> file, OpenForReading(path));
  if (file->size() < sizeof(Header) + sizeof(uint64_t) || file->size() > kLargestFile) {
    return FileError("{}: {} bytes, not a heat map", path, file->size());
  }
  std::vector<std::byte> bytes(static_cast<size_t>(file->size()));
  KRAFLA_RETURN_IF_ERROR(file->ReadAt(0, bytes.data(), bytes.size()));
  const size_t end = bytes.size() - sizeof(uint64_t);
  uint64_t checksum = 0;
  std::memcpy(&checksum, bytes.data() + end, sizeof(checksum));
  Header header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (std::string_view(header.magic, sizeof(header.magic)) != kMagic ||
      header.version != kVersion || checksum != ChecksumOf(bytes.data(), end)) {
    return FileError("{}: not a heat map, or a damaged one", path);
  }
  size_t want = sizeof(Header);
  for (const auto& layer : counts_) want += sizeof(uint32_t) * (1 + layer.size());
  if (header.content_hash != content_hash || header.layers != counts_.size() || want != end) {
    return FileError("{}: the heat map of another model", path);
  }
  const std::byte* at = bytes.data() + sizeof(Header);
  for (auto& layer : counts_) {
    at += sizeof(uint32_t);  // experts: the sum of sizes was right
    std::memcpy(layer.data(), at, layer.size() * sizeof(uint32_t));
    at += layer.size() * sizeof(uint32_t);
    for (uint32_t& count : layer) count = std::min(count, kMostUses - 1);
  }
  return OkStatus();
}

Status HeatMap::Save(const std::string& path, uint64_t content_hash) const {
  Header header;
  header.layers = static_cast<uint32_t>(counts_.size());
  header.content_hash = content_hash;
  std::vector<std::byte> bytes;
  const auto add = [&](const void* data, size_t n) {
    const auto* from = static_cast<const std::byte*>(data);
    bytes.insert(bytes.end(), from, from + n);
  };
  add(&header, sizeof(header));
  for (const auto& layer : counts_) {
    const auto n = static_cast<uint32_t>(layer.size());
    add(&n, sizeof(n));
    add(layer.data(), layer.size() * sizeof(uint32_t));
  }
  const uint64_t checksum = ChecksumOf(bytes.data(), bytes.size());
  add(&checksum, sizeof(checksum));
  KRAFLA_ASSIGN_OR_RETURN(const std::unique_ptr<OutputFile> out, OutputFile::Create(path, kMagic));
  KRAFLA_RETURN_IF_ERROR(out->WriteAt(0, bytes.data(), bytes.size()));
  return out->Commit();
}

}  // namespace krafla
