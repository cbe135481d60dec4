// A JSON text as a flat array of nodes that keep their place: the order of members, the digits of
// numbers and the position in the text matter to who compiles a schema. Read by a loop, within
// limits.
#ifndef KRAFLA_LIB_CONSTRAINT_JSON_TREE_H_
#define KRAFLA_LIB_CONSTRAINT_JSON_TREE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"

namespace krafla {

enum class JsonKind : uint8_t { kNull, kFalse, kTrue, kNumber, kString, kArray, kObject };

inline constexpr uint32_t kNoNode = 0xFFFFFFFF;

struct JsonNode {
  JsonKind kind = JsonKind::kNull;
  uint32_t position = 0;  // byte in the text
  uint32_t parent = kNoNode;
  uint32_t first = kNoNode, next = kNoNode;  // child, sibling
  uint32_t n_children = 0;
  std::string key;   // of a member
  std::string text;  // of a string, decoded; of a number, as written
};

class JsonTree {
 public:
  static constexpr size_t kMaxBytes = 2u << 20;
  static constexpr uint32_t kMaxNodes = 200'000;
  static constexpr uint32_t kMaxDepth = 128;

  static StatusOr<JsonTree> Parse(std::string_view text);

  const JsonNode& operator[](uint32_t node) const { return nodes_[node]; }  // 0: the root
  uint32_t size() const { return static_cast<uint32_t>(nodes_.size()); }
  uint32_t Find(uint32_t object, std::string_view key) const;  // kNoNode
  std::string PathOf(uint32_t node) const;                     // "#/properties/a"
  // The value as text, equal for equal values: members in the order of their keys, numbers as they
  // are written. The depth is limited by kMaxDepth.
  std::string Canonical(uint32_t node) const;

 private:
  friend class JsonParser;
  std::vector<JsonNode> nodes_;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_CONSTRAINT_JSON_TREE_H_
