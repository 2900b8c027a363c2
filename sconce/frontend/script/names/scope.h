// Scope: the symbol table of one source text (or of several that share their names), functions, classes, constants,
// imports. Nothing is compiled or evaluated before it is needed, so the order of definitions does not matter.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <unordered_map>

#include "sconce/frontend/script/emit/emitter.h"
#include "sconce/syntax/parser.h"

namespace sconce::script {

class ProgramState;
class Scope;
struct Dynamic;

// The kind of a class statement, by its bases and decorators.
enum class ClassKind : uint8_t { plain, module, named_tuple, enum_, interface };

struct Definition {
  enum class Kind : uint8_t { function, class_, constant, import_ } kind;
  std::string name;
  Scope* scope;
  syntax::TreePtr tree;
  // The function itself is the last one; the others are @torch.jit._overload declarations of its signatures.
  std::vector<const syntax::FunctionDef*> functions;
  const syntax::ClassDef* class_def = nullptr;
  const syntax::Assign* assign = nullptr;
  std::string path;  // of an import: "torch.nn.functional"

  // Made when first needed.
  std::vector<ir::Function*> compiled;
  TypePtr type = nullptr;  // of a class; a module class has one for each kind of instance
  std::vector<std::pair<std::string, std::optional<sconce::Value>>> defaults;  // of a named tuple's fields
  // Generated methods: those of dataclasses.
  std::vector<std::pair<syntax::TreePtr, const syntax::FunctionDef*>> written_methods;
  bool init_started = false;       // of a class: its __init__ is compiled, or being compiled
  std::shared_ptr<Dynamic> value;  // of a constant
  bool evaluating = false;
};

class Scope : public Resolver {
 public:
  // `prefix` begins the qualified names: "__torch__".
  Scope(ProgramState& state, std::string prefix, syntax::Dialect dialect)
      : state(state), prefix(std::move(prefix)), dialect(dialect) {}
  ~Scope() override;

  // Adds the definitions of a text. Throws CompileError for statements that cannot stand at the top of a file.
  void add(const syntax::TreePtr& tree);

  SugaredPtr find_value(Emitter& e, const Range& at, const std::string& name) override;
  TypePtr find_type(const std::string& name) override;
  std::vector<std::string> known_names() const override;
  bool is_ours() const override { return is_library; }

  Definition* find(std::string_view name) const;  // null when there is none
  // In order of definition.
  const std::vector<std::unique_ptr<Definition>>& definitions() const { return definitions_; }

  // The functions that a definition means, one per overload; not compiled yet.
  const std::vector<ir::Function*>& functions_of(Definition& d);
  // The type of a class that is not a module, declared on first use; its attributes are known unless its __init__ is
  // being compiled right now.
  TypePtr type_of(Definition& d);
  ClassKind kind_of(const Definition& d) const;
  // The path of a dotted name after imports: `nn.Module` is "torch.nn.Module", a class of this text is just its name.
  // Empty when the expression is not a dotted name.
  std::string path_of(syntax::ExprPtr e) const;
  // The class that a base expression names; null when it is not a class of a text (then path_of names it).
  Definition* class_of(syntax::ExprPtr e) const;

  ProgramState& state;
  const std::string prefix;
  const syntax::Dialect dialect;
  bool is_library = false;  // a file of the library: sees the other modules of torch.nn

 private:
  ClassKind kind_of(const Definition& d, int depth) const;
  Definition& define(Definition::Kind kind, const std::string& name, const syntax::TreePtr& tree);
  std::vector<std::unique_ptr<Definition>> definitions_;
  std::unordered_map<std::string, Definition*> by_name_;
};

// The last part of a decorator's name, without arguments: "export" of @torch.jit.export.
std::string decorator_name(syntax::ExprPtr decorator);
bool has_decorator(const std::vector<syntax::ExprPtr>& decorators, std::string_view name);
using syntax::dotted_name;

}  // namespace sconce::script
