// The names of the parts are made from the first one's, never taken from the file.
#include "lib/convert/gguf_split.h"

#include <utility>

namespace krafla {
namespace {

constexpr std::string_view kNumber = "split.no";  // from 0
constexpr std::string_view kCount = "split.count";
constexpr std::string_view kTensors = "split.tensors.count";
constexpr int64_t kMaxParts = 4096;

std::string PartEnding(int64_t number, int64_t count) {
  return FormatText("-{:05}-of-{:05}.gguf", number + 1, count);
}

Status AddPart(const std::string& path, int64_t number, int64_t count, Checkpoint* checkpoint) {
  StatusOr<std::unique_ptr<FileSource>> source = OpenForReading(path);
  if (source.status().code() == absl::StatusCode::kNotFound) {
    return FileError("{}: part {} of {} is missing", path, number + 1, count);
  }
  if (!source.ok()) return source.status();
  KRAFLA_ASSIGN_OR_RETURN(const GgufFile part, GgufFile::Open(*std::move(source), checkpoint));
  if (part.Integer(kNumber) != number || part.Integer(kCount) != count) {
    return FileError("{}: {} {}, {} {}, want {} and {}", path, kNumber,
                     part.Integer(kNumber).value_or(-1), kCount, part.Integer(kCount).value_or(-1),
                     number, count);
  }
  return OkStatus();
}

}  // namespace

Status OpenGgufParts(const GgufFile& first, const std::string& path, Checkpoint* checkpoint,
                     std::vector<std::string>* inputs) {
  const int64_t count = first.Integer(kCount).value_or(1);
  const int64_t number = first.Integer(kNumber).value_or(0);
  if (count == 1 && number == 0) return OkStatus();
  if (count < 1 || count > kMaxParts || number < 0 || number >= count) {
    return FileError("{}: {} {}, {} {}, want a number below a count of 1 to {}", path, kNumber,
                     number, kCount, count, kMaxParts);
  }
  if (number != 0) {
    return FileError("{}: is part {} of {}; the first one is wanted, which ends in {}", path,
                     number + 1, count, PartEnding(0, count));
  }
  const std::string ending = PartEnding(0, count);
  if (!path.ends_with(ending)) {
    return FileError("{}: is one of {} parts, but its name does not end in {}", path, count,
                     ending);
  }
  const std::string stem = path.substr(0, path.size() - ending.size());
  for (int64_t i = 1; i < count; i++) {
    const std::string part = stem + PartEnding(i, count);
    KRAFLA_RETURN_IF_ERROR(AddPart(part, i, count, checkpoint));
    inputs->push_back(part);
  }
  const auto total = static_cast<int64_t>(checkpoint->tensors().size());
  const int64_t wanted = first.Integer(kTensors).value_or(total);
  if (total != wanted) {
    return FileError("{}: {} {}, but the {} parts have {}", path, kTensors, wanted, count, total);
  }
  return OkStatus();
}

}  // namespace krafla
