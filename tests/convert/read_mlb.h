// Tensors of a .mlb as f32 rows, by the kernels' get_row.
#ifndef KRAFLA_TESTS_CONVERT_READ_MLB_H_
#define KRAFLA_TESTS_CONVERT_READ_MLB_H_

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernels.h"
#include "lib/file/mlb.h"
#include "lib/quant/format.h"
#include "lib/weights/weights.h"
#include "tests/support/catch.h"

namespace krafla {

inline std::unique_ptr<MlbFile> OpenMlb(const std::string& path) {
  auto source = OpenMapped(path);
  REQUIRE(source.ok());
  auto file = MlbFile::Open(*std::move(source));
  REQUIRE(file.ok());
  return *std::move(file);
}

inline std::vector<float> ReadTensor(const MlbFile& file, std::string_view name) {
  const MlbTensor* tensor = file.Tensor(name);
  REQUIRE(tensor != nullptr);
  const std::byte* data = file.source().data() + tensor->offset;
  if (tensor->layout == kLayoutPlain) {
    std::vector<float> values(tensor->dims[0]);
    std::memcpy(values.data(), data, tensor->bytes);
    return values;
  }
  const size_t rows = tensor->dims[0];
  const size_t cols = tensor->dims[1];
  std::vector<float> values(rows * cols);
  const Matrix matrix{static_cast<Format>(tensor->type), rows, cols, data};
  for (size_t r = 0; r < rows; r++) GetRow(matrix, r, &values[r * cols]);
  return values;
}

}  // namespace krafla

#endif  // KRAFLA_TESTS_CONVERT_READ_MLB_H_
