// Tensors with one stride whose slices lie within one stride are the matrices of one layer.
#include "lib/weights/residency/expert_layout.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string_view>

#include "lib/weights/residency/block_reader.h"

namespace krafla {
namespace {

// Bytes that are read with a layer and are none of its matrices': vectors, alignment.
constexpr uint64_t kMostBetween = 16;  // 1/16 of it
constexpr uint64_t kLeastBetween = uint64_t{64} << 10;

std::string LayerName(std::string_view tensor) {
  return std::string(tensor.substr(0, std::min(tensor.rfind('.'), tensor.size())));
}

// The number of the layer that a matrix belongs to; -1: none.
int64_t LayerOf(const MlbTensor& tensor) {
  constexpr std::string_view kPrefix = "layers.";
  const std::string_view name(tensor.name.data(), tensor.name.size());
  if (tensor.layout != kLayoutTiles || name.substr(0, kPrefix.size()) != kPrefix) return -1;
  int32_t number = -1;
  const char* end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + kPrefix.size(), end, number);
  return error == std::errc() && rest != end && *rest == '.' ? number : -1;
}

}  // namespace

ExpertLayout::ExpertLayout(std::span<const MlbTensor> tensors) : places(tensors.size()) {
  FindExperts(tensors);
  if (layers.empty()) FindLayers(tensors);
  for (const ExpertLayer& layer : layers) {
    expert_bytes += layer.bytes * layer.experts;
    largest = std::max(largest, layer.bytes);
    n_experts += layer.experts;
  }
}

// What lies between the first and the last matrix of a layer is read with them: a file whose layers
// do not each lie together has none that could be read so.
void ExpertLayout::FindLayers(std::span<const MlbTensor> tensors) {
  struct Extent {
    uint64_t begin = UINT64_MAX;
    uint64_t end = 0;
    uint64_t bytes = 0;
  };
  std::vector<Extent> extents;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const int64_t number = LayerOf(tensors[i]);
    if (number < 0) continue;
    // A number without meaning, or experts that do not lie so that they could be streamed.
    if (static_cast<size_t>(number) >= tensors.size() || tensors[i].dims[2] != 0) return;
    extents.resize(std::max(extents.size(), static_cast<size_t>(number) + 1));
    Extent& extent = extents[static_cast<size_t>(number)];
    extent.begin = std::min(extent.begin, tensors[i].offset);
    extent.end = std::max(extent.end, tensors[i].offset + tensors[i].bytes);
    extent.bytes += tensors[i].bytes;
  }
  uint64_t behind = 0;
  for (const Extent& extent : extents) {
    if (extent.bytes == 0 || extent.begin < behind) return;
    if (extent.end - extent.begin > extent.bytes + extent.bytes / kMostBetween + kLeastBetween) {
      return;
    }
    behind = extent.end;
  }
  whole_layers = !extents.empty();
  for (const Extent& extent : extents) {
    const uint64_t begin = extent.begin / kDirectAlignment * kDirectAlignment;
    const uint64_t stride = (extent.end - begin + kDirectAlignment - 1) / kDirectAlignment;
    layers.push_back({FormatText("layers.{}", layers.size()), begin, stride * kDirectAlignment,
                      extent.end - begin, 1});
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    const int64_t number = LayerOf(tensors[i]);
    if (!whole_layers || number < 0) continue;
    places[i] = {static_cast<int32_t>(number),
                 tensors[i].offset - layers[static_cast<size_t>(number)].offset};
  }
}

void ExpertLayout::FindExperts(std::span<const MlbTensor> tensors) {
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return tensors[a].offset < tensors[b].offset; });
  for (const size_t i : order) {
    const MlbTensor& tensor = tensors[i];
    if (tensor.slice_stride == 0) continue;
    const auto experts = static_cast<uint32_t>(tensor.dims[0]);
    const uint64_t slice = tensor.bytes / experts;
    const bool together = !layers.empty() && layers.back().stride == tensor.slice_stride &&
                          layers.back().experts == experts &&
                          tensor.offset + slice <= layers.back().offset + tensor.slice_stride;
    if (!together) {
      layers.push_back({LayerName(tensor.name), tensor.offset, tensor.slice_stride, 0, experts});
    }
    ExpertLayer& layer = layers.back();
    places[i] = {static_cast<int32_t>(layers.size()) - 1, tensor.offset - layer.offset};
    layer.bytes = tensor.offset + slice - layer.offset;
  }
}

}  // namespace krafla
