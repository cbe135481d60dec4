// See schema_reader.h: types, scalars, values. Objects and arrays are schema_containers.cc,
// combinations and references schema_combine.cc. The recursion goes as deep as schemas lie in one
// another at one place of the text, which kMaxNesting limits.
#include "lib/constraint/schema_reader.h"

#include <algorithm>
#include <utility>

#include "lib/constraint/regex.h"
#include "lib/constraint/schema_formats.h"

namespace krafla {
namespace {

constexpr size_t kMaxWork = 20000;  // schemas read
constexpr size_t kMaxOpen = 200;    // that are in one another

// Keywords that say something which is not kept.
constexpr std::string_view kRefused[] = {"unevaluatedProperties",
                                         "unevaluatedItems",
                                         "contains",
                                         "minContains",
                                         "maxContains",
                                         "$dynamicRef",
                                         "$recursiveRef",
                                         "$dynamicAnchor",
                                         "extends",
                                         "disallow",
                                         "divisibleBy"};

}  // namespace

Status SchemaReader::Refuse(Node at, std::string_view what) const {
  return UnsupportedError("schema: {} (byte {}): {} is not supported", tree_.PathOf(at),
                          tree_[at].position, what);
}

Status SchemaReader::Bad(Node at, std::string_view what) const {
  return ArgumentError("schema: {} (byte {}): {}", tree_.PathOf(at), tree_[at].position, what);
}

Status SchemaReader::At(Node node, Status status) const {
  if (status.ok() || Message(status).starts_with("schema: ")) return status;
  return Status(status.code(), FormatText("schema: {} (byte {}): {}", tree_.PathOf(node),
                                          tree_[node].position, Message(status)));
}

StatusOr<Shape> SchemaReader::ShapeOf(const Parts& parts) {
  Shape all = Shape::Anything();
  for (const SchemaRef& ref : parts) {
    KRAFLA_ASSIGN_OR_RETURN(const Shape one, ShapeOfRef(ref));
    StatusOr<Shape> both = Intersect(all, one);
    if (!both.ok()) return At(ref.node, both.status());
    all = *std::move(both);
  }
  return all;
}

StatusOr<Shape> SchemaReader::ShapeOfRef(const SchemaRef& ref) {
  if (const auto known = shapes_.find(ref); known != shapes_.end()) {
    if (known->second == nullptr) return Bad(ref.node, "the schema refers to itself in a circle");
    return *known->second;
  }
  if (++work_ > kMaxWork) return Refuse(ref.node, FormatText("more than {} schemas", kMaxWork));
  if (open_ >= kMaxOpen) return Refuse(ref.node, FormatText("nesting beyond {}", kMaxOpen));
  shapes_.emplace(ref, nullptr);
  ++open_;
  StatusOr<Shape> shape = Shape();
  if (ref.use == SchemaRef::kValue) {
    shape = ShapeOfValue(ref.node);
  } else if (ref.use == SchemaRef::kSchema) {
    shape = ReadSchema(ref.node);
  } else {
    shape = NotShapeOf(ref.node);
  }
  --open_;
  if (!shape.ok()) {
    shapes_.erase(ref);
    return At(ref.node, shape.status());
  }
  shapes_[ref] = std::make_shared<const Shape>(*shape);
  return shape;
}

// What a lenient reader passes over makes a shape wider and its complement too narrow, so that it
// negates nothing but what can be kept whole.
StatusOr<Shape> SchemaReader::NotShapeOf(Node schema) {
  if (!options_.lenient) {
    KRAFLA_ASSIGN_OR_RETURN(const Shape shape, ShapeOfSchema(schema));
    return Complement(shape);
  }
  if (strict_ == nullptr) {
    SchemaOptions options = options_;
    options.lenient = false;
    strict_ = std::make_unique<SchemaReader>(&tree_, options);
  }
  const auto shape = strict_->ShapeOfSchema(schema);
  if (!shape.ok()) return Shape::Anything();
  auto rest = Complement(*shape);
  return rest.ok() ? rest : Shape::Anything();
}

StatusOr<Shape> SchemaReader::ShapeOfSchema(Node schema) {
  return ShapeOfRef({schema, SchemaRef::kSchema});
}

StatusOr<Shape> SchemaReader::ShapeOfValue(Node value) {
  const JsonNode& v = tree_[value];
  Shape out;
  switch (v.kind) {
    case JsonKind::kNull:
      out.null = true;
      break;
    case JsonKind::kTrue:
      out.yes = true;
      break;
    case JsonKind::kFalse:
      out.no = true;
      break;
    case JsonKind::kNumber: {
      const auto number = Decimal::Parse(v.text);
      if (!number.ok()) return At(value, number.status());
      out.numbers = NumberSet::Of(*number);
      break;
    }
    case JsonKind::kString: {
      const std::string texts[] = {v.text};
      auto dfa = CharDfa::FromStrings(texts);
      if (!dfa.ok()) return At(value, dfa.status());
      out.strings.push_back({std::make_shared<CharDfa>(*std::move(dfa))});
      break;
    }
    case JsonKind::kArray: {
      ArrayShape array;
      array.open = false;
      array.min = array.max = v.n_children;
      for (Node c = v.first; c != kNoNode; c = tree_[c].next) {
        array.prefix.push_back({{c, SchemaRef::kValue}});
      }
      out.arrays.push_back(std::move(array));
      break;
    }
    case JsonKind::kObject: {
      ObjectShape object;
      for (Node c = v.first; c != kNoNode; c = tree_[c].next) {
        if (tree_.Find(value, tree_[c].key) != c) continue;
        object.named.push_back({tree_[c].key, {{c, SchemaRef::kValue}}, true, false});
      }
      out.objects.push_back(std::move(object));
      break;
    }
  }
  return out;
}

StatusOr<Parts> SchemaReader::SchemaAt(Node node) const {
  const JsonKind kind = tree_[node].kind;
  if (kind == JsonKind::kTrue) return Parts();
  if (kind != JsonKind::kFalse && kind != JsonKind::kObject) {
    return Bad(node, "want a schema: an object, true or false");
  }
  return Parts{{node, SchemaRef::kSchema}};
}

StatusOr<Shape> SchemaReader::ReadSchema(Node schema) {
  KRAFLA_RETURN_IF_ERROR(SchemaAt(schema).status());
  if (tree_[schema].kind == JsonKind::kTrue) return Shape::Anything();
  if (tree_[schema].kind == JsonKind::kFalse) return Shape();
  KRAFLA_RETURN_IF_ERROR(CheckKeywords(schema));
  Shape shape = Shape::Anything();
  KRAFLA_RETURN_IF_ERROR(ReadTypes(schema, &shape));
  KRAFLA_RETURN_IF_ERROR(ReadNumbers(schema, &shape));
  KRAFLA_RETURN_IF_ERROR(ReadStrings(schema, &shape));
  KRAFLA_RETURN_IF_ERROR(ReadArrays(schema, &shape));
  KRAFLA_RETURN_IF_ERROR(ReadObjects(schema, &shape));
  if (const Node value = tree_.Find(schema, "const"); value != kNoNode) {
    KRAFLA_ASSIGN_OR_RETURN(const Shape one, ShapeOfRef({value, SchemaRef::kValue}));
    KRAFLA_ASSIGN_OR_RETURN(shape, Intersect(shape, one));
  }
  KRAFLA_ASSIGN_OR_RETURN(const Node values, Child(schema, "enum", JsonKind::kArray));
  if (values != kNoNode) {
    KRAFLA_ASSIGN_OR_RETURN(const Shape any, ReadEnum(values));
    KRAFLA_ASSIGN_OR_RETURN(shape, Intersect(shape, any));
  }
  KRAFLA_RETURN_IF_ERROR(ReadDependencies(schema, &shape));
  KRAFLA_RETURN_IF_ERROR(ReadCombinations(schema, &shape));
  return shape;
}

Status SchemaReader::CheckKeywords(Node schema) const {
  if (options_.lenient) return OkStatus();
  for (Node n = tree_[schema].first; n != kNoNode; n = tree_[n].next) {
    for (std::string_view keyword : kRefused) {
      if (tree_[n].key == keyword) return Refuse(n, keyword);
    }
  }
  return OkStatus();
}

Status SchemaReader::ReadTypes(Node schema, Shape* shape) const {
  const Node types = tree_.Find(schema, "type");
  if (types == kNoNode) return OkStatus();
  Shape out;
  const auto add = [&](Node n) -> Status {
    const std::string& name = tree_[n].text;
    if (tree_[n].kind != JsonKind::kString) return Bad(n, "want the name of a type");
    if (name == "null") {
      out.null = true;
    } else if (name == "boolean") {
      out.yes = out.no = true;
    } else if (name == "integer") {
      if (out.numbers.empty()) out.numbers = NumberSet::Integers();
    } else if (name == "number") {
      out.numbers = NumberSet::All();
    } else if (name == "string") {
      out.strings = shape->strings;
    } else if (name == "array") {
      out.arrays = shape->arrays;
    } else if (name == "object") {
      out.objects = shape->objects;
    } else {
      return Bad(n, FormatText("no type is named {}", name.substr(0, 64)));
    }
    return OkStatus();
  };
  if (tree_[types].kind == JsonKind::kArray) {
    for (Node n = tree_[types].first; n != kNoNode; n = tree_[n].next)
      KRAFLA_RETURN_IF_ERROR(add(n));
  } else {
    KRAFLA_RETURN_IF_ERROR(add(types));
  }
  *shape = std::move(out);
  return OkStatus();
}

// Strings become one automaton, numbers one set; the rest stays a list.
StatusOr<Shape> SchemaReader::ReadEnum(Node values) {
  Shape out;
  std::vector<std::string> texts;
  for (Node n = tree_[values].first; n != kNoNode; n = tree_[n].next) {
    if (tree_[n].kind == JsonKind::kString) {
      texts.push_back(tree_[n].text);
      continue;
    }
    KRAFLA_ASSIGN_OR_RETURN(const Shape one, ShapeOfRef({n, SchemaRef::kValue}));
    KRAFLA_ASSIGN_OR_RETURN(out, Union(std::move(out), one));
  }
  if (!texts.empty()) {
    auto dfa = CharDfa::FromStrings(texts);
    if (!dfa.ok()) return At(values, dfa.status());
    out.strings.push_back({std::make_shared<CharDfa>(*std::move(dfa))});
  }
  return out;
}

Status SchemaReader::ReadNumbers(Node schema, Shape* shape) const {
  Interval interval;
  const auto bound = [&](std::string_view key, bool low, bool open) -> Status {
    const Node n = tree_.Find(schema, key);
    if (n == kNoNode) return OkStatus();
    if (tree_[n].kind == JsonKind::kTrue || tree_[n].kind == JsonKind::kFalse) {
      // Draft 4: a flag beside minimum or maximum.
      if (!open) return Bad(n, "want a number");
      (low ? interval.low_open : interval.high_open) |= tree_[n].kind == JsonKind::kTrue;
      return OkStatus();
    }
    if (tree_[n].kind != JsonKind::kNumber) return Bad(n, "want a number");
    const auto value = Decimal::Parse(tree_[n].text);
    if (!value.ok()) return At(n, value.status());
    std::optional<Decimal>& end = low ? interval.low : interval.high;
    const int order = end ? Decimal::Compare(*value, *end) : 0;
    const bool tighter = !end || (low ? order > 0 : order < 0) || (order == 0 && open);
    if (!tighter) return OkStatus();
    end = *value;
    (low ? interval.low_open : interval.high_open) = open;
    return OkStatus();
  };
  KRAFLA_RETURN_IF_ERROR(bound("minimum", true, false));
  KRAFLA_RETURN_IF_ERROR(bound("exclusiveMinimum", true, true));
  KRAFLA_RETURN_IF_ERROR(bound("maximum", false, false));
  KRAFLA_RETURN_IF_ERROR(bound("exclusiveMaximum", false, true));
  if (interval.low || interval.high) {
    KRAFLA_ASSIGN_OR_RETURN(shape->numbers,
                            Intersect(shape->numbers, NumberSet::Between(interval)));
  }
  const Node multiple = tree_.Find(schema, "multipleOf");
  if (multiple == kNoNode) return OkStatus();
  if (tree_[multiple].kind != JsonKind::kNumber) return Bad(multiple, "want a number");
  const auto value = Decimal::Parse(tree_[multiple].text);
  if (!value.ok()) return At(multiple, value.status());
  if (value->negative() || value->zero()) return Bad(multiple, "want a number above 0");
  if (!value->is_integer() || value->whole().size() > 4) {
    return options_.lenient ? OkStatus()
                            : Refuse(multiple, "multipleOf other than an integer up to 9999");
  }
  NumberSet of = NumberSet::Integers();
  of.multiple = static_cast<uint32_t>(std::stoul(value->whole()));
  KRAFLA_ASSIGN_OR_RETURN(shape->numbers, Intersect(shape->numbers, of));
  return OkStatus();
}

Status SchemaReader::ReadStrings(Node schema, Shape* shape) const {
  StringShape strings;
  bool any = false;
  KRAFLA_ASSIGN_OR_RETURN(bool given, Count(schema, "minLength", &strings.min));
  any |= given;
  KRAFLA_ASSIGN_OR_RETURN(given, Count(schema, "maxLength", &strings.max));
  any |= given;
  std::vector<CharDfa> sets;
  KRAFLA_ASSIGN_OR_RETURN(const Node pattern, Child(schema, "pattern", JsonKind::kString));
  if (pattern != kNoNode) {
    auto dfa = RegexDfa(tree_[pattern].text, RegexMatch::kSearch);
    if (!dfa.ok() && !options_.lenient) return At(pattern, dfa.status());
    if (dfa.ok()) sets.push_back(*std::move(dfa));
  }
  KRAFLA_ASSIGN_OR_RETURN(const Node format, Child(schema, "format", JsonKind::kString));
  // Of numbers some schemas give a format, too (int32, float); those say nothing here.
  if (format != kNoNode && !shape->strings.empty()) {
    const std::string known = FormatPattern(tree_[format].text);
    if (known.empty() && !options_.lenient) {
      return Refuse(format, FormatText("format {}", tree_[format].text.substr(0, 64)));
    }
    if (!known.empty()) {
      auto dfa = RegexDfa(known, RegexMatch::kWhole);
      if (!dfa.ok()) return At(format, dfa.status());
      sets.push_back(*std::move(dfa));
    }
  }
  if (!any && sets.empty()) return OkStatus();
  for (CharDfa& set : sets) {
    if (strings.strings != nullptr) {
      auto both = CharDfa::Intersect(*strings.strings, set);
      if (!both.ok()) return At(schema, both.status());
      set = *std::move(both);
    }
    strings.strings = std::make_shared<CharDfa>(std::move(set));
  }
  Shape only = Shape::Anything();
  only.strings = {strings};
  KRAFLA_ASSIGN_OR_RETURN(*shape, Intersect(*shape, only));
  return OkStatus();
}

StatusOr<SchemaReader::Node> SchemaReader::Child(Node schema, std::string_view key,
                                                 JsonKind kind) const {
  const Node n = tree_.Find(schema, key);
  if (n == kNoNode || tree_[n].kind == kind) return n;
  const bool text = kind == JsonKind::kString;
  return Bad(n, FormatText("want {}", text                       ? "a string"
                                      : kind == JsonKind::kArray ? "an array"
                                                                 : "an object"));
}

// A whole number; those beyond 32 bits are as good as none.
StatusOr<bool> SchemaReader::Count(Node schema, std::string_view key, uint32_t* out) const {
  const Node n = tree_.Find(schema, key);
  if (n == kNoNode) return false;
  if (tree_[n].kind != JsonKind::kNumber) return Bad(n, "want a number");
  const auto value = Decimal::Parse(tree_[n].text);
  if (!value.ok()) return At(n, value.status());
  if (value->negative() || !value->is_integer()) return Bad(n, "want a whole number, 0 or more");
  *out = value->whole().size() > 9 ? 1'000'000'000u
                                   : static_cast<uint32_t>(std::stoul(value->whole()));
  return true;
}

}  // namespace krafla
