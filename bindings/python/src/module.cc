// The module krafla._krafla: loads the library and binds its objects. Thin: what is more than one
// call of the ABI is Python (krafla/_core.py).
#include <string>

#include "bind.h"
#include "krafla/krafla_loader.h"

namespace krafla_python {
namespace {

krafla_functions table;  // written once, by the import

}  // namespace

const krafla_functions* Table() { return &table; }

}  // namespace krafla_python

PYBIND11_MODULE(_krafla, module) {
  namespace py = pybind11;
  using krafla_python::table;
  // Called once, by the package, before anything else.
  module.def("load", [](const std::string& folder) {
    char message[512] = "";
    if (table.library == nullptr &&
        krafla_load(&table, folder.c_str(), message, sizeof(message)) != 0) {
      throw py::import_error(message);
    }
  });
  krafla_python::BindErrors(module);
  krafla_python::BindModel(module);
  krafla_python::BindSampler(module);
  krafla_python::BindChat(module);
  krafla_python::BindConstraint(module);
  krafla_python::BindSession(module);
  krafla_python::BindScheduler(module);
  module.def("isa", [] { return std::string(krafla_isa()); });
  module.def("version", [] { return krafla_version(); });
  module.def("arithmetic", [] { return krafla_arithmetic(); });
}
