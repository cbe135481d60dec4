// A model in f32 whose matrices can be changed between passes: what quantising them does is seen by
// computing with it.
#ifndef KRAFLA_LIB_CALIBRATE_WORK_MODEL_H_
#define KRAFLA_LIB_CALIBRATE_WORK_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/calibrate/work_file.h"
#include "lib/model/model.h"

namespace krafla {

// f32 tiles in the work file.
struct WorkMatrix {
  float* tiles = nullptr;
  size_t rows = 0;
  size_t cols = 0;
  size_t size() const { return (rows + 15) / 16 * 16 * cols; }
};

class WorkModel {
 public:
  // Takes the file (WorkFile). threads: as ThreadOptions.
  static StatusOr<std::unique_ptr<WorkModel>> Open(const std::string& path, int32_t threads);

  const std::shared_ptr<const Model>& model() const { return model_; }
  Runtime& runtime() const { return *runtime_; }
  std::optional<WorkMatrix> Find(std::string_view name) const;
  // One a slice: the experts' matrices, or the one matrix of this name; empty: there is none.
  std::vector<WorkMatrix> FindAll(std::string_view name) const;

 private:
  WorkModel() = default;
  std::unique_ptr<WorkFile> file_;
  std::shared_ptr<Runtime> runtime_;
  std::shared_ptr<const Model> model_;
};

// The matrix in another format by the rule that needs no data; tiles: MatrixBytes of it.
Status Pack(Format format, const WorkMatrix& matrix, std::byte* tiles);
// The values of tiles in another format, as f32 tiles.
void Unpack(Format format, const void* tiles, const WorkMatrix& matrix);

}  // namespace krafla

#endif  // KRAFLA_LIB_CALIBRATE_WORK_MODEL_H_
