// HostProgram: a program whose texts come from a host language, piece by piece. Python gives the text of a function and
// is asked what the names in it mean, which may be further functions, classes, constants, modules. Modules are not
// constructed here; their instances exist, and are described (dynamic.h).
//
// Definitions live as long as the program. Not thread-safe: one caller at a time.
#pragma once

#include <memory>

#include "sconce/frontend/script/construct/dynamic.h"
#include "sconce/frontend/script/names/scope.h"

namespace sconce::script {

using NamedDynamics = std::vector<std::pair<std::string, Dynamic>>;

struct HostText {
  std::string name;  // of the function or class, whatever the text calls it
  std::string text;
  std::string file;  // for messages, with the number of the first line
  int first_line = 1;
  // What decorators say, by the names that the language knows: "export", "unused", "property", "staticmethod", ...
  std::vector<std::string> marks;
  NamedDynamics defaults = {};  // of parameters
  // Of a function that the host runs itself (@ignore): the operator that calls it back.
  std::string callback = {};
};

class SCONCE_API HostProgram {
 public:
  HostProgram();
  ~HostProgram();
  HostProgram(const HostProgram&) = delete;
  std::shared_ptr<ir::CompilationUnit> unit() const;

  // Names of one function or class. `prefix` begins the qualified names that it gives: "__torch__.m".
  Scope& add_scope(std::string prefix, std::function<Definition*(const std::string& name)> outside);

  // Definitions, each the meaning of its name in its scope. All of these throw CompileError when a text does not parse.
  //
  // A function; declarations of overloads stand before it.
  Definition& add_function(Scope& scope, const std::vector<HostText>& texts);
  // A script class, named tuple, enum or interface: its whole class statement.
  Definition& add_class(Scope& scope, const HostText& text);
  // A class of modules. `text` is a class statement with what is no function in it (annotations, __constants__), and
  // `bases` are the classes behind it in the order of lookup.
  Definition& add_module_class(Scope& scope, const HostText& text, const std::vector<HostText>& methods,
                               std::vector<Definition*> bases);
  // A name of the language's own or of its library: "torch.nn.functional.relu", "math".
  Definition& add_import(Scope& scope, std::string name, std::string path);
  Definition& add_namespace(Scope& scope, std::string name, Scope& members);
  Definition& add_constant(Scope& scope, std::string name, Dynamic value);
  // A function that is compiled already, of this or of another unit, which is kept.
  Definition& add_compiled(Scope& scope, std::string name, ir::Function& function,
                           std::shared_ptr<ir::CompilationUnit> owner);
  // Keeps another program, whose functions are called by this one from now on.
  void keep(std::shared_ptr<ir::CompilationUnit> owner);
  // A class of the library by its path ("torch.nn.modules.linear.Linear"); null when there is none.
  Definition* library_class(std::string_view path);
  // Whether the path means something: a function, a class, a constant, a namespace.
  bool is_known(const std::string& path);

  // The type that an annotation means in a scope.
  TypePtr annotated_type(Scope& scope, const std::string& text);
  // Compiles a function with everything that it calls: one function, or one per overload.
  std::vector<ir::Function*> compile(Definition& function);
  // The type of a class that is no module, its methods compiled.
  TypePtr compile_class(Definition& cls);
  // The type of an attribute of an instance, as its class does not say it.
  void annotate(Instance& instance, const std::string& attribute, Scope& scope, const std::string& type);
  // The object of a module and everything below it, compiled.
  sconce::Value build(const std::shared_ptr<Instance>& instance);
  // The value of a constant of the host as the language has it; nothing, with the reason, when it has none.
  std::optional<sconce::Value> value_of(const Dynamic& v, TypePtr type, std::string* why);

 private:
  Definition& add(Definition::Kind kind, Scope& scope, std::string name);
  void compile_from(size_t first);
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace sconce::script
