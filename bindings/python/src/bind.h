// What the parts of the module share: the binding functions, and work in slices between which
// Python's signal handlers run, so that Ctrl-C stops within a token.
#ifndef KRAFLA_BINDINGS_PYTHON_SRC_BIND_H_
#define KRAFLA_BINDINGS_PYTHON_SRC_BIND_H_

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "table.h"

namespace krafla_python {

namespace py = pybind11;

void BindChat(py::module_& module);
void BindConstraint(py::module_& module);
void BindErrors(py::module_& module);
void BindModel(py::module_& module);
void BindSampler(py::module_& module);
void BindScheduler(py::module_& module);
void BindSession(py::module_& module);

// Throws the Python exception that a signal handler has raised.
inline void CheckSignals() {
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

}  // namespace krafla_python

#endif  // KRAFLA_BINDINGS_PYTHON_SRC_BIND_H_
