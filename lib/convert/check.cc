// ml_convert check: the file as a whole, not only as far as a load looks.
#include <algorithm>

#include "lib/base/utf8.h"
#include "lib/convert/checkpoint.h"
#include "lib/convert/convert.h"
#include "lib/file/mlb.h"
#include "lib/model/config.h"
#include "lib/tokenizer/tokenizer.h"

namespace krafla {
namespace {

std::string DimsText(const std::array<uint64_t, 4>& dims) {
  const auto end = std::find(dims.begin(), dims.end(), uint64_t{0});
  return ShapeText({dims.begin(), end});
}

Status CheckTensor(const MlbTensor& tensor, const TensorSpec& spec, std::string_view file) {
  std::array<uint64_t, 4> want = {};
  size_t n = 0;
  if (spec.experts != 0) want[n++] = static_cast<uint64_t>(spec.experts);
  if (spec.rows != 0) want[n++] = static_cast<uint64_t>(spec.rows);
  want[n] = static_cast<uint64_t>(spec.cols);
  if (tensor.dims != want) {
    return FileError("{}: tensor {}: {}, want {}", file, tensor.name, DimsText(tensor.dims),
                     DimsText(want));
  }
  const uint32_t layout = spec.rows != 0 ? kLayoutTiles : kLayoutPlain;
  if (tensor.layout != layout) {
    return FileError("{}: tensor {}: layout {}, want {}", file, tensor.name, tensor.layout, layout);
  }
  return FormatFromId(tensor.type).status();
}

Status CheckModel(const MlbFile& file) {
  const std::string& name = file.source().name();
  KRAFLA_ASSIGN_OR_RETURN(const Config config, ConfigFromMetadata(file));
  const Arch* arch = FindArch(config.arch);
  if (arch == nullptr) {
    return UnsupportedError("{}: architecture {} is not built here", name, config.arch);
  }
  std::vector<std::string> wanted;
  for (const TensorSpec& spec : arch->tensors(config)) {
    const MlbTensor* tensor = file.Tensor(spec.name);
    if (tensor == nullptr) return FileError("{}: tensor {} is missing", name, spec.name);
    KRAFLA_RETURN_IF_ERROR(CheckTensor(*tensor, spec, name));
    wanted.push_back(spec.name);
  }
  std::sort(wanted.begin(), wanted.end());
  for (const MlbTensor& tensor : file.tensors()) {
    if (!std::binary_search(wanted.begin(), wanted.end(), tensor.name)) {
      return FileError("{}: tensor {} is unexpected for {}", name, tensor.name, config.arch);
    }
  }
  return OkStatus();
}

}  // namespace

Status CheckSource(std::unique_ptr<FileSource> source, ConvertProgress progress, void* user) {
  const std::string path = source->name();
  KRAFLA_ASSIGN_OR_RETURN(const auto file, MlbFile::Open(std::move(source)));
  KRAFLA_ASSIGN_OR_RETURN(const std::string_view table, file->Section("tokenizer"));
  if (!table.empty()) KRAFLA_RETURN_IF_ERROR(Tokenizer::Open(table).status());
  KRAFLA_ASSIGN_OR_RETURN(const std::string_view chat_template, file->Section("template"));
  if (ValidUtf8Prefix(chat_template) != chat_template.size()) {
    return FileError("{}: the template is not UTF-8", path);
  }
  const bool is_model = file->Meta("model.arch") != nullptr || !file->tensors().empty();
  if (is_model) {
    KRAFLA_RETURN_IF_ERROR(CheckModel(*file));
  } else if (table.empty()) {
    return FileError("{}: has neither a model nor a tokenizer", path);
  }
  return file->VerifyChecksums(progress, user);
}

Status CheckFile(std::string_view path, ConvertProgress progress, void* user) {
  KRAFLA_ASSIGN_OR_RETURN(auto source, OpenForReading(path));
  return CheckSource(std::move(source), progress, user);
}

}  // namespace krafla
