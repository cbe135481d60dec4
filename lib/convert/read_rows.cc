// Rows of a planned tensor out of the form that the checkpoint has it in: parts of fused matrices,
// interleaved rows, experts in one tensor or in many, transposed matrices, MXFP4 in two tensors.
#include <algorithm>
#include <cstring>

#include "kernels/kernels.h"
#include "lib/convert/make_tiles.h"

namespace krafla {
namespace {

// Row of the source for row i of ours, and how many after it follow each other there.
struct Run {
  uint64_t row;
  uint64_t n;
};
Run RunAt(const TensorForm& form, uint64_t i, uint64_t n) {
  if (form.run == 0) return {form.first + i * form.step, form.step == 1 ? n : 1};
  const uint64_t at = i % form.run;
  const uint64_t row = form.first + i / form.run * form.stride + at * form.step;
  return {row, form.step == 1 ? std::min(n, form.run - at) : 1};
}

// ggml's block: the scale, then 16 bytes of which the low nibbles are elements 0 to 15. The
// checkpoint's bytes hold neighbours.
void WeaveBlock(const char* pairs, char scale, char* out) {
  *out++ = scale;
  const auto nibble = [&](size_t i) {
    return static_cast<unsigned char>(pairs[i / 2]) >> (i % 2 * 4) & 15;
  };
  for (size_t i = 0; i < kBlock / 2; ++i) {
    out[i] = static_cast<char>(nibble(i) | nibble(i + kBlock / 2) << 4);
  }
}

Status ReadMxfp4(const PlannedTensor& planned, uint64_t row, uint64_t n, char* raw) {
  const uint64_t n_blocks = static_cast<uint64_t>(planned.spec.cols) / kBlock;
  std::vector<char> pairs(n * n_blocks * kBlock / 2);
  std::vector<char> scales(n * n_blocks);
  const auto read = [&](const CheckpointTensor& tensor, std::vector<char>* out) {
    const uint64_t row_bytes = out->size() / n;
    return tensor.file->ReadAt(tensor.offset + row * row_bytes, out->data(), out->size());
  };
  KRAFLA_RETURN_IF_ERROR(read(*planned.sources[0], &pairs));
  KRAFLA_RETURN_IF_ERROR(read(*planned.sources[1], &scales));
  const uint64_t block_bytes = SizeOf(SourceType::kMXFP4).block_bytes;
  for (uint64_t i = 0; i < scales.size(); ++i) {
    WeaveBlock(&pairs[i * kBlock / 2], scales[i], raw + i * block_bytes);
  }
  return OkStatus();
}

// Columns of expert `expert` of [experts][cols][source rows] as rows.
Status ReadColumns(const PlannedTensor& planned, const CheckpointTensor& tensor, uint64_t expert,
                   uint64_t row, uint64_t n, char* raw) {
  const auto cols = static_cast<uint64_t>(planned.spec.cols);
  const uint64_t element = SizeOf(tensor.type).block_bytes;
  const uint64_t first = RunAt(planned.form, row, n).row;
  const uint64_t step = planned.form.step;
  std::vector<char> line(((n - 1) * step + 1) * element);
  for (uint64_t c = 0; c < cols; ++c) {
    const uint64_t at = (expert * cols + c) * tensor.cols() + first;
    KRAFLA_RETURN_IF_ERROR(
        tensor.file->ReadAt(tensor.offset + at * element, line.data(), line.size()));
    for (uint64_t i = 0; i < n; ++i) {
      std::memcpy(raw + (i * cols + c) * element, &line[i * step * element], element);
    }
  }
  return OkStatus();
}

}  // namespace

uint64_t PermutedRow(uint64_t row, uint64_t head_rows) {
  const uint64_t in_head = row % head_rows;
  const uint64_t half = head_rows / 2;
  return row - in_head + (in_head < half ? 2 * in_head : 2 * (in_head - half) + 1);
}

Status ReadPlannedRows(const PlannedTensor& planned, uint64_t expert, uint64_t row, uint64_t n,
                       char* raw) {
  const bool apart = planned.sources.size() > 1 && !planned.form.mxfp4;
  const CheckpointTensor& tensor = *planned.sources[apart ? expert : 0];
  if (planned.form.transposed) {
    return ReadColumns(planned, tensor, apart ? 0 : expert, row, n, raw);
  }
  const uint64_t begin = row + (apart ? 0 : expert * static_cast<uint64_t>(planned.spec.rows));
  const auto heads = static_cast<uint64_t>(planned.spec.gguf_permuted_heads);
  const uint64_t head_rows = heads == 0 ? 0 : static_cast<uint64_t>(planned.spec.rows) / heads;
  for (uint64_t i = 0; i < n;) {
    const uint64_t ours = heads == 0 ? begin + i : PermutedRow(begin + i, head_rows);
    Run run = RunAt(planned.form, ours, n - i);
    if (heads != 0) run.n = 1;
    char* out = raw + i * planned.row_bytes();
    KRAFLA_RETURN_IF_ERROR(planned.form.mxfp4 ? ReadMxfp4(planned, run.row, run.n, out)
                                              : ReadRawRows(tensor, run.row, run.n, out));
    i += run.n;
  }
  return OkStatus();
}

StatusOr<std::vector<float>> ReadPlannedVector(const PlannedTensor& planned) {
  const CheckpointTensor& tensor = planned.source();
  const SourceTypeSize size = SizeOf(tensor.type);
  const uint64_t n = tensor.bytes / size.block_bytes * size.block;
  std::vector<char> raw(tensor.bytes);
  std::vector<float> all(n);
  KRAFLA_RETURN_IF_ERROR(tensor.file->ReadAt(tensor.offset, raw.data(), raw.size()));
  DecodeElements(tensor.type, raw.data(), n, all.data());
  std::vector<float> values(static_cast<size_t>(planned.spec.cols));
  const auto heads = static_cast<uint64_t>(planned.spec.gguf_permuted_heads);
  for (uint64_t i = 0; i < values.size(); ++i) {
    const uint64_t ours = heads == 0 ? i : PermutedRow(i, values.size() / heads);
    values[i] = all[RunAt(planned.form, ours, 1).row];
  }
  return values;
}

}  // namespace krafla
