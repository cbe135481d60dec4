// Loading places each tensor; finding one checks what the file says against what the architecture
// wants. MlbFile has checked sizes and bounds already: a tensor's bytes are what its dims take.
#include "lib/weights/weights.h"

#include <algorithm>
#include <string>
#include <utility>

namespace krafla {
namespace {

// Alignment that the kernels can use. A tensor may ask for more (experts: pages, for direct reads).
constexpr uint64_t kMemoryAlignment = 64;
// Between two of them a load cannot be stopped: some milliseconds on a slow disk.
constexpr uint64_t kStepBytes = uint64_t{4} << 20;

uint64_t Padded(uint64_t bytes) { return (bytes + kMemoryAlignment - 1) & ~(kMemoryAlignment - 1); }

const std::byte* InPlace(const FileSource& source, const MlbTensor& tensor) {
  if (source.data() == nullptr) return nullptr;
  const std::byte* data = source.data() + tensor.offset;
  const uint64_t alignment = std::min<uint64_t>(tensor.alignment, kMemoryAlignment);
  return reinterpret_cast<uintptr_t>(data) % alignment == 0 ? data : nullptr;
}

class Progress {
 public:
  Progress(LoadProgress report, void* user, uint64_t total)
      : report_(report), user_(user), total_(total) {}
  Status Add(uint64_t bytes) {
    done_ += bytes;
    if (report_ == nullptr || total_ == 0 || report_(user_, done_, total_) == 0) return OkStatus();
    return CallbackError("load: stopped by the progress callback at {} of {} bytes", done_, total_);
  }

 private:
  const LoadProgress report_;
  void* const user_;
  const uint64_t total_;
  uint64_t done_ = 0;
};

// Slices of experts come to lie one after another, without the gaps that they have in the file.
Status ReadTensor(const FileSource& source, const MlbTensor& tensor, std::byte* out,
                  Progress& progress) {
  const uint64_t slices = MlbTensorSlices(tensor);
  const uint64_t slice_bytes = tensor.bytes / slices;
  for (uint64_t slice = 0; slice < slices; ++slice) {
    const uint64_t offset = tensor.offset + slice * tensor.slice_stride;
    for (uint64_t at = 0; at < slice_bytes; at += kStepBytes) {
      const uint64_t n = std::min(kStepBytes, slice_bytes - at);
      KRAFLA_RETURN_IF_ERROR(source.ReadAt(offset + at, out, static_cast<size_t>(n)));
      out += n;
      KRAFLA_RETURN_IF_ERROR(progress.Add(n));
    }
  }
  return OkStatus();
}

std::string ShapeName(const std::array<uint64_t, 4>& dims) {
  std::string name;
  for (uint64_t dim : dims) {
    if (dim == 0) break;
    if (!name.empty()) name += 'x';
    name += std::to_string(dim);
  }
  return name;
}

Status CheckTensor(const MlbFile& file, const MlbTensor* tensor, std::string_view name,
                   uint32_t layout, const std::array<uint64_t, 4>& dims) {
  const std::string& where = file.source().name();
  if (tensor == nullptr) {
    return FileError("{}: tensor {}: absent, want {}", where, name, ShapeName(dims));
  }
  if (tensor->dims != dims) {
    return FileError("{}: tensor {}: {}, want {}", where, name, ShapeName(tensor->dims),
                     ShapeName(dims));
  }
  if (tensor->layout != layout) {
    return FileError("{}: tensor {}: layout id {}, want {}", where, name, tensor->layout, layout);
  }
  return OkStatus();
}

}  // namespace

uint64_t Weights::ReadBytes(const MlbFile& file) {
  uint64_t bytes = 0;
  for (const MlbTensor& tensor : file.tensors()) bytes += Padded(tensor.bytes);
  return bytes;
}

StatusOr<std::unique_ptr<Weights>> Weights::Load(std::shared_ptr<Runtime> runtime,
                                                 std::unique_ptr<MlbFile> file,
                                                 LoadProgress progress, void* user,
                                                 const Stream* stream) {
  std::unique_ptr<Weights> weights(new Weights());
  const FileSource& source = file->source();
  const std::span<const MlbTensor> tensors = file->tensors();
  weights->locations_.resize(tensors.size());
  if (stream != nullptr) {
    KRAFLA_ASSIGN_OR_RETURN(
        weights->residency_,
        Residency::Create(*runtime, *file, stream->experts_used, stream->options));
  }
  uint64_t total = 0, in_place = 0, to_read = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (weights->is_streamed(i)) continue;
    weights->locations_[i] = InPlace(source, tensors[i]);
    total += tensors[i].bytes;
    if (weights->locations_[i] != nullptr) {
      in_place += tensors[i].bytes;
    } else {
      to_read += Padded(tensors[i].bytes);
    }
  }
  Progress reporter(progress, user, total);
  if (to_read != 0) {
    // One buffer, so that all of it can lie in large pages.
    const std::string need = "weights of " + source.name();
    KRAFLA_ASSIGN_OR_RETURN(
        weights->read_,
        runtime->memory().Allocate(to_read, MemoryKind::kWeights, need.c_str(), kMemoryAlignment));
  }
  KRAFLA_RETURN_IF_ERROR(reporter.Add(in_place));
  std::byte* next = weights->read_.data();
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (weights->locations_[i] != nullptr || weights->is_streamed(i)) continue;
    KRAFLA_RETURN_IF_ERROR(ReadTensor(source, tensors[i], next, reporter));
    weights->locations_[i] = next;
    next += Padded(tensors[i].bytes);
  }
  weights->runtime_ = std::move(runtime);
  weights->file_ = std::move(file);
  return weights;
}

std::span<const std::byte> Weights::bytes(size_t i) const {
  if (is_streamed(i)) return {};
  return {locations_[i], static_cast<size_t>(file_->tensors()[i].bytes)};
}

bool Weights::is_streamed(size_t i) const {
  return residency_ != nullptr && residency_->layout().places[i].layer >= 0;
}

StatusOr<Matrix> Weights::FindMatrix(std::string_view name, size_t rows, size_t cols) const {
  const MlbTensor* tensor = file_->Tensor(name);
  KRAFLA_RETURN_IF_ERROR(CheckTensor(*file_, tensor, name, kLayoutTiles, {rows, cols, 0, 0}));
  KRAFLA_ASSIGN_OR_RETURN(const Format format, FormatFromId(tensor->type));
  if (tensor->bytes != MatrixBytes(format, rows, cols)) {
    return FileError("{}: tensor {}: {} bytes, want {}", file_->source().name(), name,
                     tensor->bytes, MatrixBytes(format, rows, cols));
  }
  const auto index = static_cast<size_t>(tensor - file_->tensors().data());
  if (is_streamed(index)) {
    const ExpertPlace& place = residency_->layout().places[index];
    return Matrix{
        format,         rows, cols, nullptr, residency_->data_of(static_cast<size_t>(place.layer)),
        place.in_expert};
  }
  return Matrix{format, rows, cols, locations_[index]};
}

StatusOr<ExpertMatrices> Weights::FindExperts(std::string_view name, size_t experts, size_t rows,
                                              size_t cols) const {
  const MlbTensor* tensor = file_->Tensor(name);
  KRAFLA_RETURN_IF_ERROR(CheckTensor(*file_, tensor, name, kLayoutTiles, {experts, rows, cols, 0}));
  KRAFLA_ASSIGN_OR_RETURN(const Format format, FormatFromId(tensor->type));
  const uint64_t slice = MatrixBytes(format, rows, cols);
  if (tensor->bytes != experts * slice) {
    return FileError("{}: tensor {}: {} bytes, want {}", file_->source().name(), name,
                     tensor->bytes, experts * slice);
  }
  const auto index = static_cast<size_t>(tensor - file_->tensors().data());
  if (is_streamed(index)) {
    const ExpertPlace& place = residency_->layout().places[index];
    return ExpertMatrices{format, experts, rows, cols, nullptr, 0, place.layer, place.in_expert};
  }
  const std::byte* first = locations_[index];
  const bool in_place =
      file_->source().data() != nullptr && first == file_->source().data() + tensor->offset;
  ExpertMatrices matrices{format, experts, rows, cols, first};
  matrices.stride = in_place ? tensor->slice_stride : slice;
  return matrices;
}

StatusOr<Vector> Weights::FindVector(std::string_view name, size_t size) const {
  const MlbTensor* tensor = file_->Tensor(name);
  KRAFLA_RETURN_IF_ERROR(CheckTensor(*file_, tensor, name, kLayoutPlain, {size, 0, 0, 0}));
  if (tensor->type != static_cast<uint32_t>(Format::kF32) ||
      tensor->bytes != size * sizeof(float)) {
    return FileError("{}: tensor {}: type id {} of {} bytes, want f32 of {}",
                     file_->source().name(), name, tensor->type, tensor->bytes,
                     size * sizeof(float));
  }
  const std::byte* data = locations_[tensor - file_->tensors().data()];
  return Vector{reinterpret_cast<const float*>(data), size};
}

}  // namespace krafla
