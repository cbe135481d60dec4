// Text that a model writes by itself, as ids: what its inputs look like, without any data.
#ifndef KRAFLA_LIB_CALIBRATE_SELF_TEXT_H_
#define KRAFLA_LIB_CALIBRATE_SELF_TEXT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "lib/base/status.h"
#include "lib/model/model.h"

namespace krafla {

using TokenSequences = std::vector<std::vector<int32_t>>;

// Called now and then; an error stops the work with it.
struct StopCheck {
  Status (*check)(void* user) = nullptr;
  void* user = nullptr;
  Status operator()() const { return check == nullptr ? OkStatus() : check(user); }
};

// `count` sequences of `length` ids, each from the model's first token (BOS, else the end token,
// else id 0) on, drawn at temperature 1; equal seeds give equal text.
StatusOr<TokenSequences> WriteText(const std::shared_ptr<const Model>& model, size_t count,
                                   size_t length, uint64_t seed, const StopCheck& stop);

}  // namespace krafla

#endif  // KRAFLA_LIB_CALIBRATE_SELF_TEXT_H_
