// simdjson parses (iteratively, UTF-8 checked); the copy into values recurs to kMaxDepth at most.
#include "lib/chat/json_in.h"

#include <simdjson.h>

#include <string>

#include "lib/chat/interpreter.h"

namespace krafla::chat {
namespace {

constexpr size_t kMaxDepth = 128;

// Roles that templates name. Only these: a free role could complete a control token of its own
// choice where a template writes `<|{{ role }}|>`.
bool IsKnownRole(std::string_view role) {
  for (std::string_view known : {"system", "user", "assistant", "tool", "developer", "function",
                                 "ipython", "model", "tool_call", "tool_calls", "tool_response",
                                 "tool_results", "observation", "environment", "context"}) {
    if (role == known) return true;
  }
  return false;
}

// What a part of a message holds beside text: its type, or a key of that name. Empty: nothing.
std::string_view MediaOf(const Value& part) {
  if (!part.Is(Kind::kMap)) return {};
  const Value* type = part.As<MapObject>().Find("type");
  for (const std::string_view media : {"image", "image_url", "input_image", "video", "video_url",
                                       "audio", "audio_url", "input_audio"}) {
    if (part.As<MapObject>().Find(media) != nullptr) return media;
    if (type != nullptr && type->Is(Kind::kString) && type->text().view() == media) return media;
  }
  return {};
}

Status JsonError(simdjson::error_code error) {
  if (error == simdjson::MEMALLOC) return MemoryError("chat input: no memory to read it");
  return ArgumentError("chat input: {}", simdjson::error_message(error));
}

class InputReader {
 public:
  explicit InputReader(Interpreter& in) : in_(in) {}

  StatusOr<Value> Read(const simdjson::dom::element& element) {
    KRAFLA_RETURN_IF_ERROR(CheckMemory());
    switch (element.type()) {
      case simdjson::dom::element_type::ARRAY:
        return ReadArray(element.get_array().value_unsafe());
      case simdjson::dom::element_type::OBJECT:
        return ReadObject(element.get_object().value_unsafe());
      case simdjson::dom::element_type::INT64:
        return Value::Int(element.get_int64().value_unsafe());
      case simdjson::dom::element_type::UINT64:
        return Value::Float(static_cast<double>(element.get_uint64().value_unsafe()));
      case simdjson::dom::element_type::DOUBLE:
        return Value::Float(element.get_double().value_unsafe());
      case simdjson::dom::element_type::STRING:
        return in_.String(std::string(element.get_string().value_unsafe()), false);
      case simdjson::dom::element_type::BOOL:
        return Value::Bool(element.get_bool().value_unsafe());
      case simdjson::dom::element_type::NULL_VALUE:
        break;
    }
    return Value::None();
  }

  // No model here sees or hears, so a part that is no text is an error, not left out or turned into
  // a place-holder.
  static Status CheckParts(const Value& messages) {
    if (!messages.Is(Kind::kList)) return OkStatus();
    for (size_t i = 0; i < messages.items().size(); ++i) {
      const Value& message = messages.items()[i];
      const Value* content =
          message.Is(Kind::kMap) ? message.As<MapObject>().Find("content") : nullptr;
      if (content == nullptr || !content->Is(Kind::kList)) continue;
      for (size_t j = 0; j < content->items().size(); ++j) {
        const std::string_view media = MediaOf(content->items()[j]);
        if (media.empty()) continue;
        return UnsupportedError("messages[{}].content[{}]: a part of kind {}: only text is read", i,
                                j, media);
      }
    }
    return OkStatus();
  }

  // The messages array, with known roles trusted.
  void TrustRoles(const Value& messages) {
    if (!messages.Is(Kind::kList)) return;
    for (const Value& message : messages.items()) {
      if (!message.Is(Kind::kMap)) continue;
      const Value* role = message.As<MapObject>().Find("role");
      if (role == nullptr || !role->Is(Kind::kString) || !IsKnownRole(role->text().view()))
        continue;
      role->As<StringObject>().text = Text(role->text().bytes(), true);
    }
  }

 private:
  Status CheckMemory() {
    if (in_.heap().bytes() <= in_.limits().value_bytes) return OkStatus();
    return TemplateError("chat input: values take more than {} bytes", in_.limits().value_bytes);
  }

  StatusOr<Value> ReadArray(const simdjson::dom::array& array) {
    std::vector<Value> items;
    for (simdjson::dom::element element : array) {
      KRAFLA_ASSIGN_OR_RETURN(Value v, Read(element));
      items.push_back(v);
    }
    return in_.List(std::move(items));
  }

  StatusOr<Value> ReadObject(const simdjson::dom::object& object) {
    MapObject* map = in_.heap().New<MapObject>(0);
    for (simdjson::dom::key_value_pair field : object) {
      KRAFLA_ASSIGN_OR_RETURN(Value v, Read(field.value));
      in_.heap().Charge(sizeof(Value) * 3);
      map->Set(in_.String(std::string(field.key), false), v);
    }
    return Value::Of(Kind::kMap, map);
  }

  Interpreter& in_;
};

// Integers too long for 64 bits, rewritten as floats: simdjson refuses them.
std::string LongIntegersAsFloats(std::string_view json) {
  std::string out;
  for (size_t i = 0; i < json.size();) {
    size_t begin = i;
    if (json[i] == '"') {
      for (++i; i < json.size() && json[i] != '"'; ++i) i += json[i] == '\\';
      i = std::min(i + 1, json.size());
      out.append(json.substr(begin, i - begin));
      continue;
    }
    auto in_number = [&] {
      return i < json.size() && std::string_view("0123456789+-.eE").find(json[i]) < 15;
    };
    while (in_number()) ++i;
    std::string_view number = json.substr(begin, i - begin);
    out.append(number);
    if (number.size() > 18 && number.find_first_of(".eE") == std::string_view::npos) out += ".0";
    if (i == begin) out.push_back(json[i++]);
  }
  return out;
}

}  // namespace

Status SetInput(Interpreter& in, std::string_view json) {
  simdjson::dom::parser parser;
  simdjson::error_code error = parser.allocate(json.size(), kMaxDepth);
  if (error != simdjson::SUCCESS) return JsonError(error);
  simdjson::padded_string padded(json);
  if (padded.size() != json.size()) return JsonError(simdjson::MEMALLOC);
  simdjson::dom::element root;
  error = parser.parse(padded).get(root);
  if (error == simdjson::NUMBER_ERROR) {
    std::string rewritten = LongIntegersAsFloats(json);
    error = parser.allocate(rewritten.size(), kMaxDepth);
    if (error != simdjson::SUCCESS) return JsonError(error);
    padded = simdjson::padded_string(rewritten);
    if (padded.size() != rewritten.size()) return JsonError(simdjson::MEMALLOC);
    error = parser.parse(padded).get(root);
  }
  if (error != simdjson::SUCCESS) return JsonError(error);
  simdjson::dom::object object;
  if (root.get_object().get(object) != simdjson::SUCCESS) {
    return ArgumentError("chat input: got JSON that is no object, want an object");
  }
  InputReader reader(in);
  for (simdjson::dom::key_value_pair field : object) {
    KRAFLA_ASSIGN_OR_RETURN(Value v, reader.Read(field.value));
    if (field.key == "messages") {
      KRAFLA_RETURN_IF_ERROR(InputReader::CheckParts(v));
      reader.TrustRoles(v);
    }
    in.SetVariable(field.key, v);
  }
  return OkStatus();
}

}  // namespace krafla::chat
