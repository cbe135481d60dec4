// See json_tree.h.
#include "lib/constraint/json_tree.h"

#include <algorithm>
#include <utility>

#include "lib/base/utf8.h"
#include "lib/constraint/text_cursor.h"

namespace krafla {

class JsonParser : private TextCursor {
 public:
  explicit JsonParser(std::string_view text) : TextCursor(text) {}

  StatusOr<JsonTree> Parse() {
    if (text_.size() > JsonTree::kMaxBytes) {
      return ArgumentError("schema: got {} bytes, want at most {}", text_.size(),
                           JsonTree::kMaxBytes);
    }
    if (const size_t valid = ValidUtf8Prefix(text_); valid != text_.size()) {
      return ArgumentError("schema: byte {}: not UTF-8", valid);
    }
    bool value_wanted = true;
    while (value_wanted) {
      KRAFLA_RETURN_IF_ERROR(Value());
      KRAFLA_ASSIGN_OR_RETURN(value_wanted, Behind());
    }
    Space();
    if (at_ != text_.size()) return Fail("more text behind the value");
    return std::move(tree_);
  }

 private:
  Status Fail(std::string_view what) const {
    return ArgumentError("schema: byte {}: {}", at_, what);
  }
  void Space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
      ++at_;
    }
  }

  // A scalar, or the opening of an array or object with what its first child needs.
  Status Value() {
    for (;;) {
      Space();
      if (tree_.nodes_.size() >= JsonTree::kMaxNodes) {
        return Fail(FormatText("more than {} values", JsonTree::kMaxNodes));
      }
      const auto self = static_cast<uint32_t>(tree_.nodes_.size());
      JsonNode node;
      node.position = static_cast<uint32_t>(at_);
      node.parent = open_.empty() ? kNoNode : open_.back();
      node.key = std::move(key_);
      key_.clear();
      if (!open_.empty()) {
        JsonNode& parent = tree_.nodes_[open_.back()];
        (last_.back() == kNoNode ? parent.first : tree_.nodes_[last_.back()].next) = self;
        ++parent.n_children;
        last_.back() = self;
      }
      tree_.nodes_.push_back(std::move(node));
      if (Skip("[") || Skip("{")) {
        const bool object = text_[at_ - 1] == '{';
        tree_.nodes_[self].kind = object ? JsonKind::kObject : JsonKind::kArray;
        if (open_.size() >= JsonTree::kMaxDepth) {
          return Fail(FormatText("nested deeper than {}", JsonTree::kMaxDepth));
        }
        open_.push_back(self);
        last_.push_back(kNoNode);
        Space();
        if (Skip(object ? "}" : "]")) {
          Close();
          return OkStatus();
        }
        if (object) KRAFLA_RETURN_IF_ERROR(Key());
        continue;
      }
      return Scalar(&tree_.nodes_[self]);
    }
  }

  // What comes behind a value: true where another one is wanted.
  StatusOr<bool> Behind() {
    while (!open_.empty()) {
      Space();
      const bool object = tree_.nodes_[open_.back()].kind == JsonKind::kObject;
      if (Skip(",")) {
        Space();
        if (object) KRAFLA_RETURN_IF_ERROR(Key());
        return true;
      }
      if (!Skip(object ? "}" : "]")) return Fail(object ? "want , or }" : "want , or ]");
      Close();
    }
    return false;
  }

  void Close() {
    open_.pop_back();
    last_.pop_back();
  }

  Status Key() {
    KRAFLA_RETURN_IF_ERROR(String(&key_));
    Space();
    if (!Skip(":")) return Fail("want : behind a key");
    return OkStatus();
  }

  Status Scalar(JsonNode* node) {
    if (at_ < text_.size() && text_[at_] == '"') {
      node->kind = JsonKind::kString;
      return String(&node->text);
    }
    if (Skip("null")) return OkStatus();
    if (Skip("true")) {
      node->kind = JsonKind::kTrue;
      return OkStatus();
    }
    if (Skip("false")) {
      node->kind = JsonKind::kFalse;
      return OkStatus();
    }
    node->kind = JsonKind::kNumber;
    const size_t begin = at_;
    Skip("-");
    const size_t whole = Digits();
    bool valid = whole == 1 || (whole > 1 && text_[at_ - whole] != '0');
    if (valid && Skip(".")) valid = Digits() > 0;
    if (valid && (Skip("e") || Skip("E"))) {
      Skip("+") || Skip("-");
      valid = Digits() > 0;
    }
    if (!valid) {
      at_ = begin;
      return Fail("want a value");
    }
    node->text = text_.substr(begin, at_ - begin);
    return OkStatus();
  }

  size_t Digits() {
    const size_t begin = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    return at_ - begin;
  }

  Status String(std::string* out) {
    out->clear();
    if (!Skip("\"")) return Fail("want a string");
    const size_t begin = at_ - 1;
    for (;;) {
      if (at_ >= text_.size()) {
        at_ = begin;
        return Fail("string is not closed");
      }
      const char c = text_[at_];
      if (static_cast<uint8_t>(c) < 0x20) return Fail("control character in a string");
      ++at_;
      if (c == '"') return OkStatus();
      if (c != '\\') {
        out->push_back(c);
        continue;
      }
      constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
      const size_t letter = at_ < text_.size() ? kLetters.find(text_[at_]) : kLetters.npos;
      if (letter != kLetters.npos) {
        out->push_back(kMeanings[letter]);
        ++at_;
        continue;
      }
      if (!Skip("u")) return Fail("unknown escape in a string");
      KRAFLA_ASSIGN_OR_RETURN(uint32_t value, Hex());
      if (value >= 0xD800 && value <= 0xDBFF && Skip("\\u")) {
        KRAFLA_ASSIGN_OR_RETURN(const uint32_t low, Hex());
        if (low < 0xDC00 || low > 0xDFFF) return Fail("half a surrogate pair");
        value = 0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00);
      }
      if (value >= 0xD800 && value <= 0xDFFF) return Fail("half a surrogate pair");
      AppendUtf8(value, out);
    }
  }

  StatusOr<uint32_t> Hex() {
    uint32_t value = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = at_ < text_.size() ? text_[at_] : '?';
      const size_t digit = std::string_view("0123456789abcdef")
                               .find(c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c);
      if (digit == std::string_view::npos) return Fail("\\u wants four hexadecimal digits");
      value = value * 16 + static_cast<uint32_t>(digit);
    }
    return value;
  }

  JsonTree tree_;
  std::vector<uint32_t> open_, last_;  // open containers, and the last child of each
  std::string key_;
};

StatusOr<JsonTree> JsonTree::Parse(std::string_view text) { return JsonParser(text).Parse(); }

uint32_t JsonTree::Find(uint32_t object, std::string_view key) const {
  uint32_t found = kNoNode;  // the last of equal keys counts, as in most readers
  if (nodes_[object].kind != JsonKind::kObject) return found;
  for (uint32_t n = nodes_[object].first; n != kNoNode; n = nodes_[n].next) {
    if (nodes_[n].key == key) found = n;
  }
  return found;
}

std::string JsonTree::PathOf(uint32_t node) const {
  std::string path;
  for (; node != kNoNode && nodes_[node].parent != kNoNode; node = nodes_[node].parent) {
    const JsonNode& parent = nodes_[nodes_[node].parent];
    std::string step = nodes_[node].key;
    if (parent.kind == JsonKind::kArray) {
      size_t i = 0;
      for (uint32_t n = parent.first; n != node; n = nodes_[n].next) ++i;
      step = FormatText("{}", i);
    }
    path = "/" + step.substr(0, 64) + path;
    if (path.size() > 300) return "#..." + path.substr(path.size() - 300);
  }
  return "#" + path;
}

std::string JsonTree::Canonical(uint32_t node) const {
  const JsonNode& n = nodes_[node];
  switch (n.kind) {
    case JsonKind::kNull:
      return "null";
    case JsonKind::kTrue:
      return "true";
    case JsonKind::kFalse:
      return "false";
    case JsonKind::kNumber:
      return n.text;
    case JsonKind::kString:
      return FormatText("{}:{}", n.text.size(), n.text);
    default:
      break;
  }
  std::vector<std::string> parts;
  for (uint32_t c = n.first; c != kNoNode; c = nodes_[c].next) {
    const std::string key = FormatText("{}:{}=", nodes_[c].key.size(), nodes_[c].key);
    parts.push_back((n.kind == JsonKind::kObject ? key : "") + Canonical(c));
  }
  if (n.kind == JsonKind::kObject) std::sort(parts.begin(), parts.end());
  std::string out(n.kind == JsonKind::kObject ? "{" : "[");
  for (const std::string& part : parts) out += part + ",";
  return out + "]";
}

}  // namespace krafla
