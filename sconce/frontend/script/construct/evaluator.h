// Evaluator: a tree-walking interpreter of Python statements while modules are built, for __init__ methods, helper
// functions, constants at the top of files. Tensors go through the operator registry, with gradients off.
//
// Sources may be hostile: the number of steps and the depth of calls are limited.
#pragma once

#include <unordered_map>

#include "sconce/base/function_ref.h"
#include "sconce/dispatch/registry.h"
#include "sconce/frontend/script/construct/dynamic.h"
#include "sconce/frontend/script/program/program_state.h"

namespace sconce::script {

struct DynamicArguments {
  std::vector<Dynamic> positional;
  std::vector<std::pair<std::string, Dynamic>> keywords;
};

class Evaluator {
 public:
  explicit Evaluator(ProgramState& state);
  ~Evaluator();

  // An expression at the top of a file. All of these throw CompileError.
  Dynamic evaluate(Scope& scope, syntax::ExprPtr e);
  // The value of a name of a file; constants are evaluated once.
  Dynamic value_of(Definition& d) { return definition(d); }
  // A new instance of a class: modules, script classes, named tuples.
  Dynamic instantiate(Definition& cls, DynamicArguments args, const Range& at);
  Dynamic call(const Dynamic& callee, DynamicArguments args, const Range& at);
  Dynamic attribute(const Dynamic& v, const std::string& name, const Range& at);
  // Nothing when there is none.
  std::optional<Dynamic> find_attribute(const Dynamic& v, const std::string& name, const Range& at);
  Dynamic item_of(const Dynamic& v, const Dynamic& index, const Range& at) { return get_item(v, index, at); }
  void set_attribute(const Dynamic& v, const std::string& name, Dynamic value, const Range& at);

  ProgramState& state;

 private:
  // Values that own each other (a module whose hook is a closure over it, a list that is its own item) end with the
  // evaluator, which remembers every instance, and every list and dict that gained something after it was made.
  using Owner = std::variant<std::weak_ptr<Instance>, std::weak_ptr<DynamicList>, std::weak_ptr<DynamicDict>>;
  void remember(Owner owner);
  // `gained` is, or may have brought, a new item of `v`.
  void remember_change(const Dynamic& v, const Dynamic& gained);

  enum class Flow : uint8_t { next, return_, break_, continue_ };
  struct Frame {
    Scope* scope;
    Definition* owner = nullptr;  // of a method: the class it stands in
    std::shared_ptr<Instance> self;
    std::unordered_map<std::string, Dynamic> variables;
    Dynamic result;
  };
  // Counts, and throws when a limit is passed.
  class Step {
   public:
    Step(Evaluator& e, const Range& at);
    ~Step() { --e_.depth_; }
    Step(const Step&) = delete;

   private:
    Evaluator& e_;
  };

  // statements
  Flow run(Frame& f, const syntax::Body& body);
  Flow run(Frame& f, syntax::StmtPtr s);
  void assign(Frame& f, syntax::ExprPtr target, Dynamic value);
  Dynamic run_function(const DynamicFunction& function, DynamicArguments args, const Range& at);

  // expressions
  Dynamic expr(Frame& f, syntax::ExprPtr e);
  Dynamic name(Frame& f, const syntax::Name& n);
  Dynamic definition(Definition& d);
  Dynamic subscript(Frame& f, const syntax::Subscript& s);
  DynamicArguments arguments(Frame& f, const syntax::Call& c);
  std::vector<Dynamic> index(Frame& f, const syntax::Subscript& s);
  bool truth(const Dynamic& v, const Range& at);
  std::vector<Dynamic> iterate(const Dynamic& v, const Range& at);

  // operators
  Dynamic binary(syntax::Operator op, const Dynamic& a, const Dynamic& b, const Range& at);
  Dynamic unary(syntax::Operator op, const Dynamic& a, const Range& at);
  bool compare(syntax::Operator op, const Dynamic& a, const Dynamic& b, const Range& at);
  Dynamic get_item(const Dynamic& v, const Dynamic& index, const Range& at);
  void set_item(const Dynamic& v, const Dynamic& index, Dynamic value, const Range& at);
  Dynamic slice(const Dynamic& v, const Dynamic& start, const Dynamic& stop, const Dynamic& step, const Range& at);

  // names of the language's own, and methods of its values
  std::optional<Dynamic> path_value(const std::string& path, const Range& at);
  Dynamic call_name(const std::string& path, DynamicArguments args, const Range& at);
  Dynamic call_method(const Dynamic& self, const std::string& name, DynamicArguments args, const Range& at);
  // Attributes of values: shape of a tensor, fields of a named tuple, methods.
  std::optional<Dynamic> value_attribute(const Dynamic& v, const std::string& name, const Range& at);
  bool is_instance(const Dynamic& v, const Dynamic& cls, const Range& at);
  // An operator of the registry.
  Dynamic call_operator(const std::string& name, const DynamicArguments& args, const Range& at);
  // An instance of a class of C++.
  Dynamic construct_custom(TypePtr type, const DynamicArguments& args, const Range& at);
  // f over arguments as values; `name` is for errors.
  Dynamic call_with(const std::string& name, const DynamicArguments& args, const Range& at,
                    FunctionRef<std::vector<sconce::Value>(std::vector<sconce::Value>&&, std::vector<NamedValue>&&)> f);

  int64_t steps_left_;
  int depth_ = 0;
  std::vector<Owner> owners_;
  size_t remembered_ = 64;  // when so many are there, those that have ended are forgotten
};

// Numbers as Python takes them; throw CompileError naming what was expected.
int64_t to_integer(const Dynamic& v, const Range& at);
double to_real(const Dynamic& v, const Range& at);

}  // namespace sconce::script
