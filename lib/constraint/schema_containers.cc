// The keywords of arrays and objects.
#include <algorithm>
#include <utility>

#include "lib/constraint/regex.h"
#include "lib/constraint/schema_reader.h"

namespace krafla {

Status SchemaReader::ReadArrays(Node schema, Shape* shape) const {
  ArrayShape array;
  Node tuple = tree_.Find(schema, "prefixItems"), rest = tree_.Find(schema, "items");
  if (rest != kNoNode && tree_[rest].kind == JsonKind::kArray) {
    tuple = rest;  // before draft 2020-12
    rest = tree_.Find(schema, "additionalItems");
  }
  if (tuple != kNoNode) {
    if (tree_[tuple].kind != JsonKind::kArray) return Bad(tuple, "want an array");
    for (Node n = tree_[tuple].first; n != kNoNode; n = tree_[n].next) {
      KRAFLA_ASSIGN_OR_RETURN(Parts item, SchemaAt(n));
      array.prefix.push_back(std::move(item));
    }
  }
  if (rest != kNoNode) {
    KRAFLA_ASSIGN_OR_RETURN(array.rest, SchemaAt(rest));
    if (tree_[rest].kind == JsonKind::kFalse) {
      array.open = false;
      array.max = static_cast<uint32_t>(array.prefix.size());
    }
  }
  uint32_t max = kUnbounded;
  KRAFLA_RETURN_IF_ERROR(Count(schema, "minItems", &array.min).status());
  KRAFLA_RETURN_IF_ERROR(Count(schema, "maxItems", &max).status());
  array.max = std::min(array.max, max);
  const Node unique = tree_.Find(schema, "uniqueItems");
  array.unique = unique != kNoNode && tree_[unique].kind == JsonKind::kTrue && !options_.lenient;
  Shape only = Shape::Anything();
  only.arrays = {std::move(array)};
  KRAFLA_ASSIGN_OR_RETURN(*shape, Intersect(*shape, only));
  return OkStatus();
}

// patternProperties and additionalProperties: keys fall into kinds by the patterns they match.
Status SchemaReader::ReadOthers(Node schema, ObjectShape* object) const {
  object->others.clear();
  struct Kind {
    CharDfa keys;
    Parts value;
    bool matched = false;
    bool refused = false;  // by a pattern whose schema is false
  };
  std::vector<Kind> kinds;
  kinds.push_back({CharDfa::All(), {}});
  KRAFLA_ASSIGN_OR_RETURN(const Node patterns,
                          Child(schema, "patternProperties", JsonKind::kObject));
  for (Node n = patterns == kNoNode ? kNoNode : tree_[patterns].first; n != kNoNode;
       n = tree_[n].next) {
    const auto dfa = RegexDfa(tree_[n].key, RegexMatch::kSearch);
    if (!dfa.ok()) return At(n, dfa.status());
    KRAFLA_ASSIGN_OR_RETURN(const Parts value, SchemaAt(n));
    std::vector<Kind> next;
    for (Kind& kind : kinds) {
      auto with = CharDfa::Intersect(kind.keys, *dfa), without = CharDfa::Minus(kind.keys, *dfa);
      if (!with.ok() || !without.ok()) return At(n, with.ok() ? without.status() : with.status());
      const bool refused = kind.refused || tree_[n].kind == JsonKind::kFalse;
      if (!with->empty())
        next.push_back({*std::move(with), Join(kind.value, value), true, refused});
      kind.keys = *std::move(without);
      if (!kind.keys.empty()) next.push_back(std::move(kind));
    }
    if (next.size() > 64) return Refuse(n, "more than 64 kinds of keys");
    kinds = std::move(next);
  }
  Parts additional;
  bool closed = false;
  if (const Node n = tree_.Find(schema, "additionalProperties"); n != kNoNode) {
    KRAFLA_ASSIGN_OR_RETURN(additional, SchemaAt(n));
    closed = tree_[n].kind == JsonKind::kFalse;
  }
  for (Kind& kind : kinds) {
    if (kind.refused || (!kind.matched && closed)) continue;
    std::shared_ptr<const CharDfa> keys;
    if (!kind.keys.IsAll()) keys = std::make_shared<CharDfa>(std::move(kind.keys));
    object->others.push_back({std::move(keys), kind.matched ? std::move(kind.value) : additional});
  }
  return OkStatus();
}

Status SchemaReader::ReadObjects(Node schema, Shape* shape) {
  ObjectShape object;
  KRAFLA_RETURN_IF_ERROR(ReadOthers(schema, &object));
  KRAFLA_ASSIGN_OR_RETURN(const Node properties, Child(schema, "properties", JsonKind::kObject));
  for (Node n = properties == kNoNode ? kNoNode : tree_[properties].first; n != kNoNode;
       n = tree_[n].next) {
    if (tree_.Find(properties, tree_[n].key) != n) continue;
    KRAFLA_ASSIGN_OR_RETURN(Parts value, SchemaAt(n));
    object.named.push_back(
        {tree_[n].key, std::move(value), false, tree_[n].kind == JsonKind::kFalse});
  }
  KRAFLA_ASSIGN_OR_RETURN(const Node patterns,
                          Child(schema, "patternProperties", JsonKind::kObject));
  for (Node n = patterns == kNoNode ? kNoNode : tree_[patterns].first; n != kNoNode;
       n = tree_[n].next) {
    KRAFLA_ASSIGN_OR_RETURN(const CharDfa dfa, RegexDfa(tree_[n].key, RegexMatch::kSearch));
    KRAFLA_ASSIGN_OR_RETURN(const Parts value, SchemaAt(n));
    for (ObjectShape::Named& named : object.named) {
      if (!dfa.Matches(named.key)) continue;
      named.value = Join(named.value, value);
      named.forbidden |= tree_[n].kind == JsonKind::kFalse;
    }
  }
  const Node required = tree_.Find(schema, "required");
  if (required != kNoNode && tree_[required].kind == JsonKind::kArray) {
    for (Node n = tree_[required].first; n != kNoNode; n = tree_[n].next) {
      if (tree_[n].kind != JsonKind::kString) return Bad(n, "want the name of a property");
      if (object.Find(tree_[n].text) == nullptr) object.named.push_back(object.At(tree_[n].text));
      for (ObjectShape::Named& named : object.named) named.required |= named.key == tree_[n].text;
    }
  } else if (required != kNoNode && tree_[required].kind != JsonKind::kTrue &&
             tree_[required].kind != JsonKind::kFalse) {
    return Bad(required, "want an array");
  }
  KRAFLA_RETURN_IF_ERROR(Count(schema, "minProperties", &object.min).status());
  KRAFLA_RETURN_IF_ERROR(Count(schema, "maxProperties", &object.max).status());
  if (const Node names = tree_.Find(schema, "propertyNames"); names != kNoNode) {
    KRAFLA_ASSIGN_OR_RETURN(const Shape keys, ShapeOfSchema(names));
    CharDfa allowed;
    for (const StringShape& s : keys.strings) {
      KRAFLA_ASSIGN_OR_RETURN(const CharDfa one, StringsOf(s));
      KRAFLA_ASSIGN_OR_RETURN(allowed, CharDfa::Union(allowed, one));
    }
    for (ObjectShape::Named& named : object.named) named.forbidden |= !allowed.Matches(named.key);
    std::vector<ObjectShape::Others> others;
    for (ObjectShape::Others& other : object.others) {
      CharDfa both = allowed;
      if (other.keys) {
        KRAFLA_ASSIGN_OR_RETURN(both, CharDfa::Intersect(*other.keys, allowed));
      }
      if (!both.empty())
        others.push_back({std::make_shared<CharDfa>(std::move(both)), other.value});
    }
    object.others = std::move(others);
  }
  Shape only = Shape::Anything();
  only.objects = {std::move(object)};
  KRAFLA_ASSIGN_OR_RETURN(*shape, Intersect(*shape, only));
  return OkStatus();
}

// Where a key is present, others must be (dependentRequired), or a schema must hold.
Status SchemaReader::ReadDependencies(Node schema, Shape* shape) {
  for (std::string_view keyword : {"dependentRequired", "dependentSchemas", "dependencies"}) {
    KRAFLA_ASSIGN_OR_RETURN(const Node all, Child(schema, keyword, JsonKind::kObject));
    for (Node n = all == kNoNode ? kNoNode : tree_[all].first; n != kNoNode; n = tree_[n].next) {
      Shape with = Shape::Anything();
      if (tree_[n].kind == JsonKind::kArray) {
        for (Node name = tree_[n].first; name != kNoNode; name = tree_[name].next) {
          if (tree_[name].kind != JsonKind::kString)
            return Bad(name, "want the name of a property");
          if (with.objects[0].Find(tree_[name].text) != nullptr) continue;
          with.objects[0].named.push_back({tree_[name].text, {}, true, false});
        }
      } else {
        KRAFLA_ASSIGN_OR_RETURN(with, ShapeOfSchema(n));
      }
      ObjectShape without = Shape::Anything().objects[0];
      without.named.push_back({tree_[n].key, {}, false, true});
      Shape both = Shape::Anything();
      both.objects = with.objects;
      both.objects.push_back(std::move(without));
      KRAFLA_ASSIGN_OR_RETURN(*shape, Intersect(*shape, both));
    }
  }
  return OkStatus();
}

}  // namespace krafla
