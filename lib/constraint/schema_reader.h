// Schemas of one document to shapes: every keyword, references, and the combinations of schemas.
#ifndef KRAFLA_LIB_CONSTRAINT_SCHEMA_READER_H_
#define KRAFLA_LIB_CONSTRAINT_SCHEMA_READER_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "lib/constraint/json_tree.h"
#include "lib/constraint/schema.h"
#include "lib/constraint/shape.h"

namespace krafla {

class SchemaReader {
 public:
  SchemaReader(const JsonTree* tree, const SchemaOptions& options)
      : tree_(*tree), options_(options) {}

  StatusOr<Shape> ShapeOf(const Parts& parts);
  // The same schema in fewest words: references followed, what says nothing left out.
  StatusOr<Parts> Simplify(const Parts& parts);
  // The values of `enum` where that is all that the parts say; empty otherwise.
  std::vector<uint32_t> Enumerated(const Parts& parts) const;
  Status At(uint32_t node, Status status) const;  // with the place in front

 private:
  using Node = uint32_t;
  StatusOr<Shape> ShapeOfRef(const SchemaRef& ref);
  StatusOr<Shape> ShapeOfSchema(Node schema);
  StatusOr<Shape> NotShapeOf(Node schema);
  StatusOr<Shape> ShapeOfValue(Node value);
  StatusOr<Shape> ReadSchema(Node schema);
  Status ReadTypes(Node schema, Shape* shape) const;
  StatusOr<Shape> ReadEnum(Node values);
  Status ReadNumbers(Node schema, Shape* shape) const;
  Status ReadStrings(Node schema, Shape* shape) const;
  Status ReadArrays(Node schema, Shape* shape) const;
  Status ReadObjects(Node schema, Shape* shape);
  Status ReadOthers(Node schema, ObjectShape* object) const;
  Status ReadDependencies(Node schema, Shape* shape);
  Status ReadCombinations(Node schema, Shape* shape);
  StatusOr<Shape> ReadOneOf(Node list);
  StatusOr<Shape> ReadCondition(Node schema, Node condition);
  StatusOr<bool> IsEmpty(const Shape& shape, int depth);
  Status CheckKeywords(Node schema) const;

  StatusOr<Node> Resolve(Node reference) const;
  Node FindAnchor(Node from, std::string_view name) const;

  StatusOr<Node> Child(Node schema, std::string_view key, JsonKind kind) const;
  StatusOr<bool> Count(Node schema, std::string_view key, uint32_t* out) const;
  StatusOr<Parts> SchemaAt(Node node) const;
  Status Refuse(Node at, std::string_view what) const;  // UnsupportedError
  Status Bad(Node at, std::string_view what) const;     // ArgumentError

  const JsonTree& tree_;
  const SchemaOptions options_;
  std::map<SchemaRef, std::shared_ptr<const Shape>> shapes_;  // none: being read
  std::unique_ptr<SchemaReader> strict_;                      // of a lenient one, for negations
  size_t work_ = 0, open_ = 0;                                // schemas read, and being read
};

}  // namespace krafla

#endif  // KRAFLA_LIB_CONSTRAINT_SCHEMA_READER_H_
