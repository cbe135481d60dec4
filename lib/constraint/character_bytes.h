// How a set of characters looks in bytes: as UTF-8, or inside the quotes of a JSON string. In the
// latter what JSON requires to be escaped has its shortest escape, characters beyond ASCII may also
// be \uXXXX, and nothing else is escaped: so ASCII text has one form, and whatever json.dumps or
// JSON.stringify writes is among the forms.
#ifndef KRAFLA_LIB_CONSTRAINT_CHARACTER_BYTES_H_
#define KRAFLA_LIB_CONSTRAINT_CHARACTER_BYTES_H_

#include <cstdint>
#include <map>
#include <vector>

#include "lib/constraint/code_points.h"

namespace krafla {

// Adds paths over bytes to an automaton. Tails that lead to one node are shared.
class CharacterBytes {
 public:
  class Target {
   public:
    virtual ~Target() = default;
    virtual uint32_t AddNode() = 0;
    virtual void AddEdge(uint32_t from, uint8_t first, uint8_t last, uint32_t to) = 0;
  };
  explicit CharacterBytes(Target* target) : target_(*target) {}

  void AddUtf8(const CodePointSet& set, uint32_t from, uint32_t to);
  void AddJson(const CodePointSet& set, uint32_t from, uint32_t to);

 private:
  struct Step {  // one byte of a sequence
    uint8_t first, last;
  };
  void AddUtf8Range(uint32_t first, uint32_t last, uint32_t from, uint32_t to);
  void AddEscapes(uint32_t first, uint32_t last, uint32_t from, uint32_t to);
  void AddHex(uint32_t first, uint32_t last, uint32_t from, uint32_t to);
  void AddHexDigits(uint32_t first, uint32_t last, int digits, uint32_t from, uint32_t to);
  // A node with the edges of one hexadecimal digit in [first, last], or of the bytes, to `to`.
  uint32_t HexBefore(uint32_t first, uint32_t last, uint32_t to);
  uint32_t Before(Step step, uint32_t to);
  void AddHexEdges(uint32_t first, uint32_t last, uint32_t from, uint32_t to);

  Target& target_;
  const CodePointSet escaped_{{0, 0x1F}, {'"', '"'}, {'\\', '\\'}};  // in a JSON string
  std::map<std::vector<uint32_t>, uint32_t> tails_;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_CONSTRAINT_CHARACTER_BYTES_H_
