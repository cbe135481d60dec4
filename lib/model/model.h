// An open model: immutable after loading, shared by any number of sessions and threads.
#ifndef KRAFLA_LIB_MODEL_MODEL_H_
#define KRAFLA_LIB_MODEL_MODEL_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "lib/base/status.h"
#include "lib/model/config.h"
#include "lib/model/network.h"
#include "lib/runtime/runtime.h"
#include "lib/weights/weights.h"

namespace krafla {

class Model {
 public:
  // stream: experts are read as they are wanted; null: all weights are in memory or mapped.
  // Fails with FileError on an unknown architecture, a bad configuration, a missing or misshapen
  // tensor.
  static StatusOr<std::shared_ptr<const Model>> Open(std::shared_ptr<Runtime> runtime,
                                                     std::unique_ptr<MlbFile> file,
                                                     LoadProgress progress, void* user,
                                                     const ResidencyOptions* stream = nullptr);

  const Config& config() const { return config_; }
  const Network& network() const { return *network_; }
  const Weights& weights() const { return *weights_; }
  const MlbFile& file() const { return weights_->file(); }
  Residency* residency() const { return weights_->residency(); }  // null: nothing is streamed
  const std::shared_ptr<Runtime>& runtime() const { return runtime_; }
  // The tokenizer table and the chat template as the file stores them; empty where it has none.
  std::string_view tokenizer_table() const { return tokenizer_table_; }
  std::string_view chat_template() const { return template_; }
  uint64_t weight_bytes() const { return weight_bytes_; }        // of all tensors
  uint64_t bytes_per_token() const { return bytes_per_token_; }  // weights one decoded token reads
  // Multiply-adds with weights of one prompt token, head not counted.
  uint64_t macs_per_token() const { return macs_per_token_; }

 private:
  Model() = default;
  std::shared_ptr<Runtime> runtime_;
  Config config_;
  std::unique_ptr<Weights> weights_;
  std::unique_ptr<Network> network_;
  std::string_view tokenizer_table_;
  std::string_view template_;
  uint64_t weight_bytes_ = 0;
  uint64_t bytes_per_token_ = 0;
  uint64_t macs_per_token_ = 0;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_MODEL_MODEL_H_
