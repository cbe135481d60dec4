// The steps of a model, which the driver runs.
#ifndef KRAFLA_LIB_MODEL_NETWORK_H_
#define KRAFLA_LIB_MODEL_NETWORK_H_

namespace krafla {

class Network {
 public:
  virtual ~Network() = default;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_MODEL_NETWORK_H_
