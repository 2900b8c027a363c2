// Type reconstruction of lite archives, which have no definitions: classes are inferred from the objects in data.pkl.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "sconce/ir/function.h"

namespace sconce::lite {

class Types {
 public:
  Types(ir::CompilationUnit& unit, std::string file) : unit_(unit), file_(std::move(file)) {}

  // The class of this name, made when it is new. Throws Error for custom C++ classes.
  TypePtr find_class(std::string_view name);
  // A type as tables write it, "List[Tensor]", or, a named tuple, "m.P[NamedTuple, [[a, Tensor], [b, int]]]". Names
  // mean classes, or named tuples that were defined so before. Throws Error.
  TypePtr parse(std::string_view text);
  // The same for a schema, where a name may be that of a class, an enum or a named tuple: unknown ones are Any.
  TypePtr parse_in_schema(std::string_view text);

 private:
  std::string define_tuples(std::string_view text, int depth);
  TypePtr find(std::string_view name);

  ir::CompilationUnit& unit_;
  std::string file_;
  std::unordered_map<std::string, TypePtr> tuples_;
};

}  // namespace sconce::lite
