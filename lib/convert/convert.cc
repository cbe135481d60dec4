// The order of things: everything is read and matched, the space is checked, then one pass over the
// tensors in the order in which a forward pass reads them.
#include "lib/convert/convert.h"

#include <utility>

#include "lib/convert/import.h"
#include "lib/convert/plan.h"
#include "lib/convert/write_tensor.h"
#include "lib/file/mlb_writer.h"
#include "lib/file/output_file.h"

namespace krafla {
namespace {

Status CheckNotInput(const std::string& out, const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    if (out == input || SameFile(out, input)) {
      return ArgumentError("convert: output {} is the input {}", out, input);
    }
  }
  return OkStatus();
}

Status AddSections(Import* import, MlbWriter* writer) {
  if (!import->tokenizer_table.empty()) {
    KRAFLA_RETURN_IF_ERROR(writer->AddSection("tokenizer", std::move(import->tokenizer_table)));
  }
  if (!import->chat_template.empty()) {
    KRAFLA_RETURN_IF_ERROR(writer->AddSection("template", std::move(import->chat_template)));
  }
  return OkStatus();
}

Status AddTensors(const std::vector<PlannedTensor>& plan, MlbWriter* writer) {
  for (const PlannedTensor& planned : plan) {
    MlbWriter::TensorDecl decl;
    decl.name = planned.spec.name;
    if (planned.is_vector()) {
      decl.dims = {static_cast<uint64_t>(planned.spec.cols)};
    } else {
      decl.type = static_cast<uint32_t>(planned.format);
      decl.layout = kLayoutTiles;
      decl.dims = {static_cast<uint64_t>(planned.spec.rows),
                   static_cast<uint64_t>(planned.spec.cols)};
    }
    KRAFLA_RETURN_IF_ERROR(writer->AddTensor(std::move(decl)));
  }
  return OkStatus();
}

Status WriteModel(const ConvertOptions& options, Import* import) {
  KRAFLA_ASSIGN_OR_RETURN(const std::vector<PlannedTensor> plan,
                          PlanTensors(import, options.wtype, options.q8));
  MlbWriter writer;
  for (MetaEntry& entry : ConfigToMetadata(import->config)) writer.AddMetadata(std::move(entry));
  writer.AddMetadata({"convert.source", std::string(import->format())});
  writer.AddMetadata({"convert.wtype", std::string(FormatName(options.wtype))});
  KRAFLA_RETURN_IF_ERROR(AddSections(import, &writer));
  KRAFLA_RETURN_IF_ERROR(AddTensors(plan, &writer));
  KRAFLA_RETURN_IF_ERROR(CheckDiskSpace(options.out, writer.file_bytes()));
  KRAFLA_RETURN_IF_ERROR(writer.Begin(options.out));
  uint64_t total = 0;
  for (const PlannedTensor& planned : plan) total += PlannedBytes(planned);
  TensorWriter tensor_writer(&writer, options.progress, options.user, total);
  for (size_t i = 0; i < plan.size(); i++) {
    const Status status = tensor_writer.Write(i, plan[i]);
    if (status.ok()) continue;
    if (status.code() == absl::StatusCode::kAborted) return status;
    return Status(status.code(), FormatText("{}: tensor {}: {}", import->format(),
                                            plan[i].source->name, Message(status)));
  }
  return writer.Finish();
}

Status WriteTokenizer(const ConvertOptions& options, Import* import) {
  MlbWriter writer;
  KRAFLA_RETURN_IF_ERROR(AddSections(import, &writer));
  KRAFLA_RETURN_IF_ERROR(CheckDiskSpace(options.out, writer.file_bytes()));
  KRAFLA_RETURN_IF_ERROR(writer.Begin(options.out));
  return writer.Finish();
}

}  // namespace

Status CheckDiskSpace(const std::string& path, uint64_t bytes) {
  KRAFLA_ASSIGN_OR_RETURN(const uint64_t available, FreeDiskBytes(path));
  if (bytes <= available) return OkStatus();
  return IoError("{}: needs {} bytes, the disk has {} free", path, bytes, available);
}

Status Convert(const ConvertOptions& options) {
  Import import;
  switch (options.kind) {
    case ConvertKind::kHf:
      KRAFLA_RETURN_IF_ERROR(ImportHf(options.in, &import));
      break;
    case ConvertKind::kGguf:
      KRAFLA_RETURN_IF_ERROR(ImportGguf(options.in, &import));
      break;
    case ConvertKind::kTokenizer:
      KRAFLA_RETURN_IF_ERROR(ImportTokenizer(options.in, &import));
      break;
  }
  KRAFLA_RETURN_IF_ERROR(CheckNotInput(options.out, import.inputs));
  return options.kind == ConvertKind::kTokenizer ? WriteTokenizer(options, &import)
                                                 : WriteModel(options, &import);
}

StatusOr<std::vector<TensorClass>> ParseClassList(std::string_view list) {
  std::vector<TensorClass> classes;
  while (!list.empty()) {
    const size_t comma = list.find(',');
    KRAFLA_ASSIGN_OR_RETURN(const TensorClass kind, ParseTensorClass(list.substr(0, comma)));
    classes.push_back(kind);
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return classes;
}

}  // namespace krafla
