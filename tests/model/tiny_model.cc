// Reading of test checkpoints.
#include "tests/model/tiny_model.h"

#include <simdjson.h>

#include <bit>
#include <cstring>

#include "lib/file/mlb_writer.h"
#include "lib/model/arch.h"
#include "tests/support/catch.h"
#include "tests/support/temp_folder.h"

namespace krafla::test {

struct JsonValues::Document {
  simdjson::dom::parser parser;
  simdjson::dom::element root;

  std::optional<simdjson::dom::element> Find(std::string_view key) const {
    simdjson::dom::element at = root;
    while (true) {
      const size_t dot = key.find('.');
      if (at.at_key(key.substr(0, dot)).get(at) != simdjson::SUCCESS) return std::nullopt;
      if (dot == std::string_view::npos) return at;
      key.remove_prefix(dot + 1);
    }
  }
};

JsonValues::JsonValues(const std::string& json) : document_(new Document) {
  REQUIRE(document_->parser.parse(json).get(document_->root) == simdjson::SUCCESS);
}
JsonValues::~JsonValues() = default;

template <typename T>
std::optional<T> As(const std::optional<simdjson::dom::element>& element) {
  T value;
  if (!element || element->get(value) != simdjson::SUCCESS) return std::nullopt;
  return value;
}

std::optional<int64_t> JsonValues::Integer(std::string_view key) const {
  return As<int64_t>(document_->Find(key));
}
std::optional<double> JsonValues::Number(std::string_view key) const {
  return As<double>(document_->Find(key));
}
std::optional<bool> JsonValues::Bool(std::string_view key) const {
  return As<bool>(document_->Find(key));
}
std::optional<std::string> JsonValues::String(std::string_view key) const {
  const auto text = As<std::string_view>(document_->Find(key));
  return text ? std::optional<std::string>(*text) : std::nullopt;
}
std::optional<std::vector<double>> JsonValues::Numbers(std::string_view key) const {
  const auto array = As<simdjson::dom::array>(document_->Find(key));
  if (!array) return std::nullopt;
  std::vector<double> numbers;
  for (const auto element : *array) numbers.push_back(double(element));
  return numbers;
}
bool JsonValues::Has(std::string_view key) const { return document_->Find(key).has_value(); }

namespace {

double Element(const std::string& type, const char* data, size_t i) {
  if (type == "BF16") {
    uint16_t bits;
    std::memcpy(&bits, data + 2 * i, 2);
    return std::bit_cast<float>(uint32_t{bits} << 16);
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
  const JsonValues values(ReadWholeFile(DataPath(name) + "/config.json"));
  const Arch* arch = FindHfArch("LlamaForCausalLM");
  REQUIRE(arch != nullptr);
  Config config;
  const Status status = arch->config_from_hf(values, &config);
  INFO(Message(status));
  REQUIRE(status.ok());
  REQUIRE(ValidateConfig(config).ok());
  return config;
}

std::shared_ptr<Runtime> MakeRuntime(int32_t threads, uint64_t budget) {
  RuntimeOptions options;
  options.threads.threads = threads;
  options.budget = budget;
  auto runtime = Runtime::Create(options);
  REQUIRE(runtime.ok());
  return *runtime;
}

namespace {

std::vector<std::byte> Pack(Format format, const TensorSpec& spec, const Tensor& tensor) {
  const std::vector<float> values(tensor.values.begin(), tensor.values.end());
  std::vector<std::byte> bytes(spec.rows == 0 ? values.size() * 4
                                              : MatrixBytes(format, spec.rows, spec.cols));
  if (spec.rows == 0) {
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  }
  const auto rows = static_cast<size_t>(spec.rows);
  const auto cols = static_cast<size_t>(spec.cols);
  for (size_t row = 0; row < rows; row += 16) {
    REQUIRE(PackTile(format, values.data() + row * cols, cols, std::min<size_t>(16, rows - row),
                     cols, bytes.data() + row / 16 * TileBytes(format, cols))
                .ok());
  }
  return bytes;
}

}  // namespace

void WriteTiny(const std::string& name, Format format, const std::string& path) {
  const Config config = ReadConfig(name);
  const auto tensors = ReadSafetensors(DataPath(name) + "/model.safetensors");
  const auto specs = FindArch(config.arch)->tensors(config);
  MlbWriter writer;
  for (const MetaEntry& entry : ConfigToMetadata(config)) writer.AddMetadata(entry);
  for (const TensorSpec& spec : specs) {
    MlbWriter::TensorDecl decl;
    decl.name = spec.name;
    decl.type = spec.rows == 0 ? 0 : static_cast<uint32_t>(format);
    decl.layout = spec.rows == 0 ? 0 : 1;
    if (spec.rows == 0) {
      decl.dims = {static_cast<uint64_t>(spec.cols)};
    } else {
      decl.dims = {static_cast<uint64_t>(spec.rows), static_cast<uint64_t>(spec.cols)};
    }
    REQUIRE(writer.AddTensor(decl).ok());
  }
  REQUIRE(writer.Begin(path).ok());
  for (size_t i = 0; i < specs.size(); ++i) {
    INFO(specs[i].hf_name);
    REQUIRE(tensors.count(specs[i].hf_name) == 1);
    const auto bytes = Pack(format, specs[i], tensors.at(specs[i].hf_name));
    REQUIRE(writer.Write(i, bytes.data(), bytes.size()).ok());
  }
  REQUIRE(writer.Finish().ok());
}

std::shared_ptr<const Model> OpenTiny(const std::string& name, Format format,
                                      std::shared_ptr<Runtime> runtime) {
  const TempFolder folder;
  const std::string path = folder / "model.mlb";
  WriteTiny(name, format, path);
  auto source = OpenMapped(path);
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
