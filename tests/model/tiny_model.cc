// Reading of test checkpoints.
#include "tests/model/tiny_model.h"

#include <simdjson.h>

#include <bit>
#include <cstring>
#include <utility>

#include "lib/convert/convert.h"
#include "lib/convert/import.h"
#include "lib/quant/half.h"
#include "tests/support/catch.h"
#include "tests/support/temp_folder.h"

namespace krafla::test {

namespace {

double Element(const std::string& type, const char* data, size_t i) {
  if (type == "BF16") {
    uint16_t bits;
    std::memcpy(&bits, data + 2 * i, 2);
    return std::bit_cast<float>(uint32_t{bits} << 16);
  }
  if (type == "F16") {
    uint16_t bits;
    std::memcpy(&bits, data + 2 * i, 2);
    return F16ToF32(bits);
  }
  if (type == "F32") {
    float value;
    std::memcpy(&value, data + 4 * i, 4);
    return value;
  }
  REQUIRE(type == "I64");
  int64_t value;
  std::memcpy(&value, data + 8 * i, 8);
  return static_cast<double>(value);
}

}  // namespace

std::map<std::string, Tensor> ReadSafetensors(const std::string& path) {
  const std::string bytes = ReadWholeFile(path);
  REQUIRE(bytes.size() > 8);
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), 8);
  simdjson::dom::parser parser;
  simdjson::dom::object root;
  REQUIRE(parser.parse(bytes.substr(8, header)).get(root) == simdjson::SUCCESS);
  std::map<std::string, Tensor> tensors;
  for (const auto field : root) {
    if (field.key == "__metadata__") continue;
    Tensor& tensor = tensors[std::string(field.key)];
    size_t n = 1;
    for (const auto dim : simdjson::dom::array(field.value["shape"])) {
      tensor.shape.push_back(int64_t(dim));
      n *= static_cast<size_t>(tensor.shape.back());
    }
    const std::string type{std::string_view(field.value["dtype"])};
    const auto begin = static_cast<size_t>(uint64_t(field.value["data_offsets"].at(0)));
    for (size_t i = 0; i < n; ++i) {
      tensor.values.push_back(Element(type, bytes.data() + 8 + header + begin, i));
    }
  }
  return tensors;
}

std::string DataPath(const std::string& name) {
  return std::string(KRAFLA_TEST_DATA) + "/models/" + name;
}

Config ReadConfig(const std::string& name) {
  Import import;
  const Status status = ImportHf(DataPath(name), &import);
  INFO(Message(status));
  REQUIRE(status.ok());
  return import.config;
}

std::shared_ptr<Runtime> MakeRuntime(int32_t threads, uint64_t budget) {
  RuntimeOptions options;
  options.threads.threads = threads;
  options.budget = budget;
  auto runtime = Runtime::Create(options);
  REQUIRE(runtime.ok());
  return *runtime;
}

void WriteTiny(const std::string& name, Format format, const std::string& path) {
  ConvertOptions options;
  options.kind = name.ends_with(".gguf") ? ConvertKind::kGguf : ConvertKind::kHf;
  options.in = DataPath(name);
  options.out = path;
  options.wtype = format;
  const Status status = Convert(options);
  INFO(Message(status));
  REQUIRE(status.ok());
}

namespace {

// Converted once a process: tests open some models dozens of times.
const std::string& TinyPath(const std::string& name, Format format) {
  static const TempFolder folder;
  static std::map<std::pair<std::string, Format>, std::string> paths;
  std::string& path = paths[{name, format}];
  if (path.empty()) {
    const std::string made = folder / (std::to_string(paths.size()) + ".mlb");
    WriteTiny(name, format, made);
    path = made;
  }
  return path;
}

}  // namespace

std::shared_ptr<const Model> OpenTiny(const std::string& name, Format format,
                                      std::shared_ptr<Runtime> runtime) {
  auto source = OpenMapped(TinyPath(name, format));
  REQUIRE(source.ok());
  auto file = MlbFile::Open(*std::move(source));
  INFO(Message(file.status()));
  REQUIRE(file.ok());
  auto model = Model::Open(std::move(runtime), *std::move(file), nullptr, nullptr);
  INFO(Message(model.status()));
  REQUIRE(model.ok());
  return *model;
}

}  // namespace krafla::test
