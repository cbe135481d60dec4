// The order of things: everything is read and matched, the space is checked, then one pass over the
// tensors in the order in which a forward pass reads them.
#include "lib/convert/convert.h"

#include <algorithm>
#include <utility>

#include "include/krafla/version.h"
#include "lib/base/float_mode.h"
#include "lib/calibrate/feedback.h"
#include "lib/convert/calibrated.h"
#include "lib/convert/import.h"
#include "lib/convert/mix.h"
#include "lib/convert/plan.h"
#include "lib/convert/sizes.h"
#include "lib/convert/work_copy.h"
#include "lib/convert/write_tensor.h"
#include "lib/file/mlb_writer.h"
#include "lib/file/output_file.h"
#include "lib/quant/affine.h"

namespace krafla {
namespace {

constexpr uint64_t kHeaderBytesPerTensor = 128;  // record, name, alignment; roughly

Status CheckNotInput(const std::string& out, const std::vector<std::string>& inputs) {
  const std::string copy = WorkCopyName(out);
  for (const std::string& input : inputs) {
    for (const std::string& name : {out, PartialName(out), copy, PartialName(copy)}) {
      if (name == input || SameFile(name, input)) {
        return ArgumentError("convert: output {} is the input {}", name, input);
      }
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

MlbWriter::TensorDecl DeclarationOf(const PlannedTensor& planned) {
  MlbWriter::TensorDecl decl;
  decl.name = planned.spec.name;
  const auto cols = static_cast<uint64_t>(planned.spec.cols);
  if (planned.is_vector()) {
    decl.dims = {cols};
    return decl;
  }
  decl.type = static_cast<uint32_t>(planned.format);
  decl.layout = kLayoutTiles;
  const auto rows = static_cast<uint64_t>(planned.spec.rows);
  if (planned.spec.experts > 0) {
    decl.dims = {planned.experts(), rows, cols};
  } else {
    decl.dims = {rows, cols};
  }
  return decl;
}

// Matrices of one group of experts are declared together.
Status AddTensors(const std::vector<PlannedTensor>& plan, MlbWriter* writer) {
  for (size_t i = 0; i < plan.size();) {
    std::vector<MlbWriter::TensorDecl> decls = {DeclarationOf(plan[i])};
    const TensorSpec& spec = plan[i++].spec;
    if (spec.experts == 0) {
      KRAFLA_RETURN_IF_ERROR(writer->AddTensor(std::move(decls.front())));
      continue;
    }
    while (i < plan.size() && plan[i].spec.experts > 0 && plan[i].spec.group == spec.group) {
      decls.push_back(DeclarationOf(plan[i++]));
    }
    KRAFLA_RETURN_IF_ERROR(writer->AddExperts(decls));
  }
  return OkStatus();
}

// Everything that a tensor's bytes come from and the header does not show.
uint64_t SourceFingerprint(const Import& import, const std::vector<PlannedTensor>& plan) {
  std::string text = FormatText("{} {} {} {}\n", KRAFLA_VERSION_MAJOR, KRAFLA_VERSION_MINOR,
                                KRAFLA_VERSION_PATCH, KRAFLA_ARITHMETIC);
  for (const std::string& input : import.inputs) {
    const FileStamp stamp = StampOf(input);
    text += FormatText("{} {} {} {}\n", input, stamp.bytes, stamp.modified_ns, stamp.inode);
  }
  for (const PlannedTensor& planned : plan) {
    for (const CheckpointTensor* source : planned.sources) {
      text +=
          FormatText("{} {} {} {} {} {}\n", source->name, source->file->name(), source->type_name,
                     source->offset, source->bytes, static_cast<int>(planned.solver));
    }
  }
  return ChecksumOf(text.data(), text.size());
}

Status BeginModel(const ConvertOptions& options, const Import& import,
                  const std::vector<PlannedTensor>& plan, MlbWriter* writer) {
  // What the partial occupies needs no more space.
  const uint64_t there = StampOf(PartialName(options.out)).disk_bytes;
  const uint64_t more = writer->file_bytes() - std::min(there, writer->file_bytes());
  KRAFLA_RETURN_IF_ERROR(CheckDiskSpace(options.out, more));
  if (!options.resume) return writer->Begin(options.out);
  return writer->BeginResumable(options.out, SourceFingerprint(import, plan), options.sync_bytes);
}

StatusOr<std::unique_ptr<ThreadPool>> MakePool(const ConvertOptions& options, uint64_t bytes) {
  constexpr uint64_t kWorthThreads = 16 << 20;
  ThreadOptions threads;
  threads.threads = options.threads == 0 && bytes < kWorthThreads ? 1 : options.threads;
  return ThreadPool::Create(threads);
}

Status WriteTensors(const ConvertOptions& options, const Import& import,
                    const std::vector<PlannedTensor>& plan, MlbWriter* writer) {
  const DefaultFloatMode mode;
  KRAFLA_ASSIGN_OR_RETURN(const std::unique_ptr<ThreadPool> pool,
                          MakePool(options, writer->file_bytes()));
  TensorWriter tensor_writer(writer, plan, pool.get(), options.progress, options.user);
  Status status = tensor_writer.Report();
  std::unique_ptr<CalibratedWriter> calibrated;
  if (status.ok() && options.calibration.enabled()) {
    auto created = CalibratedWriter::Create(options, plan, writer, &tensor_writer);
    if (created.ok()) calibrated = *std::move(created);
    status = created.status();
    if (!status.ok() && status.code() != absl::StatusCode::kAborted) return status;
  }
  for (size_t i = 0; i < plan.size() && status.ok(); i++) {
    status = calibrated != nullptr ? calibrated->Write(i) : tensor_writer.Write(i);
    if (status.ok() || status.code() == absl::StatusCode::kAborted) continue;
    return Status(status.code(), FormatText("{}: tensor {}: {}", import.format(),
                                            plan[i].source().name, Message(status)));
  }
  if (status.code() == absl::StatusCode::kAborted) writer->KeepPartial();
  KRAFLA_RETURN_IF_ERROR(status);
  return writer->Finish();
}

std::vector<ClassFormat> FormatsOf(const ConvertOptions& options) {
  std::vector<ClassFormat> formats;
  for (const TensorClass kind : options.q8) formats.push_back({kind, Format::kQ8});
  formats.insert(formats.end(), options.formats.begin(), options.formats.end());
  return formats;
}

// An option that no matrix is of a format for was meant otherwise.
Status CheckOfUse(const ConvertOptions& options, const std::vector<PlannedTensor>& plan) {
  const auto any = [&](bool (*takes)(Format)) {
    return std::any_of(plan.begin(), plan.end(), [&](const PlannedTensor& planned) {
      return !planned.is_vector() && takes(planned.format);
    });
  };
  if (options.calibration.enabled() && !any(HasFeedback)) {
    return ArgumentError("calibration: want a matrix in q4 or an affine format, as q4a");
  }
  if (options.solver == AffineSolver::kHqq &&
      !any([](Format format) { return AffineOf(format).group != 0; })) {
    return ArgumentError("solver: want a matrix in an affine format, as q4a");
  }
  return OkStatus();
}

Status WriteModel(const ConvertOptions& options, Import* import) {
  KRAFLA_ASSIGN_OR_RETURN(std::vector<PlannedTensor> plan,
                          PlanTensors(import, options.wtype, FormatsOf(options)));
  for (PlannedTensor& planned : plan) planned.solver = options.solver;
  if (options.mix.enabled) {
    const uint64_t other_bytes = import->tokenizer_table.size() + import->chat_template.size() +
                                 kHeaderBytesPerTensor * plan.size();
    KRAFLA_RETURN_IF_ERROR(ApplyMix(options, other_bytes, &plan));
  }
  KRAFLA_RETURN_IF_ERROR(CheckOfUse(options, plan));
  MlbWriter writer;
  for (MetaEntry& entry : ConfigToMetadata(import->config)) writer.AddMetadata(std::move(entry));
  writer.AddMetadata({"convert.source", std::string(import->format())});
  writer.AddMetadata({"convert.wtype", std::string(FormatName(options.wtype))});
  KRAFLA_ASSIGN_OR_RETURN(std::string calibration, DescribeCalibration(options));
  if (!calibration.empty()) {
    writer.AddMetadata({"convert.calibration", std::move(calibration)});
  }
  if (!import->skipped.empty()) writer.AddMetadata({"convert.skipped", import->skipped});
  const uint64_t tokenizer_bytes = import->tokenizer_table.size();
  const uint64_t template_bytes = import->chat_template.size();
  KRAFLA_RETURN_IF_ERROR(AddSections(import, &writer));
  KRAFLA_RETURN_IF_ERROR(AddTensors(plan, &writer));
  KRAFLA_RETURN_IF_ERROR(TellSkipped(options, import->skipped));
  if (options.dry_run) {
    KRAFLA_RETURN_IF_ERROR(TellSizes(options, plan, tokenizer_bytes, template_bytes, writer));
    return TellMemory(options, static_cast<size_t>(import->config.n_experts_used), writer);
  }
  KRAFLA_RETURN_IF_ERROR(BeginModel(options, *import, plan, &writer));
  return WriteTensors(options, *import, plan, &writer);
}

Status WriteTokenizer(const ConvertOptions& options, Import* import) {
  MlbWriter writer;
  const uint64_t tokenizer_bytes = import->tokenizer_table.size();
  const uint64_t template_bytes = import->chat_template.size();
  KRAFLA_RETURN_IF_ERROR(AddSections(import, &writer));
  if (options.dry_run) return TellSizes(options, {}, tokenizer_bytes, template_bytes, writer);
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
  // As a folder it would be the root, "" + "/config.json".
  if (options.in.empty()) return ArgumentError("input: not a path");
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
  if (!options.calibration.text_path.empty())
    import.inputs.push_back(options.calibration.text_path);
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
