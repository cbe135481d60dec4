// The part of a conversion that looks at what the model computes: a copy of the model in f32, and
// the tensors whose codes follow from it.
#ifndef KRAFLA_LIB_CONVERT_CALIBRATED_H_
#define KRAFLA_LIB_CONVERT_CALIBRATED_H_

#include <memory>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/calibrate/calibrator.h"
#include "lib/convert/convert.h"
#include "lib/convert/plan.h"
#include "lib/convert/write_tensor.h"

namespace krafla {

// "" where options ask for none; else what was done, for the file's metadata and the fingerprint
// of a partial one.
StatusOr<std::string> DescribeCalibration(const ConvertOptions& options);

class CalibratedWriter {
 public:
  // tensors and writer as TensorWriter's, which outlives this. Makes the copy, of which nothing
  // stays.
  static StatusOr<std::unique_ptr<CalibratedWriter>> Create(const ConvertOptions& options,
                                                            const std::vector<PlannedTensor>& plan,
                                                            MlbWriter* writer,
                                                            TensorWriter* tensors);
  Status Write(size_t index);  // in order

 private:
  CalibratedWriter() = default;
  const std::vector<PlannedTensor>* plan_ = nullptr;
  MlbWriter* writer_ = nullptr;
  TensorWriter* tensors_ = nullptr;
  std::unique_ptr<Calibrator> calibrator_;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_CONVERT_CALIBRATED_H_
