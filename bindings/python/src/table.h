// The library behind the module: the one that krafla_loader.h chose when the module was imported.
// Every name of the ABI calls through its table, so krafla.hpp works unchanged.
#ifndef KRAFLA_BINDINGS_PYTHON_SRC_TABLE_H_
#define KRAFLA_BINDINGS_PYTHON_SRC_TABLE_H_

struct krafla_functions;
namespace krafla_python {
const krafla_functions* Table();  // null until the module is imported
}

#define KRAFLA_TABLE krafla_python::Table()
#include "krafla/krafla_functions.h"
// After the table's names:
#include "krafla/krafla.hpp"

#endif  // KRAFLA_BINDINGS_PYTHON_SRC_TABLE_H_
