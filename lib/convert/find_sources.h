// The tensors of a checkpoint that one of ours comes from: which form it has them in, their names
// and shapes.
#ifndef KRAFLA_LIB_CONVERT_FIND_SOURCES_H_
#define KRAFLA_LIB_CONVERT_FIND_SOURCES_H_

#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/convert/plan.h"

namespace krafla {

// The names of a form's tensors, in the order of PlannedTensor::sources.
std::vector<std::string> FormNames(const TensorForm& form, const TensorSpec& spec);

// Sets form and sources. Names that the checkpoint lacks are appended to `missing`; of several
// forms the first one counts, if none is begun.
Status FindSources(const Import& import, const TensorSpec& spec, PlannedTensor* planned,
                   std::vector<std::string>* missing);

}  // namespace krafla

#endif  // KRAFLA_LIB_CONVERT_FIND_SOURCES_H_
