// Types of a lite archive, which has no definitions: classes are known by name, and what attributes they have by the
// objects in data.pkl.
#pragma once

#include <string>
#include <string_view>

#include "sconce/types/type.h"

namespace sconce::lite {

class ArchiveTypes {
 public:
  ArchiveTypes();

  // The class of this name, made when it is new. Throws Error for a class of C++ that the library does not have.
  TypePtr find_class(std::string_view name);
  // A type as PyTorch annotates it: "Dict[str, List[Tensor]]", or, a named tuple, "m.P[NamedTuple, [[a, Tensor], [b,
  // int]]]", which is known by its name from then on. In a schema, names that are unknown mean Any. Throws Error.
  TypePtr parse(std::string_view text, bool in_schema = false);

 private:
  friend class TypeReader;
  TypePtr find(std::string_view name) const;  // null when there is none
  void add(TypePtr type);                     // in place of one of the same name
  size_t place_of(std::string_view name) const;

  Ref<TypeScope> scope_;
  TypeList named_;  // classes and named tuples, by name
};

}  // namespace sconce::lite
