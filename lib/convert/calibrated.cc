// See calibrated.h. Nothing of the calibration outlives its process: a resumed conversion makes the
// copy and the text once more, which gives the same bits, and takes the tensors that the partial
// file has from there.
#include "lib/convert/calibrated.h"

#include "lib/convert/import.h"
#include "lib/convert/work_copy.h"

namespace krafla {
namespace {

constexpr uint64_t kMaxTextBytes = uint64_t{64} << 20;

CalibrationText TextOf(const CalibrationOptions& options, std::string text) {
  CalibrationText calibration;
  calibration.text = std::move(text);
  if (options.sequences != 0) calibration.sequences = static_cast<size_t>(options.sequences);
  calibration.seed = options.seed;
  return calibration;
}

bool IsTarget(const PlannedTensor& planned) {
  return !planned.is_vector() && IsQuantized(planned.format);
}

StatusOr<std::string> ReadText(const CalibrationOptions& options) {
  if (options.text_path.empty()) return std::string();
  KRAFLA_ASSIGN_OR_RETURN(std::string text, ReadTextFile(options.text_path, kMaxTextBytes));
  if (text.empty()) return ArgumentError("{}: is empty", options.text_path);
  return text;
}

}  // namespace

StatusOr<std::string> DescribeCalibration(const ConvertOptions& options) {
  const CalibrationOptions& calibration = options.calibration;
  if (!calibration.enabled()) return std::string();
  const CalibrationText parameters = TextOf(calibration, {});
  if (calibration.self) {
    return FormatText("self {} x {} seed {}", parameters.sequences, parameters.length,
                      parameters.seed);
  }
  KRAFLA_ASSIGN_OR_RETURN(const std::string text, ReadText(calibration));
  return FormatText("text {:016x} {} x {}", ChecksumOf(text.data(), text.size()),
                    parameters.sequences, parameters.length);
}

StatusOr<std::unique_ptr<CalibratedWriter>> CalibratedWriter::Create(
    const ConvertOptions& options, const std::vector<PlannedTensor>& plan, MlbWriter* writer,
    TensorWriter* tensors) {
  std::unique_ptr<CalibratedWriter> result(new CalibratedWriter());
  result->plan_ = &plan;
  result->writer_ = writer;
  result->tensors_ = tensors;
  KRAFLA_ASSIGN_OR_RETURN(std::string text, ReadText(options.calibration));
  const StopCheck stop{[](void* user) { return static_cast<TensorWriter*>(user)->Report(); },
                       tensors};
  KRAFLA_ASSIGN_OR_RETURN(const std::string copy, CopyAsF32(options, stop));
  std::vector<CalibrationTarget> targets;
  for (const PlannedTensor& planned : plan) {
    if (!IsTarget(planned)) continue;
    targets.push_back({planned.spec.name, planned.format});
  }
  auto calibrator = Calibrator::Create(copy, TextOf(options.calibration, std::move(text)),
                                       std::move(targets), options.threads, stop);
  const Status& status = calibrator.status();
  if (status.code() == absl::StatusCode::kInvalidArgument) {  // of the text
    return ArgumentError("{}: {}", options.calibration.text_path, Message(status));
  }
  KRAFLA_RETURN_IF_ERROR(status);
  result->calibrator_ = *std::move(calibrator);
  return result;
}

Status CalibratedWriter::Write(size_t index) {
  const PlannedTensor& planned = (*plan_)[index];
  if (!IsTarget(planned)) return tensors_->Write(index);
  const uint64_t bytes = PlannedBytes(planned);
  if (writer_->written(index) < bytes) {
    KRAFLA_ASSIGN_OR_RETURN(const std::span<const std::byte> tiles,
                            calibrator_->Tiles(planned.spec.name));
    if (!tiles.empty()) return tensors_->WriteTiles(index, tiles);
    KRAFLA_RETURN_IF_ERROR(tensors_->Write(index));
  }
  if (!calibrator_->WantsTiles(planned.spec.name)) return OkStatus();
  std::vector<std::byte> tiles(bytes);
  KRAFLA_RETURN_IF_ERROR(writer_->ReadBack(index, tiles.data(), tiles.size()));
  calibrator_->Use(planned.spec.name, tiles);
  return OkStatus();
}

}  // namespace krafla
