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
  enum class Kind : uint8_t { function, class_, constant, import_, namespace_ } kind;
  std::string name;
  Scope* scope;
  syntax::TreePtr tree;
  // The function itself is the last one; the others are @torch.jit._overload declarations of its signatures.
  std::vector<const syntax::FunctionDef*> functions;
  const syntax::ClassDef* class_def = nullptr;
  const syntax::Assign* assign = nullptr;
  std::string path;          // of an import: "torch.nn.functional"
  Scope* members = nullptr;  // of a namespace: a module of the host language
  // Of a class that the host describes (host_program.h): what its text would have said otherwise.
  std::optional<ClassKind> known_kind;
  std::optional<std::vector<Definition*>> known_order;  // the classes that it derives from, after itself

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
  std::string full_name(const std::string& name) const override { return path_of(name); }
  bool is_ours() const override { return is_library; }

  Definition* find(std::string_view name) const;  // null when there is none
  // The same for a name with dots, through the namespaces of a host; `rest` is what remains behind the definition.
  Definition* find_dotted(std::string_view name, std::string* rest) const;
  // The meaning of a name of a host's program.
  void bind(const std::string& name, Definition& d) { by_name_[name] = &d; }
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
  std::string path_of(const std::string& dotted) const;
  // The class that a base expression names; null when it is not a class of a text (then path_of names it).
  Definition* class_of(syntax::ExprPtr e) const;

  ProgramState& state;
  const std::string prefix;
  const syntax::Dialect dialect;
  bool is_library = false;  // a file of the library: sees the other modules of torch.nn

  // Of a program whose texts a host language gives (host_program.h): what a name means that no text defines; null when
  // it means nothing there.
  std::function<Definition*(const std::string& name)> outside;
  // Defaults of parameters that the host evaluated, by their expressions.
  std::unordered_map<const syntax::Expr*, std::shared_ptr<Dynamic>> known_defaults;
  // Methods whose text does not parse: an error only when one is called.
  std::unordered_map<const syntax::FunctionDef*, CompileError> broken;

 private:
  ClassKind kind_of(const Definition& d, int depth) const;
  Definition& define(Definition::Kind kind, const std::string& name, const syntax::TreePtr& tree);
  std::vector<std::unique_ptr<Definition>> definitions_;
  mutable std::unordered_map<std::string, Definition*> by_name_;
};

// The last part of a decorator's name, without arguments: "export" of @torch.jit.export.
std::string decorator_name(syntax::ExprPtr decorator);
bool has_decorator(const std::vector<syntax::ExprPtr>& decorators, std::string_view name);
using syntax::dotted_name;

}  // namespace sconce::script
