#include "sconce/frontend/script/program/host_program.h"

#include <algorithm>

#include "sconce/frontend/script/classes/declare_class.h"
#include "sconce/frontend/script/construct/module_types.h"
#include "sconce/frontend/script/names/names.h"
#include "sconce/frontend/script/program/program_state.h"

namespace sconce::script {

using namespace syntax;

namespace {

// A tree that keeps the trees alive whose nodes stand in it.
struct HostTree {
  Tree tree;
  std::vector<TreePtr> others;
};

SourcePtr source_of(const HostText& text) { return std::make_shared<Source>(text.file, text.text, text.first_line); }

ExprPtr name_node(Tree& tree, const std::string& id, const Range& at) {
  auto* name = tree.make<Name>();
  name->id = id;
  name->range = at;
  return name;
}

// return unchecked_cast(T, torch.ops.python.f(x, y)): the function calls the host.
Body callback_body(HostTree& made, const FunctionDef& def, const std::string& op) {
  std::string text = "return unchecked_cast(torch.Tensor, torch.ops." + op + "(";
  for (const Parameter& p : def.parameters) text += p.name + ", ";
  text += "))\n";
  const TreePtr parsed = parse_statements(std::make_shared<Source>(std::string(def.range.source->name()), text));
  made.others.push_back(parsed);
  if (!def.returns) return parsed->body;
  const auto* returned = as<Return>(parsed->body.front());
  auto* call = made.tree.make<Call>();
  *call = *as<Call>(returned->value);
  call->args.front() = def.returns;
  auto* statement = made.tree.make<Return>();
  *statement = *returned;
  statement->value = call;
  return {statement};
}

// The one function of a text, under the name and with the marks that the host says.
const FunctionDef* function_in(HostTree& made, Scope& scope, const HostText& text) {
  const TreePtr tree = parse(source_of(text));
  const auto* def = tree->body.size() == 1 ? as<FunctionDef>(tree->body.front()) : nullptr;
  if (!def) {
    const StmtPtr first = tree->body.empty() ? nullptr : tree->body.front();
    refuse(first ? first->range : Range{tree->source, 0, 0}, "Expected a single top-level function");
  }
  made.others.push_back(tree);
  auto* copy = made.tree.make<FunctionDef>();
  *copy = *def;
  copy->name = text.name;
  copy->decorators.clear();
  for (const std::string& mark : text.marks) copy->decorators.push_back(name_node(made.tree, mark, def->name_range));
  for (const auto& [name, value] : text.defaults) {
    for (const Parameter& p : def->parameters) {
      if (p.name == name && p.default_value) scope.known_defaults[p.default_value] = std::make_shared<Dynamic>(value);
    }
  }
  if (!text.callback.empty()) copy->body = callback_body(made, *def, text.callback);
  return copy;
}

// A method that cannot be parsed: its name, for the error to be told when it is called.
const FunctionDef* unreadable(HostTree& made, const HostText& text, const CompileError& error) {
  auto* def = made.tree.make<FunctionDef>();
  def->name = text.name;
  def->range = def->name_range = error.at();
  for (const std::string& mark : text.marks) def->decorators.push_back(name_node(made.tree, mark, error.at()));
  return def;
}

}  // namespace

struct HostProgram::Impl {
  ProgramState state;
  std::vector<std::unique_ptr<Scope>> scopes;
  std::vector<std::unique_ptr<Definition>> definitions;
  std::vector<std::shared_ptr<ir::CompilationUnit>> kept;
  std::vector<TreePtr> trees;  // of annotations
};

HostProgram::HostProgram() : impl_(std::make_shared<Impl>()) {}
HostProgram::~HostProgram() = default;

std::shared_ptr<ir::CompilationUnit> HostProgram::unit() const { return {impl_, &impl_->state.unit}; }

Scope& HostProgram::add_scope(std::string prefix, std::function<Definition*(const std::string&)> outside) {
  // Not among the scopes that are found by their prefix: all functions of a file have the same.
  impl_->scopes.push_back(std::make_unique<Scope>(impl_->state, std::move(prefix), Dialect::python));
  impl_->scopes.back()->outside = std::move(outside);
  return *impl_->scopes.back();
}

Definition& HostProgram::add(Definition::Kind kind, Scope& scope, std::string name) {
  impl_->definitions.push_back(std::make_unique<Definition>());
  Definition& d = *impl_->definitions.back();
  d.kind = kind;
  d.scope = &scope;
  d.name = std::move(name);
  scope.bind(d.name, d);
  return d;
}

Definition& HostProgram::add_function(Scope& scope, const std::vector<HostText>& texts) {
  const auto made = std::make_shared<HostTree>();
  std::vector<const FunctionDef*> functions;
  for (const HostText& text : texts) functions.push_back(function_in(*made, scope, text));
  made->tree.source = made->others.back()->source;
  Definition& d = add(Definition::Kind::function, scope, texts.back().name);
  d.tree = TreePtr(made, &made->tree);
  d.functions = std::move(functions);
  return d;
}

Definition& HostProgram::add_class(Scope& scope, const HostText& text) {
  const TreePtr tree = parse(source_of(text));
  const auto* def = tree->body.size() == 1 ? as<ClassDef>(tree->body.front()) : nullptr;
  if (!def) refuse(Range{tree->source, 0, 0}, "Expected a single top-level class");
  const auto made = std::make_shared<HostTree>();
  made->tree.source = tree->source;
  made->others.push_back(tree);
  Definition& d = add(Definition::Kind::class_, scope, text.name);
  d.tree = TreePtr(made, &made->tree);
  d.class_def = def;
  if (std::find(text.marks.begin(), text.marks.end(), "interface") != text.marks.end())
    d.known_kind = ClassKind::interface;
  return d;
}

Definition& HostProgram::add_module_class(Scope& scope, const HostText& text, const std::vector<HostText>& methods,
                                          std::vector<Definition*> bases) {
  const auto made = std::make_shared<HostTree>();
  const TreePtr tree = parse(source_of(text));
  const auto* written = tree->body.size() == 1 ? as<ClassDef>(tree->body.front()) : nullptr;
  if (!written) refuse(Range{tree->source, 0, 0}, "Expected a single top-level class");
  made->tree.source = tree->source;
  made->others.push_back(tree);
  auto* def = made->tree.make<ClassDef>();
  *def = *written;
  def->name = text.name;
  for (const HostText& method : methods) {
    try {
      def->body.push_back(function_in(*made, scope, method));
    } catch (const CompileError& error) {
      const FunctionDef* stub = unreadable(*made, method, error);
      scope.broken.emplace(stub, error);
      def->body.push_back(stub);
    }
  }
  Definition& d = add(Definition::Kind::class_, scope, text.name);
  d.tree = TreePtr(made, &made->tree);
  d.class_def = def;
  d.known_kind = ClassKind::module;
  d.known_order = std::move(bases);
  return d;
}

Definition& HostProgram::add_import(Scope& scope, std::string name, std::string path) {
  Definition& d = add(Definition::Kind::import_, scope, std::move(name));
  d.path = std::move(path);
  return d;
}

Definition& HostProgram::add_namespace(Scope& scope, std::string name, Scope& members) {
  Definition& d = add(Definition::Kind::namespace_, scope, std::move(name));
  d.members = &members;
  return d;
}

Definition& HostProgram::add_constant(Scope& scope, std::string name, Dynamic value) {
  Definition& d = add(Definition::Kind::constant, scope, std::move(name));
  d.value = std::make_shared<Dynamic>(std::move(value));
  return d;
}

Definition& HostProgram::add_compiled(Scope& scope, std::string name, ir::Function& function,
                                      std::shared_ptr<ir::CompilationUnit> owner) {
  Definition& d = add(Definition::Kind::function, scope, std::move(name));
  d.compiled.push_back(&function);
  keep(std::move(owner));
  return d;
}

void HostProgram::keep(std::shared_ptr<ir::CompilationUnit> owner) {
  auto& kept = impl_->kept;
  if (owner.get() != &impl_->state.unit && std::find(kept.begin(), kept.end(), owner) == kept.end())
    kept.push_back(std::move(owner));
}

Definition* HostProgram::library_class(std::string_view path) {
  Definition* d = impl_->state.library_definition(path);
  return d && d->kind == Definition::Kind::class_ ? d : nullptr;
}

bool HostProgram::is_known(const std::string& path) {
  return is_path(path) || impl_->state.library_definition(path) != nullptr;
}

TypePtr HostProgram::annotated_type(Scope& scope, const std::string& text) {
  const ParsedExpr parsed = parse_expression(std::make_shared<Source>("annotation", text));
  return resolve_annotation(parsed.expr, scope);
}

void HostProgram::compile_from(size_t first) {
  // Compiling declares more.
  for (size_t done = first;;) {
    const std::vector<ir::Function*> all = impl_->state.unit.functions();
    if (done == all.size()) break;
    for (; done < all.size(); ++done) all[done]->ensure_defined();
  }
}

std::vector<ir::Function*> HostProgram::compile(Definition& d) {
  const size_t first = impl_->state.unit.functions().size();
  const std::vector<ir::Function*> functions = d.scope->functions_of(d);
  for (ir::Function* f : functions) f->ensure_defined();
  compile_from(first);
  return functions;
}

TypePtr HostProgram::compile_class(Definition& d) {
  const size_t first = impl_->state.unit.functions().size();
  const TypePtr type = d.scope->type_of(d);
  compile_from(first);
  return type;
}

void HostProgram::annotate(Instance& instance, const std::string& attribute, Scope& scope, const std::string& type) {
  const ParsedExpr parsed = parse_expression(std::make_shared<Source>("annotation", type));
  impl_->trees.push_back(parsed.tree);
  instance.annotations.push_back({attribute, parsed.expr, &scope});
}

sconce::Value HostProgram::build(const std::shared_ptr<Instance>& instance) {
  if (!instance->object.is_none()) return instance->object;
  return impl_->state.modules->build(instance, instance->cls->class_def->name_range);
}

std::optional<sconce::Value> HostProgram::value_of(const Dynamic& v, TypePtr type, std::string* why) {
  if (!type) type = infer_type(v, why);
  return type ? to_value(v, type, why) : std::nullopt;
}

}  // namespace sconce::script
