// Emitter: IR generation, from one function's tree to one graph. Statements and expressions are emitted in order;
// variables are prim::Load and prim::Store, `return`, `break` and `continue` are nodes of their own, until to_ssa()
// makes block inputs and outputs of them all (see to_ssa.h).
#pragma once

#include <functional>
#include <memory>

#include "sconce/frontend/script/calls/calls.h"
#include "sconce/frontend/script/names/names.h"
#include "sconce/frontend/script/names/sugared_value.h"

namespace sconce::script {

class Environment;  // the variables of a block, see environment.h

// The source that a function is compiled from.
struct FunctionSource {
  syntax::TreePtr tree;  // keeps `def` alive
  const syntax::FunctionDef* def = nullptr;
  std::shared_ptr<Resolver> resolver;
  // Of a method: the type of `self` (its first parameter has no annotation then).
  TypePtr self_type = nullptr;
  // Makes the sugared value of `self`; null: a SimpleValue of self_type.
  std::function<SugaredPtr(ir::Value* self)> make_self;
  // In `__init__` of a script class, assignments to self make attributes.
  bool makes_attributes = false;
  // Compiled into its callers rather than called (helpers of the script library).
  bool always_inline = false;
  // Out of an archive: written by a compiler, which may give lists as defaults.
  bool from_archive = false;
  // Default values, if they were evaluated already (methods of modules); by parameter name.
  std::vector<std::pair<std::string, sconce::Value>> defaults;
};

// The schema that the `def` declares: annotations, defaults. Parameters without annotation are Tensors. A missing
// return annotation leaves `returns` empty: it is inferred when the body is compiled. Throws CompileError.
Schema declared_schema(const FunctionSource& source, bool* returns_declared);

// Compiles `source` into the function: graph and schema. Throws CompileError.
void compile_function(ir::Function& function, const FunctionSource& source);

class Emitter {
 public:
  Emitter(ir::Function& function, const FunctionSource& source);
  ~Emitter();
  void run();

  ir::Graph& graph() { return *graph_; }
  ir::Function& function() { return function_; }
  ir::CompilationUnit& unit() { return function_.unit(); }
  Resolver& resolver() { return *source_.resolver; }

  // ---- for sugared values and calls ----
  ir::Value* constant(const Range& at, sconce::Value v, TypePtr type = nullptr);
  ir::Value* none(const Range& at) { return constant(at, sconce::Value()); }
  // A node of `kind` at the insert point.
  ir::Node* node(const Range& at, ir::Symbol kind, ListRef<ir::Value*> inputs, ListRef<TypePtr> outputs);
  ir::Value* tuple(const Range& at, ListRef<ir::Value*> items, TypePtr type = nullptr);
  ir::Value* list(const Range& at, TypePtr element, ListRef<ir::Value*> items);
  TypePtr annotation(syntax::ExprPtr e) { return resolve_annotation(e, resolver()); }

  // ---- expressions ----
  SugaredPtr sugared(syntax::ExprPtr e, TypePtr hint = nullptr);
  ir::Value* value(syntax::ExprPtr e, TypePtr hint = nullptr);
  CallArguments arguments(const syntax::Call& call);
  // bool(v) as a condition takes it; refuses values without a truth value.
  ir::Value* to_bool(const Range& at, ir::Value* v);

 private:
  struct Impl;  // statements, control flow, refinement: the emitter's own files
  friend struct Impl;
  ir::Function& function_;
  const FunctionSource& source_;
  std::shared_ptr<ir::Graph> graph_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sconce::script
