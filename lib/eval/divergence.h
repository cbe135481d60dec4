// How far one model's next-token distribution is from another's, position by position, and the
// statistics of many positions.
#ifndef KRAFLA_LIB_EVAL_DIVERGENCE_H_
#define KRAFLA_LIB_EVAL_DIVERGENCE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace krafla {

// One position under the reference p and the model q. Natural logarithms.
struct Divergence {
  double kl = 0;             // sum of p log(p / q)
  double reference_nll = 0;  // -log p[target]
  double nll = 0;            // -log q[target]
  bool same_top = false;     // both hold the same token the most likely one (ties: the lower id)
  bool in_top_k = false;     // the reference's is among q's k most likely
};

// Both rows are logits over one vocabulary; `scratch` is resized to it. Exponentials by the
// kernels, sums in double in a fixed order, so that the figures are the same on every machine.
Divergence Compare(std::span<const float> reference, std::span<const float> logits, int32_t target,
                   size_t top_k, std::vector<float>* scratch);

struct DriftStatistics {
  uint64_t targets = 0;
  double kl_mean = 0;
  double kl_error = 0;  // standard error of the mean, from the means of the chunks
  double kl_median = 0;
  double kl_p99 = 0;
  double kl_max = 0;
  double top1 = 0;  // shares of the positions
  double top_k = 0;
  double reference_perplexity = 0;
  double perplexity = 0;
  // Mean of nll - reference_nll, and the standard error of that mean, from the means of the chunks:
  // neighbouring tokens are not independent, chunks nearly are. 0 where there is one chunk.
  double nll_difference = 0;
  double nll_difference_error = 0;
};

class DriftSums {
 public:
  void Add(const Divergence& position);
  void EndChunk();
  DriftStatistics Finish();  // may reorder what was added: the last call

 private:
  std::vector<float> kl_;
  double reference_nll_ = 0;
  double nll_ = 0;
  uint64_t same_top_ = 0;
  uint64_t in_top_k_ = 0;
  size_t chunk_begin_ = 0;
  double chunk_difference_ = 0;
  std::vector<double> chunk_kl_;           // means
  std::vector<double> chunk_differences_;  // means
};

}  // namespace krafla

#endif  // KRAFLA_LIB_EVAL_DIVERGENCE_H_
