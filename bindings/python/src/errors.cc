// krafla::Error becomes one of the exceptions of krafla/_errors.py, chosen by its code.
#include "bind.h"

namespace krafla_python {

void BindErrors(py::module_& module) {
  // Kept by the module: the translator may run as long as it does.
  module.attr("_error") = py::module_::import("krafla._errors").attr("error");
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const krafla::Error& error) {
      const py::object make = py::module_::import("krafla._krafla").attr("_error");
      const py::object made = make(error.code(), error.name(), error.what());
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
    }
  });
}

}  // namespace krafla_python
