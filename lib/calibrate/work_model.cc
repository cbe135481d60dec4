// See work_model.h.
#include "lib/calibrate/work_model.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/kernels.h"

namespace krafla {

StatusOr<std::unique_ptr<WorkModel>> WorkModel::Open(const std::string& path, int32_t threads) {
  std::unique_ptr<WorkModel> work(new WorkModel());
  KRAFLA_ASSIGN_OR_RETURN(work->file_, WorkFile::Take(path));
  RuntimeOptions options;
  options.threads.threads = threads;
  KRAFLA_ASSIGN_OR_RETURN(work->runtime_, Runtime::Create(options));
  KRAFLA_ASSIGN_OR_RETURN(std::unique_ptr<MlbFile> file,
                          MlbFile::Open(OpenMemory(work->file_->data(), work->file_->size())));
  KRAFLA_ASSIGN_OR_RETURN(work->model_,
                          Model::Open(work->runtime_, std::move(file), nullptr, nullptr));
  return work;
}

std::optional<WorkMatrix> WorkModel::Find(std::string_view name) const {
  const std::vector<WorkMatrix> all = FindAll(name);
  return all.size() == 1 ? std::optional(all.front()) : std::nullopt;
}

std::vector<WorkMatrix> WorkModel::FindAll(std::string_view name) const {
  std::vector<WorkMatrix> result;
  const std::span<const MlbTensor> tensors = model_->file().tensors();
  for (size_t i = 0; i < tensors.size(); ++i) {
    const MlbTensor& tensor = tensors[i];
    if (tensor.name != name || tensor.dims[1] == 0) continue;
    const size_t rows = tensor.dims[2] != 0 ? 1 : 0;  // its place in dims
    // The model's bytes are the work file's, which is writable.
    std::byte* data = file_->data() + (model_->weights().bytes(i).data() - file_->data());
    for (uint64_t slice = 0; slice < MlbTensorSlices(tensor); ++slice) {
      result.push_back({reinterpret_cast<float*>(data + slice * tensor.slice_stride),
                        tensor.dims[rows], tensor.dims[rows + 1]});
    }
  }
  return result;
}

Status Pack(Format format, const WorkMatrix& matrix, std::byte* tiles) {
  std::vector<float> rows(kTileRows * matrix.cols);
  for (size_t row = 0; row < matrix.rows; row += kTileRows) {
    const size_t n = std::min(kTileRows, matrix.rows - row);
    const float* from = matrix.tiles + row * matrix.cols;
    for (size_t r = 0; r < n; ++r) {
      for (size_t k = 0; k < matrix.cols; ++k) {
        rows[r * matrix.cols + k] = from[k * kTileRows + r];
      }
    }
    KRAFLA_RETURN_IF_ERROR(PackTile(format, rows.data(), matrix.cols, n, matrix.cols, tiles));
    tiles += TileBytes(format, matrix.cols);
  }
  return OkStatus();
}

void Unpack(Format format, const void* tiles, const WorkMatrix& matrix) {
  const Matrix packed{format, matrix.rows, matrix.cols, tiles};
  std::vector<float> row(matrix.cols);
  for (size_t r = 0; r < matrix.rows; ++r) {
    GetRow(packed, r, row.data());
    float* to = matrix.tiles + r / kTileRows * matrix.cols * kTileRows + r % kTileRows;
    for (size_t k = 0; k < matrix.cols; ++k) to[k * kTileRows] = row[k];
  }
}

}  // namespace krafla
