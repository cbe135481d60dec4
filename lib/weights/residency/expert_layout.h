// Where the experts of a file lie: the matrices of one expert of one layer (gate, up, down)
// together, so that one read brings all of them. Of a model without experts each layer counts as
// one of one expert, which is all of the layer's matrices.
#ifndef KRAFLA_LIB_WEIGHTS_RESIDENCY_EXPERT_LAYOUT_H_
#define KRAFLA_LIB_WEIGHTS_RESIDENCY_EXPERT_LAYOUT_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/file/mlb.h"

namespace krafla {

struct ExpertLayer {
  std::string name;     // "layers.3.experts"; of whole layers "layers.3"
  uint64_t offset = 0;  // in the file, of expert 0
  uint64_t stride = 0;  // from one expert to the next
  uint64_t bytes = 0;   // of one expert
  uint32_t experts = 0;

  uint64_t offset_of(uint32_t expert) const { return offset + expert * stride; }
};

// Of a tensor: its layer (-1: not of experts), and where its matrix lies within an expert.
struct ExpertPlace {
  int32_t layer = -1;
  uint64_t in_expert = 0;
};

struct ExpertLayout {
  explicit ExpertLayout(std::span<const MlbTensor> tensors);

  bool whole_layers = false;        // then layers[i] is the model's layer i
  std::vector<ExpertLayer> layers;  // ascending offsets: the order in which a pass needs them
  std::vector<ExpertPlace> places;  // in the order of the tensors
  uint64_t expert_bytes = 0;        // of all experts of all layers
  uint64_t largest = 0;             // expert
  size_t n_experts = 0;             // of all layers

 private:
  void FindExperts(std::span<const MlbTensor> tensors);
  void FindLayers(std::span<const MlbTensor> tensors);
};

}  // namespace krafla

#endif  // KRAFLA_LIB_WEIGHTS_RESIDENCY_EXPERT_LAYOUT_H_
