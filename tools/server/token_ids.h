// Token ids in requests.
#ifndef KRAFLA_TOOLS_SERVER_TOKEN_IDS_H_
#define KRAFLA_TOOLS_SERVER_TOKEN_IDS_H_

#include <vector>

#include "tools/server/fields.h"
#include "tools/server/model.h"

namespace krafla::server {

// An array of ids of the model's vocabulary.
inline std::vector<int32_t> ReadIds(const Json& array, const ServedModel& model,
                                    const std::string& name) {
  std::vector<int32_t> ids;
  ids.reserve(array.size());
  for (const Json& id : array) {
    ids.push_back(static_cast<int32_t>(ToInteger(id, name, 0, model.info().n_vocab - 1)));
  }
  return ids;
}

}  // namespace krafla::server

#endif  // KRAFLA_TOOLS_SERVER_TOKEN_IDS_H_
