// Sampler: stages and parameters by name, biases, breakers, a stage in Python, and the lists.
#include "sampler.h"

#include <string>
#include <vector>

namespace krafla_python {
namespace {

void AddStage(PySampler& self, const std::string& stage, const py::kwargs& values) {
  std::vector<std::string> names;
  std::vector<krafla_param> params;
  for (const auto& [name, value] : values) {
    names.push_back(py::cast<std::string>(name));
    params.push_back({nullptr, py::cast<double>(value)});
  }
  for (size_t i = 0; i < names.size(); ++i) params[i].name = names[i].c_str();
  krafla::Check(krafla_sampler_add(self.sampler.get(), stage.data(), stage.size(), params.data(),
                                   params.size()));
}

void SetBias(PySampler& self, const std::vector<std::pair<int32_t, double>>& biases) {
  std::vector<krafla_bias> raw;
  for (const auto& [id, bias] : biases) raw.push_back({bias, id, 0});
  self.sampler.SetBias(raw);
}

// function(ids, values, history): values may be changed in place, -inf drops a token.
void SetCustom(PySampler& self, const py::object& function) {
  if (function.is_none()) {
    krafla::Check(krafla_sampler_set_custom(self.sampler.get(), nullptr));
    return;
  }
  self.sampler.SetCustom([&self, function](std::vector<krafla_candidate>& candidates,
                                           const int32_t* history, size_t n_history) {
    const py::gil_scoped_acquire gil;
    try {
      const auto n = static_cast<py::ssize_t>(candidates.size());
      py::array_t<int32_t> ids(n);
      py::array_t<double> values(n);
      for (py::ssize_t i = 0; i < n; ++i) {
        ids.mutable_data()[i] = candidates[static_cast<size_t>(i)].id;
        values.mutable_data()[i] = candidates[static_cast<size_t>(i)].value;
      }
      function(ids, values, py::array_t<int32_t>(static_cast<py::ssize_t>(n_history), history));
      for (py::ssize_t i = 0; i < n; ++i) {
        candidates[static_cast<size_t>(i)].value = values.data()[i];
      }
    } catch (...) {
      self.thrown = std::current_exception();
      throw;
    }
  });
}

int32_t Sample(PySampler& self,
               const py::array_t<float, py::array::c_style | py::array::forcecast>& row) {
  try {
    return self.sampler.Sample(row.data(), static_cast<size_t>(row.size()));
  } catch (const krafla::Error&) {
    self.Rethrow();
    throw;
  }
}

void SetBreakers(PySampler& self, const krafla::Tokenizer& tokenizer,
                 const std::vector<std::string>& breakers) {
  self.sampler.SetBreakers(tokenizer.get(), {breakers.begin(), breakers.end()});
}

// [(name, summary, in the default chain, [(parameter, min, max, default, integer)])]
py::list Stages() {
  py::list stages;
  krafla_stage_info stage{};
  stage.struct_size = sizeof(stage);
  krafla_param_info param{};
  param.struct_size = sizeof(param);
  size_t at = 0;
  for (size_t i = 0; krafla_sampler_stage_at(i, &stage) == KRAFLA_OK; ++i) {
    py::list params;
    for (int32_t j = 0; j < stage.n_params; ++j) {
      krafla::Check(krafla_sampler_param_at(at++, &param));
      params.append(py::make_tuple(param.name, param.min, param.max, param.default_value,
                                   param.integer != 0));
    }
    stages.append(py::make_tuple(stage.name, stage.summary, stage.in_default_chain != 0, params));
  }
  return stages;
}

}  // namespace

void BindSampler(py::module_& module) {
  py::class_<PySampler, std::shared_ptr<PySampler>>(module, "Sampler")
      .def(py::init<>())
      .def(py::init<uint64_t>())
      .def("add", &AddStage)
      .def("add_default", [](PySampler& self) { self.sampler.AddDefault(); })
      .def("set", [](PySampler& self, const std::string& stage, const std::string& name,
                     double value) { self.sampler.Set(stage.c_str(), name.c_str(), value); })
      .def("set_bias", &SetBias)
      .def("set_custom", &SetCustom)
      .def("set_breakers", &SetBreakers)
      .def("seed", [](PySampler& self) { return self.sampler.seed(); })
      .def("reset", [](PySampler& self) { self.sampler.Reset(); })
      .def("accept", [](PySampler& self, int32_t id) { self.sampler.Accept(id); })
      .def("sample", &Sample)
      .def("top", [](PySampler& self, size_t k) { return self.sampler.Top(k); });
  module.def("stages", &Stages);
}

}  // namespace krafla_python
