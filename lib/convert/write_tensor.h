// One tensor of the plan from its checkpoint into the .mlb: a matrix goes in pieces of a few tiles,
// several at a time on the pool's threads, so that memory stays small whatever the tensor. The
// bytes do not depend on the number of threads.
#ifndef KRAFLA_LIB_CONVERT_WRITE_TENSOR_H_
#define KRAFLA_LIB_CONVERT_WRITE_TENSOR_H_

#include <cstdint>
#include <span>
#include <vector>

#include "lib/base/status.h"
#include "lib/convert/convert.h"
#include "lib/convert/plan.h"
#include "lib/file/background_task.h"
#include "lib/file/mlb_writer.h"
#include "lib/runtime/thread_pool.h"

namespace krafla {

class TensorWriter {
 public:
  // The plan's tensors are the writer's, in order; all of it outlives this object.
  TensorWriter(MlbWriter* writer, std::span<const PlannedTensor> plan, ThreadPool* pool,
               ConvertProgress progress, void* user);

  // Writes what the writer does not have yet of tensor `index`.
  Status Write(size_t index);
  // The same with the whole tensor's tiles, which the caller has made.
  Status WriteTiles(size_t index, std::span<const std::byte> tiles);
  // Tells the progress, in bytes that the writer has; CallbackError: it said stop.
  Status Report();

 private:
  struct Window {
    size_t index = 0;  // of the tensor
    uint64_t expert = 0;
    uint64_t row = 0;  // of that matrix
    uint64_t n_rows = 0;
    std::vector<char> raw;  // the rows as the checkpoint has them
  };
  struct Piece {  // of a window: whole tiles
    uint64_t row;
    uint64_t n_rows;
    const char* raw;
    char* tiles;
    Status status;
    bool no_memory;
  };
  struct Job {
    const PlannedTensor* planned;
    Piece* pieces;
    std::vector<float>* rows;  // scratch, one a thread
  };
  static void RunPieces(void* context, size_t begin, size_t end, size_t thread);
  Status WriteVector(size_t index);
  Status WriteMatrix(size_t index);
  Status Read(Window* window) const;
  Status ReadWindow(size_t index, uint64_t row);
  Status ReadAhead();
  Status PackWindow();
  uint64_t TileBytesOf(size_t index) const;
  uint64_t PaddedRows(size_t index) const;
  uint64_t EndRow(size_t index) const;
  void SetWindow(size_t index, uint64_t row, Window* window) const;
  uint64_t EndOf(const Window& window) const;
  uint64_t RowsAPiece(size_t index) const;
  uint64_t FirstRow(size_t index) const;  // that the writer does not have

  MlbWriter* writer_;
  std::span<const PlannedTensor> plan_;
  ThreadPool* pool_;
  ConvertProgress progress_;
  void* user_;
  uint64_t total_ = 0;
  uint64_t done_ = 0;
  std::vector<Piece> pieces_;
  std::vector<std::vector<float>> rows_;  // one a thread
  std::vector<char> tiles_;               // of the window
  Window window_;
  Window ahead_;            // n_rows 0: none
  BackgroundTask reading_;  // last: it ends before what it uses does
};

}  // namespace krafla

#endif  // KRAFLA_LIB_CONVERT_WRITE_TENSOR_H_
