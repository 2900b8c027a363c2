// Name resolution: finds the meaning of `torch.nn.functional.relu`, `math.pi`, `print` or `List[int]` for a function
// that is being compiled.
#pragma once

#include "sconce/frontend/script/names/sugared_value.h"

namespace sconce::script {

// Resolver: looks up names that are not variables of the function, first `find` of the program around it (functions,
// classes, constants, captured values), then the language's own.
class Resolver {
 public:
  virtual ~Resolver();
  // Null when unknown.
  virtual SugaredPtr find_value(Emitter& e, const Range& at, const std::string& name) = 0;
  virtual TypePtr find_type(const std::string& name) = 0;
  // The name that one means after imports: "typing.List" for L of `from typing import List as L`.
  virtual std::string full_name(const std::string& name) const { return name; }
  // Names that exist, for spelling suggestions.
  virtual std::vector<std::string> known_names() const { return {}; }
  // Whether the text is our own, which may name operators of sconce::.
  virtual bool is_ours() const { return false; }
};

// The language's own: torch, math, cmath, F, nn, warnings, int, len, print, range, enumerate, ... Null when unknown.
SugaredPtr find_builtin_name(Emitter& e, const Range& at, const std::string& name);

// The same by path, "torch.nn.functional.relu" or "torch.nn", which imports bind. Null when unknown.
SugaredPtr find_path(Emitter& e, const Range& at, std::string_view path);
// Whether find_path would find something.
bool is_path(std::string_view path);
// Whether torch.name means something beside an operator.
bool is_torch_name(const std::string& name);
// The names behind a path ("torch.fft"), and all names without a dot, for suggestions.
std::vector<std::string> names_in(std::string_view path);
std::vector<std::string> builtin_names();

// "int" for aten::Int: how a conversion is written; empty for other operators.
std::string_view cast_name(std::string_view op);

// The value of a constant of the language: torch.long, math.pi. Nothing when the path is not a constant.
std::optional<sconce::Value> language_constant(const std::string& path);

// The type that an annotation means: `Tensor`, `List[int]`, `Optional[Tuple[int, str]]`, `torch.device`, `"quoted"`,
// class names through the resolver, BroadcastingList2[int]. Throws "Unknown type name 'Foo'".
TypePtr resolve_annotation(syntax::ExprPtr annotation, Resolver& resolver);
// The 2 of BroadcastingList2[int] (and of int[2] in archives); else nothing.
std::optional<int32_t> broadcasting_size(syntax::ExprPtr annotation);

// False for the few overloads that TorchScript never chooses by name, because their types are another's too
// (aten::view.dtype: a dtype is an int).
bool chosen_by_name(const Op& op);

// "did you mean 'softmax'?" candidates among `known`, nearest first, at most three.
std::vector<std::string> suggestions(std::string_view wrong, ListRef<std::string> known);
// The same as the end of a message: "\nDid you mean 'softmax'?", or nothing.
std::string did_you_mean(std::string_view wrong, ListRef<std::string> known);

}  // namespace sconce::script
