// How much a model's output suffers when one of its matrices is quantised: the divergence of its
// predictions on text that it wrote itself.
#ifndef KRAFLA_LIB_CALIBRATE_SENSITIVITY_H_
#define KRAFLA_LIB_CALIBRATE_SENSITIVITY_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/calibrate/self_text.h"
#include "lib/calibrate/work_model.h"
#include "lib/session/session.h"

namespace krafla {

class Sensitivity {
 public:
  static constexpr size_t kSequences = 2;
  static constexpr size_t kLength = 128;

  // work_path: the model in f32; removed.
  static StatusOr<std::unique_ptr<Sensitivity>> Create(const std::string& work_path, uint64_t seed,
                                                       int32_t threads, StopCheck stop);
  // Mean KL divergence with this matrix alone in `format`; NotFoundError: there is none.
  StatusOr<double> Score(std::string_view name, Format format);

 private:
  struct Comparison {
    const float* reference;
    double sum = 0;
    size_t count = 0;
    std::vector<float> scratch;
  };
  Sensitivity() = default;
  Status Read(AppendOptions options);
  static int Keep(void* user, int64_t position, const float* row, size_t n_vocab);
  static int Compare(void* user, int64_t position, const float* row, size_t n_vocab);

  StopCheck stop_;
  std::unique_ptr<WorkModel> work_;
  TokenSequences text_;
  std::unique_ptr<Session> session_;
  std::vector<float> reference_;  // [positions][n_vocab]
};

}  // namespace krafla

#endif  // KRAFLA_LIB_CALIBRATE_SENSITIVITY_H_
