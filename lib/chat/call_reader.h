// Reads one tool call that is a JSON object, byte by byte: {"name": ..., "arguments": {...}}, with
// "parameters" for arguments or "function" for the name, also in OpenAI's shape ({"type":
// "function", "function": {...}}). The raw text of the arguments streams out as soon as the name is
// known. Structure is followed by counting; whether the object is JSON is found when it closes.
#ifndef KRAFLA_LIB_CHAT_CALL_READER_H_
#define KRAFLA_LIB_CHAT_CALL_READER_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace krafla::chat {

class CallReader {
 public:
  enum class State : uint8_t { kMore, kDone, kBroken };

  // Begins with '{'. Not called any more after kDone or kBroken.
  State Push(char c);

  // For forms that write name and arguments apart: as if the object had begun with this name, then
  // "arguments"; the arguments' bytes follow, and '}' once they are closed.
  void Begin(std::string_view name);
  bool begun() const { return has_arguments_; }  // the arguments
  bool arguments_closed() const {
    return has_arguments_ && !is_arguments_ && part_ == Part::kComma && depth_ == base_;
  }

  // Known from some byte on; empty before.
  const std::string& name() const { return name_; }
  const std::string& id() const { return id_; }
  // What came of the arguments since the last call of this, once the name is known; "{}" at the end
  // of an object that has none.
  std::string TakeArguments();

 private:
  enum class Part : uint8_t { kKey, kColon, kValue, kComma };

  void StartValue(char c);
  void EndValue();
  State EndObject();
  void Keep(char c);

  int depth_ = 0;
  int base_ = 1;  // the depth at which the call's own members are
  bool in_string_ = false;
  bool escaped_ = false;
  Part part_ = Part::kKey;
  std::string raw_;  // of the whole object
  std::string key_;
  std::string value_;  // of a member that is kept: name, id, arguments as a string
  bool keeps_value_ = false;
  bool is_arguments_ = false;
  bool has_arguments_ = false;
  bool broken_ = false;
  std::string name_, id_, arguments_;
};

}  // namespace krafla::chat

#endif  // KRAFLA_LIB_CHAT_CALL_READER_H_
