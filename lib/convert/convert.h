// Conversion of checkpoints to .mlb files and of tokenizers to .mlt files, and the check of either.
#ifndef KRAFLA_LIB_CONVERT_CONVERT_H_
#define KRAFLA_LIB_CONVERT_CONVERT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/file/source.h"
#include "lib/model/arch.h"
#include "lib/quant/format.h"

namespace krafla {

enum class ConvertKind : uint8_t { kHf, kGguf, kTokenizer };

// In bytes of tensors. Non-zero stops with a CallbackError; the output does not appear then.
using ConvertProgress = int (*)(void* user, uint64_t done, uint64_t total);

// One line of what a conversion would write: the tensors of one class in one format, then
// "tokenizer", "template" and "header", the "file" as a whole, and the "least memory" for its
// weights. Before all, and in a conversion too: "skipped <part>" for what is left out of the
// checkpoint. Non-zero stops.
using ConvertSizes = int (*)(void* user, std::string_view what, std::string_view format,
                             uint64_t n_tensors, uint64_t bytes);

// Error feedback for the formats that have it (lib/calibrate): from text that the model writes
// itself, or from a file.
struct CalibrationOptions {
  bool self = false;
  std::string text_path;  // UTF-8 text
  uint64_t seed = 1;      // of the model's own text
  int64_t sequences = 0;  // of 256 tokens; 0: 32
  bool enabled() const { return self || !text_path.empty(); }
};

// A part of the matrices in a higher format (mix.h).
enum class MixScore : uint8_t { kAuto, kDivergence, kClass };
struct MixOptions {
  bool enabled = false;
  Format base = Format::kQ4;
  Format high = Format::kQ6A;
  double percent = 0;         // of the bytes that promoting all would take
  uint64_t target_bytes = 0;  // of the file, instead; 0: none
  MixScore score = MixScore::kAuto;
};

struct ClassFormat {
  TensorClass kind;
  Format format;
};

struct ConvertOptions {
  ConvertKind kind = ConvertKind::kHf;
  std::string in;  // a folder (kHf) or a file
  std::string out;
  Format wtype = Format::kQ8;        // of every matrix
  std::vector<TensorClass> q8;       // except these, which are q8 (ParseClassList)
  std::vector<ClassFormat> formats;  // of classes (ParseClassFormats); later ones count
  MixOptions mix;                    // its base is wtype
  AffineSolver solver = AffineSolver::kLeastSquares;
  CalibrationOptions calibration;
  ConvertProgress progress = nullptr;
  void* user = nullptr;
  bool dry_run = false;  // tells the sizes instead of writing anything
  ConvertSizes sizes = nullptr;
  // Works in "<out>.partial", which a stopped or killed conversion leaves; the next one with the
  // same inputs and options goes on from there and gives the same bytes, any other discards it.
  bool resume = false;
  uint64_t sync_bytes = uint64_t{256} << 20;  // what a resumption may have to do again, about twice
  int32_t threads = 0;                        // 0: one a physical core
};

// Reads and writes tile by tile. An existing `out` is replaced only by a complete file; an `out`
// (or its partial) that is one of the inputs is an ArgumentError. A failure leaves nothing.
Status Convert(const ConvertOptions& options);

// "v,o,down": names out of q k v o gate up down embed head.
StatusOr<std::vector<TensorClass>> ParseClassList(std::string_view list);

// Opens a .mlb or .mlt, compares every checksum and, where it has a model, its tensors with what
// the architecture wants, and its tokenizer's table.
Status CheckFile(std::string_view path, ConvertProgress progress, void* user);
Status CheckSource(std::unique_ptr<FileSource> source, ConvertProgress progress, void* user);

// IoError: the folder of `path` has less than `bytes` free.
Status CheckDiskSpace(const std::string& path, uint64_t bytes);

}  // namespace krafla

#endif  // KRAFLA_LIB_CONVERT_CONVERT_H_
