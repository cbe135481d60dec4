// Tensors with one stride whose slices lie within one stride are the matrices of one layer.
#include "lib/weights/residency/expert_layout.h"

#include <algorithm>
#include <numeric>

namespace krafla {
namespace {

std::string LayerName(std::string_view tensor) {
  return std::string(tensor.substr(0, std::min(tensor.rfind('.'), tensor.size())));
}

}  // namespace

ExpertLayout::ExpertLayout(const MlbFile& file) : places(file.tensors().size()) {
  const std::span<const MlbTensor> tensors = file.tensors();
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
  for (const ExpertLayer& layer : layers) {
    expert_bytes += layer.bytes * layer.experts;
    largest = std::max(largest, layer.bytes);
    n_experts += layer.experts;
  }
}

}  // namespace krafla
