// Model and Tokenizer.
#include <optional>
#include <string>
#include <vector>

#include "bind.h"

namespace krafla_python {
namespace {

// A Python function called while a model loads; what it raises ends the load.
struct Progress {
  py::object function;
  std::exception_ptr thrown;

  static int Call(void* user, uint64_t done, uint64_t total) {
    auto& progress = *static_cast<Progress*>(user);
    const py::gil_scoped_acquire gil;
    try {
      CheckSignals();
      if (!progress.function.is_none()) progress.function(done, total);
      return 0;
    } catch (...) {
      progress.thrown = std::current_exception();
      return 1;
    }
  }
};

krafla::Model Open(const std::string& path, int32_t load, int32_t threads,
                   std::optional<uint64_t> budget, py::object progress,
                   std::optional<uint64_t> ram_budget, int32_t reader,
                   const std::string& heat_map) {
  Progress call{std::move(progress), nullptr};
  std::optional<krafla::Model> model;
  try {
    const py::gil_scoped_release release;
    krafla_runtime_options runtime_options = KRAFLA_RUNTIME_OPTIONS_INIT;
    runtime_options.threads = threads;
    runtime_options.has_budget = budget ? 1 : 0;
    runtime_options.budget = budget.value_or(0);
    krafla::Runtime runtime(runtime_options);
    krafla_model_options options = KRAFLA_MODEL_OPTIONS_INIT;
    options.load = load;
    options.progress = Progress::Call;
    options.user = &call;
    krafla_residency_options residency = KRAFLA_RESIDENCY_OPTIONS_INIT;
    residency.budget = ram_budget.value_or(0);
    residency.reader = reader;
    residency.heat_map = heat_map.data();
    residency.heat_map_length = heat_map.size();
    if (ram_budget) options.residency = &residency;
    model.emplace(krafla::Model::Open(path, &runtime, options));
  } catch (const krafla::Error&) {
    if (call.thrown) std::rethrow_exception(call.thrown);
    throw;
  }
  return std::move(*model);
}

py::dict Info(const krafla::Model& model) {
  const krafla_model_info info = model.info();
  py::dict result;
  result["arch"] = info.arch;
  result["name"] = info.name;
  result["n_vocab"] = info.n_vocab;
  result["n_layers"] = info.n_layers;
  result["n_embd"] = info.n_embd;
  result["n_heads"] = info.n_heads;
  result["n_kv_heads"] = info.n_kv_heads;
  result["head_dim"] = info.head_dim;
  result["has_tokenizer"] = info.has_tokenizer != 0;
  result["has_template"] = info.has_template != 0;
  result["max_context"] = info.max_context;
  result["weight_bytes"] = info.weight_bytes;
  result["file_hash"] = info.file_hash;
  return result;
}

py::dict Residency(const krafla::Model& model) {
  const krafla_residency_info info = krafla::GetResidency(model);
  py::dict result;
  result["reader"] = info.reader;
  result["budget"] = info.budget;
  result["dense_bytes"] = info.dense_bytes;
  result["slab_bytes"] = info.slab_bytes;
  result["slot_bytes"] = info.slot_bytes;
  result["slots"] = info.slots;
  result["resident"] = info.resident;
  result["experts"] = info.experts;
  result["hits"] = info.hits;
  result["misses"] = info.misses;
  result["prefetched"] = info.prefetched;
  result["evictions"] = info.evictions;
  result["bytes_read"] = info.bytes_read;
  result["read_ns"] = info.read_ns;
  result["stall_ns"] = info.stall_ns;
  result["shrinks"] = info.shrinks;
  result["grows"] = info.grows;
  result["errors"] = info.errors;
  result["whole_layers"] = info.whole_layers != 0;
  result["expected"] = info.expected;
  result["expected_right"] = info.expected_right;
  return result;
}

py::dict Metadata(const krafla::Model& model) {
  py::dict result;
  const char* key = nullptr;
  const char* value = nullptr;
  for (size_t i = 0; krafla_model_get_metadata(model.get(), i, &key, &value, nullptr) == KRAFLA_OK;
       ++i) {
    result[key] = value;
  }
  return result;
}

py::list Tensors(const krafla::Model& model) {
  py::list result;
  krafla_tensor_info info{};
  info.struct_size = sizeof(info);
  for (size_t i = 0; krafla_model_get_tensor(model.get(), i, &info, nullptr) == KRAFLA_OK; ++i) {
    py::list dims;
    for (const uint64_t dim : info.dims) {
      if (dim != 0) dims.append(dim);
    }
    result.append(py::make_tuple(info.name, info.format, py::tuple(dims), info.bytes));
  }
  return result;
}

// The text of a chat as token ids: only what the template wrote may be control tokens.
std::vector<int32_t> RenderIds(const krafla::Model& model, const krafla::Tokenizer& tokenizer,
                               const std::string& json) {
  return tokenizer.Encode(krafla::Template(model).Render(json, &tokenizer));
}

}  // namespace

void BindModel(py::module_& module) {
  const py::call_guard<py::gil_scoped_release> release;
  py::class_<krafla::Model, std::shared_ptr<krafla::Model>>(module, "Model")
      .def(py::init(&Open), py::arg("path"), py::arg("load"), py::arg("threads"), py::arg("budget"),
           py::arg("progress"), py::arg("ram_budget"), py::arg("reader"), py::arg("heat_map"))
      .def("info", &Info)
      .def("residency", &Residency)
      .def("trim", &krafla::Trim, release)
      .def("metadata", &Metadata)
      .def("tensors", &Tensors)
      .def("plan",
           [](const krafla::Model& model, int64_t context, int32_t kv, int64_t batch) {
             krafla_session_options options = KRAFLA_SESSION_OPTIONS_INIT;
             options.context = context;
             options.kv = kv;
             options.batch = batch;
             const krafla_plan plan = model.Plan(options);
             return py::make_tuple(plan.weights_mapped, plan.weights_read, plan.kv, plan.state,
                                   plan.scratch, plan.total);
           })
      .def("end_ids", &krafla::Model::end_ids);
  py::class_<krafla::Tokenizer, std::shared_ptr<krafla::Tokenizer>>(module, "Tokenizer")
      .def(py::init<const krafla::Model&>(), release)
      .def(
          "encode",
          [](const krafla::Tokenizer& tokenizer, const std::string& text, uint32_t flags) {
            return tokenizer.Encode(text, flags);
          },
          release)
      .def("bos_id", [](const krafla::Tokenizer& tokenizer) { return tokenizer.info().bos_id; })
      .def("decode",
           [](const krafla::Tokenizer& tokenizer, const std::vector<int32_t>& ids, bool skip) {
             return py::bytes(tokenizer.Decode(ids, skip ? KRAFLA_DECODE_SKIP_SPECIAL : 0));
           })
      .def("find",
           [](const krafla::Tokenizer& tokenizer, const std::string& text) {
             int32_t id = -1;
             krafla::Check(krafla_tokenizer_find(tokenizer.get(), text.data(), text.size(), &id));
             return id;
           })
      .def(
          "render",
          [](const krafla::Tokenizer& tokenizer, const krafla::Model& model,
             const std::string& json) { return RenderIds(model, tokenizer, json); },
          release);
}

}  // namespace krafla_python
