// References, and the keywords that combine schemas.
#include <algorithm>
#include <utility>

#include "lib/constraint/schema_reader.h"

namespace krafla {
namespace {

constexpr int kMaxLookInside = 4;    // how deep emptiness is looked for
constexpr int kMaxReferences = 100;  // that lead to references

// Keywords that say nothing about a value.
constexpr std::string_view kSilent[] = {
    "title",     "description", "default",     "examples", "$comment", "$schema", "readOnly",
    "writeOnly", "deprecated",  "definitions", "$defs",    "$id",      "$anchor", "id"};

bool IsSilent(std::string_view key) {
  return std::find(std::begin(kSilent), std::end(kSilent), key) != std::end(kSilent);
}

}  // namespace

Status SchemaReader::ReadCombinations(Node schema, Shape* shape) {
  for (Node n = tree_[schema].first; n != kNoNode; n = tree_[n].next) {
    const std::string& key = tree_[n].key;
    Shape next;
    if (key == "$ref") {
      KRAFLA_ASSIGN_OR_RETURN(const Node target, Resolve(n));
      KRAFLA_ASSIGN_OR_RETURN(next, ShapeOfSchema(target));
    } else if (key == "not") {
      KRAFLA_RETURN_IF_ERROR(SchemaAt(n).status());
      auto rest = ShapeOfRef({n, SchemaRef::kNotSchema});
      if (!rest.ok()) return At(n, rest.status());
      next = *std::move(rest);
    } else if (key == "if") {
      KRAFLA_ASSIGN_OR_RETURN(next, ReadCondition(schema, n));
    } else if (key == "allOf" || key == "anyOf" || key == "oneOf") {
      if (tree_[n].kind != JsonKind::kArray || tree_[n].n_children == 0) {
        return Bad(n, "want an array of schemas");
      }
      next = key == "allOf" ? Shape::Anything() : Shape();
      if (key == "oneOf") {
        KRAFLA_ASSIGN_OR_RETURN(next, ReadOneOf(n));
      }
      for (Node c = tree_[n].first; c != kNoNode && key != "oneOf"; c = tree_[c].next) {
        KRAFLA_ASSIGN_OR_RETURN(const Shape one, ShapeOfSchema(c));
        auto joined = key == "allOf" ? Intersect(next, one) : Union(std::move(next), one);
        if (!joined.ok()) return At(n, joined.status());
        next = *std::move(joined);
      }
    } else {
      continue;
    }
    auto both = Intersect(*shape, next);
    if (!both.ok()) return At(n, both.status());
    *shape = *std::move(both);
  }
  return OkStatus();
}

// Exactly one: each without those of the others that it may overlap.
StatusOr<Shape> SchemaReader::ReadOneOf(Node list) {
  std::vector<Node> nodes;
  std::vector<Shape> shapes;
  for (Node c = tree_[list].first; c != kNoNode; c = tree_[c].next) {
    KRAFLA_ASSIGN_OR_RETURN(Shape one, ShapeOfSchema(c));
    nodes.push_back(c);
    shapes.push_back(std::move(one));
  }
  if (nodes.size() > 200) return Refuse(list, "oneOf with more than 200 schemas");
  Shape out;
  std::vector<Shape> alone = shapes;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (size_t j = 0; j < nodes.size() && !options_.lenient; ++j) {
      if (i == j) continue;
      auto both = Intersect(shapes[i], shapes[j]);
      if (!both.ok()) return At(list, both.status());
      KRAFLA_ASSIGN_OR_RETURN(const bool apart, IsEmpty(*both, 0));
      if (apart) continue;
      const auto rest = ShapeOfRef({nodes[j], SchemaRef::kNotSchema});
      if (!rest.ok()) {
        return Refuse(list, FormatText("oneOf whose schemas overlap ({})", Message(rest.status())));
      }
      auto cut = Intersect(alone[i], *rest);
      if (!cut.ok()) return At(list, cut.status());
      alone[i] = *std::move(cut);
    }
    auto joined = Union(std::move(out), alone[i]);
    if (!joined.ok()) return At(list, joined.status());
    out = *std::move(joined);
  }
  return out;
}

StatusOr<Shape> SchemaReader::ReadCondition(Node schema, Node condition) {
  Shape yes = Shape::Anything(), no = Shape::Anything();
  const Node then = tree_.Find(schema, "then"), otherwise = tree_.Find(schema, "else");
  if (then == kNoNode && otherwise == kNoNode) return Shape::Anything();
  if (then != kNoNode) {
    KRAFLA_ASSIGN_OR_RETURN(yes, ShapeOfSchema(then));
  }
  if (otherwise != kNoNode) {
    KRAFLA_ASSIGN_OR_RETURN(no, ShapeOfSchema(otherwise));
  }
  KRAFLA_ASSIGN_OR_RETURN(const Shape holds, ShapeOfSchema(condition));
  auto fails = ShapeOfRef({condition, SchemaRef::kNotSchema});
  if (!fails.ok()) return At(condition, fails.status());
  KRAFLA_ASSIGN_OR_RETURN(yes, Intersect(holds, yes));
  KRAFLA_ASSIGN_OR_RETURN(no, Intersect(*fails, no));
  return Union(std::move(yes), no);
}

// True where no value at all fits; false may also mean that it is not known.
StatusOr<bool> SchemaReader::IsEmpty(const Shape& shape, int depth) {
  if (shape.has_scalars()) return false;
  for (const ArrayShape& a : shape.arrays) {
    bool possible = true;
    for (uint32_t i = 0; i < std::min(a.min, 64u) && possible; ++i) {
      if (!a.Has(i) || depth >= kMaxLookInside) continue;
      const auto item = ShapeOf(a.At(i));
      if (!item.ok()) continue;
      KRAFLA_ASSIGN_OR_RETURN(const bool none, IsEmpty(*item, depth + 1));
      possible = !none;
    }
    if (possible) return false;
  }
  for (const ObjectShape& o : shape.objects) {
    bool possible = true;
    for (const ObjectShape::Named& named : o.named) {
      if (!named.required || depth >= kMaxLookInside || !possible) continue;
      const auto value = ShapeOf(named.value);
      if (!value.ok()) continue;  // a schema that is being read: not known
      KRAFLA_ASSIGN_OR_RETURN(const bool none, IsEmpty(*value, depth + 1));
      possible = !none;
    }
    if (possible) return false;
  }
  return true;
}

StatusOr<Parts> SchemaReader::Simplify(const Parts& parts) {
  Parts out;
  for (SchemaRef ref : parts) {
    for (int i = 0; ref.use == SchemaRef::kSchema; ++i) {
      if (i > kMaxReferences) return Bad(ref.node, "the schema refers to itself in a circle");
      Node target = kNoNode;
      bool only = tree_[ref.node].kind == JsonKind::kObject, silent = only;
      for (Node n = tree_[ref.node].first; n != kNoNode && only; n = tree_[n].next) {
        if (IsSilent(tree_[n].key)) continue;
        silent = false;
        only = tree_[n].key == "$ref" && target == kNoNode;
        target = n;
      }
      if (silent) ref.node = kNoNode;
      if (silent || !only || tree_[target].key != "$ref") break;
      KRAFLA_ASSIGN_OR_RETURN(ref.node, Resolve(target));
    }
    if (ref.node == kNoNode ||
        (ref.use == SchemaRef::kSchema && tree_[ref.node].kind == JsonKind::kTrue)) {
      continue;
    }
    out.push_back(ref);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<uint32_t> SchemaReader::Enumerated(const Parts& parts) const {
  std::vector<uint32_t> out;
  std::vector<std::string> texts;
  for (const SchemaRef& ref : parts) {
    const Node values = ref.use == SchemaRef::kSchema ? tree_.Find(ref.node, "enum") : kNoNode;
    if (values == kNoNode || tree_[values].kind != JsonKind::kArray) continue;
    for (Node n = tree_[values].first; n != kNoNode; n = tree_[n].next) {
      std::string text = tree_.Canonical(n);
      if (std::find(texts.begin(), texts.end(), text) != texts.end()) continue;
      texts.push_back(std::move(text));
      out.push_back(n);
    }
    break;
  }
  return out;
}

// "#", "#/pointer", "#anchor", and an $id of this document in front of these.
StatusOr<SchemaReader::Node> SchemaReader::Resolve(Node reference) const {
  if (tree_[reference].kind != JsonKind::kString) return Bad(reference, "want a string");
  const std::string_view whole = tree_[reference].text;
  const size_t hash = std::min(whole.find('#'), whole.size());
  const std::string_view base = whole.substr(0, hash);
  Node at = reference;
  const auto is_resource = [&](Node n) {
    const Node id = tree_.Find(n, "$id");
    return id != kNoNode && tree_[id].kind == JsonKind::kString && !tree_[id].text.starts_with("#");
  };
  if (base.empty()) {
    while (tree_[at].parent != kNoNode && !(at != reference && is_resource(at)))
      at = tree_[at].parent;
  } else {
    at = kNoNode;
    for (Node n = 0; n < tree_.size(); ++n) {
      if (!is_resource(n) || tree_[tree_.Find(n, "$id")].text != base) continue;
      if (at != kNoNode) return Refuse(reference, "an $id that occurs twice");
      at = n;
    }
    if (at == kNoNode) return Refuse(reference, "a reference to another document");
  }
  std::string_view fragment = hash < whole.size() ? whole.substr(hash + 1) : "";
  if (fragment.empty()) return at;
  if (fragment[0] != '/') {
    const Node found = FindAnchor(at, fragment);
    if (found == kNoNode) return Bad(reference, "there is no such anchor, or there are two");
    return found;
  }
  while (!fragment.empty()) {
    fragment.remove_prefix(1);
    const size_t end = std::min(fragment.find('/'), fragment.size());
    std::string step;
    for (size_t i = 0; i < end; ++i) {
      const std::string_view two = fragment.substr(i + 1, 1), three = fragment.substr(i + 1, 2);
      if (fragment[i] == '~' && (two == "0" || two == "1")) {
        step += two == "0" ? '~' : '/';
        ++i;
      } else if (fragment[i] == '%' && three.size() == 2 &&
                 std::isxdigit(static_cast<uint8_t>(three[0])) != 0 &&
                 std::isxdigit(static_cast<uint8_t>(three[1])) != 0) {
        step += static_cast<char>(std::stoi(std::string(three), nullptr, 16));
        i += 2;
      } else {
        step += fragment[i];
      }
    }
    fragment.remove_prefix(end);
    Node next = tree_.Find(at, step);
    if (tree_[at].kind == JsonKind::kArray) {
      next = tree_[at].first;
      for (uint64_t i = 0; next != kNoNode && FormatText("{}", i) != step; ++i)
        next = tree_[next].next;
    }
    if (next == kNoNode) return Bad(reference, "the reference leads nowhere");
    at = next;
  }
  return at;
}

// kNoNode also where two have the name: one may be a value, or of another resource.
SchemaReader::Node SchemaReader::FindAnchor(Node from, std::string_view name) const {
  Node found = kNoNode;
  for (Node n = from; n < tree_.size(); ++n) {
    for (const char* key : {"$anchor", "$id", "id"}) {
      const Node anchor = tree_.Find(n, key);
      if (anchor == kNoNode || tree_[anchor].kind != JsonKind::kString) continue;
      const std::string_view text = tree_[anchor].text;
      const bool same =
          key[1] == 'a' ? text == name : text.starts_with("#") && text.substr(1) == name;
      if (!same) continue;
      if (found != kNoNode && found != n) return kNoNode;
      found = n;
    }
  }
  return found;
}

}  // namespace krafla
