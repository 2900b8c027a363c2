// The script library: functions and classes of ours that are written in the language itself (the folder script/),
// embedded as deflated text and compiled when first used, once for the process.
//
// | file                        | holds                                                                              |
// | --------------------------- | ---------------------------------------------------------------------------------- |
// | builtins/aten.py, prim.py   | overloads tried after the operators of a name (`2 - x`); the body replaces the call |
// | builtins/formulas.py        | functions of sizes that bodies, derivatives and shape rules of operators may call   |
// | builtins/decompositions/    | what decompositions of operators call beside those; sees the names of formulas.py   |
// | builtins/upgraders/v3.py... | operators as archives of old format versions mean them                             |
// | torch/functional.py         | torch.* that are not operators                                                     |
// | torch/nn/functional/        | torch.nn.functional.*: all files of the folder are one namespace                   |
// | torch/nn/modules/, init.py  | torch.nn.*: module classes; torch.nn.init.*                                        |
// | torch/autograd/             | torch.no_grad and its like: script classes                                         |
//
// Functions have qualified names after the path: __torch__.torch.nn.functional.relu. Functions may be defined several
// times: they are overloads, tried in order; or as PyTorch writes them, `@torch.jit._overload` declarations without a
// body followed by the definition, which is compiled for each of them. Besides `def` and `class` a file may have
//   name = boolean_dispatch(arg_name="return_indices", arg_index=6, default=False, if_true=f, if_false=g, ...)
//                                        f or g, by the constant that a call passes for that argument
//   name = torch._C._nn.log_sigmoid      another name of an operator
// and imports, which add nothing: files see the language's names and those of their own namespace.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "sconce/base/list_ref.h"
#include "sconce/frontend/script/names/sugared_value.h"
#include "sconce/passes/analysis/op_graphs.h"

namespace sconce::script {

struct LibrarySource {
  std::string_view path;      // relative to script/, "torch/nn/functional.py"
  ListRef<uint8_t> deflated;  // by zlib
  size_t size;

  std::string text() const;
};

// All embedded files (the list is generated).
SCONCE_API ListRef<LibrarySource> library_sources();

// `path` names a file ("torch/functional.py") or a folder that is one namespace ("torch/nn/functional"). All of this is
// thread-safe and throws Error when a file does not parse (a defect of ours).
//
// The value of `name` there: a FunctionValue, a class, ...; null when there is none, or no such file.
SugaredPtr library_value(Emitter& e, const Range& at, std::string_view path, const std::string& name);
// The functions called `name` there, in order of definition; empty when there is none. They are compiled when first
// called; their schemas are known if the results are annotated.
std::vector<ir::Function*> library_functions(std::string_view path, std::string_view name);
// The names of everything there, for suggestions.
std::vector<std::string> library_names(std::string_view path);
// function.ensure_defined(), for functions of the library one thread at a time.
void ensure_compiled(ir::Function& function);
// A script class by its Python path ("torch.autograd.grad_mode.no_grad"), compiled; null when there is none. One type
// for the process.
SugaredPtr library_class_value(std::string_view path);
TypePtr library_class(std::string_view path);
// Held while parts of the library are declared and compiled.
std::unique_lock<std::recursive_mutex> lock_library();
// Whether this is a function of builtins/, whose body replaces the call.
bool is_inlined_into_callers(const ir::Function& function);

// Bodies and derivatives of the table's operators as graphs, compiled when first asked for (op_graphs.cpp).
passes::OpGraphs* table_graphs();

}  // namespace sconce::script
