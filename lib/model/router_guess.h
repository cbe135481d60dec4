// What the router of the next layer with experts would choose from the residual stream as it is
// now, before this layer's experts have added their part: mostly what it will choose. Good for
// reading ahead, never for results.
#ifndef KRAFLA_LIB_MODEL_ROUTER_GUESS_H_
#define KRAFLA_LIB_MODEL_ROUTER_GUESS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/weights/weights.h"

namespace krafla {

class RouterGuess {
 public:
  // layer: of the Residency's layout. bias: of the choice, may be empty.
  RouterGuess(size_t layer, Vector norm, float eps, const Matrix& router, Vector bias,
              size_t n_used)
      : layer_(layer), norm_(norm), eps_(eps), router_(router), bias_(bias), n_used_(n_used) {}

  size_t layer() const { return layer_; }
  // Appends the experts of one row that are not among `experts` yet.
  void Choose(const float* x, std::vector<float>* scratch, std::vector<uint32_t>* experts) const;

 private:
  const size_t layer_;
  const Vector norm_;
  const float eps_;
  const Matrix router_;
  const Vector bias_;
  const size_t n_used_;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_MODEL_ROUTER_GUESS_H_
