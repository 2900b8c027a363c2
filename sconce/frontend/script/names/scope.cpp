#include "sconce/frontend/script/names/scope.h"

#include "sconce/frontend/script/classes/declare_class.h"
#include "sconce/frontend/script/construct/dynamic.h"
#include "sconce/frontend/script/names/archive_names.h"
#include "sconce/frontend/script/names/compile_depth.h"
#include "sconce/frontend/script/names/constant_expressions.h"
#include "sconce/frontend/script/names/names.h"
#include "sconce/frontend/script/program/program_state.h"
#include "sconce/types/class_info.h"

namespace sconce::script {
namespace {

using namespace syntax;

// Point = namedtuple("Point", ["x", "y"]), and the like: a class written as a call.
bool is_class_factory(const std::string& path) {
  return path == "collections.namedtuple" || path == "namedtuple" || path == "typing.NamedTuple" ||
         path == "NamedTuple" || path == "enum.Enum" || path == "Enum" || path == "enum.IntEnum" || path == "IntEnum";
}

bool is_docstring(StmtPtr s) {
  const auto* e = as<ExprStmt>(s);
  const auto* c = e ? as<Constant>(e->value) : nullptr;
  return c && c->literal == Constant::Literal::string;
}

// Names that a Python text may use without importing them, under the usual names of imports.
std::string implicit_import(const std::string& name) {
  if (name == "nn") return "torch.nn";
  if (name == "F") return "torch.nn.functional";
  if (name == "Module") return "torch.nn.Module";
  if (name == "Parameter") return "torch.nn.Parameter";
  if (name == "init") return "torch.nn.init";
  return {};
}

// A module of the host language: its attributes are the names of its scope.
class NamespaceOfHost : public SugaredValue {
 public:
  explicit NamespaceOfHost(const Definition& d) : definition_(d) {}
  std::string kind() const override { return "module"; }
  SugaredPtr attr(Emitter& e, const Range& at, const std::string& name) override {
    if (SugaredPtr found = definition_.members->find_value(e, at, name)) return found;
    refuse(at, "module '{}' has no attribute '{}'", definition_.name, name);
  }
  bool has_attr(Emitter&, const Range&, const std::string& name) override { return definition_.members->find(name); }

 private:
  const Definition& definition_;
};

std::shared_ptr<Resolver> borrowed(Scope& scope) { return {std::shared_ptr<void>(), &scope}; }

}  // namespace

std::string decorator_name(ExprPtr decorator) {
  if (const auto* c = as<Call>(decorator)) decorator = c->callee;
  const std::string name = dotted_name(decorator);
  return name.substr(name.rfind('.') + 1);
}

bool has_decorator(const std::vector<ExprPtr>& decorators, std::string_view name) {
  for (ExprPtr d : decorators) {
    if (decorator_name(d) == name) return true;
  }
  return false;
}

Scope::~Scope() = default;

Definition& Scope::define(Definition::Kind kind, const std::string& name, const TreePtr& tree) {
  Definition*& slot = by_name_[name];
  // Declarations of overloads and their function are one definition.
  if (slot && kind == Definition::Kind::function && slot->kind == kind && slot->tree == tree &&
      slot->compiled.empty() && has_decorator(slot->functions.back()->decorators, "_overload")) {
    return *slot;
  }
  definitions_.push_back(std::make_unique<Definition>());
  slot = definitions_.back().get();
  slot->kind = kind;
  slot->name = name;
  slot->scope = this;
  slot->tree = tree;
  return *slot;
}

void Scope::add(const TreePtr& tree) {
  for (StmtPtr s : tree->body) {
    if (const auto* f = as<FunctionDef>(s)) {
      if (dialect == Dialect::archive && find(f->name)) refuse(f->range, "method '{}' already defined.", f->name);
      define(Definition::Kind::function, f->name, tree).functions.push_back(f);
    } else if (const auto* c = as<ClassDef>(s)) {
      define(Definition::Kind::class_, c->name, tree).class_def = c;
    } else if (const auto* i = as<Import>(s)) {
      if (i->module.starts_with(".")) continue;  // of the library: see find()
      for (const Import::Alias& alias : i->names) {
        const std::string path = i->module.empty() ? alias.name : i->module + "." + alias.name;
        const std::string bound = !alias.as.empty() ? alias.as : alias.name;
        // `import a.b` binds `a`.
        const bool whole = alias.as.empty() && i->module.empty();
        const std::string name = whole ? bound.substr(0, bound.find('.')) : bound;
        define(Definition::Kind::import_, name, tree).path = whole ? name : path;
      }
    } else if (const auto* a = as<Assign>(s)) {
      const auto* call = as<Call>(a->value);
      const bool factory = call && is_class_factory(path_of(call->callee));
      for (ExprPtr target : a->targets) {
        const auto* name = as<Name>(target);
        if (!name) refuse(target->range, "only names can be assigned to at the top of a file");
        if (!a->value) continue;
        define(factory ? Definition::Kind::class_ : Definition::Kind::constant, name->id, tree).assign = a;
      }
    } else if (s->kind != StmtKind::pass && !is_docstring(s)) {
      refuse(s->range,
             "this statement cannot stand at the top of a file: functions, classes, imports and constants can");
    }
  }
}

Definition* Scope::find(std::string_view name) const {
  const auto found = by_name_.find(std::string(name));
  if (found != by_name_.end()) return found->second;
  if (outside) {
    Definition* d = outside(std::string(name));
    if (d) by_name_.emplace(name, d);
    return d;
  }
  return is_library ? state.library_definition("torch.nn.modules." + std::string(name)) : nullptr;
}

std::vector<std::string> Scope::known_names() const {
  std::vector<std::string> names;
  for (const auto& [name, d] : by_name_) names.push_back(name);
  return names;
}

Definition* Scope::find_dotted(std::string_view name, std::string* rest) const {
  const Scope* scope = this;
  while (true) {
    const size_t dot = name.find('.');
    Definition* d = scope->find(name.substr(0, dot));
    name = dot == name.npos ? std::string_view() : name.substr(dot + 1);
    if (!d || d->kind != Definition::Kind::namespace_ || name.empty()) {
      *rest = name.empty() ? std::string() : "." + std::string(name);
      return d;
    }
    scope = d->members;
  }
}

std::string Scope::path_of(ExprPtr e) const { return path_of(dotted_name(e)); }

std::string Scope::path_of(const std::string& written) const {
  if (written.empty()) return written;
  std::string rest;
  if (const Definition* d = find_dotted(written, &rest)) {
    return d->kind == Definition::Kind::import_ ? d->path + rest : written;
  }
  if (dialect == Dialect::python && !outside) {
    const size_t head = std::min(written.find('.'), written.size());
    const std::string path = implicit_import(written.substr(0, head));
    if (!path.empty()) return path + written.substr(head);
  }
  return written;
}

Definition* Scope::class_of(ExprPtr e) const {
  std::string rest;
  Definition* named = find_dotted(dotted_name(e), &rest);
  if (named && rest.empty() && named->kind == Definition::Kind::class_) return named;
  const std::string path = path_of(e);
  if (path.starts_with("__torch__.")) {
    Definition* d = state.find_definition(path);
    return d && d->kind == Definition::Kind::class_ ? d : nullptr;
  }
  Definition* d = state.library_definition(is_library && path.find('.') == path.npos ? "torch.nn." + path : path);
  return d && d->kind == Definition::Kind::class_ ? d : nullptr;
}

ClassKind Scope::kind_of(const Definition& d) const { return kind_of(d, 0); }

ClassKind Scope::kind_of(const Definition& d, int depth) const {
  if (d.known_kind) return *d.known_kind;
  if (depth > 100) refuse(d.class_def->range, "class '{}' derives from itself", d.name);
  if (!d.class_def) {  // written as a call
    const std::string path = path_of(as<Call>(d.assign->value)->callee);
    return path.ends_with("Enum") ? ClassKind::enum_ : ClassKind::named_tuple;
  }
  if (has_decorator(d.class_def->decorators, "interface")) return ClassKind::interface;
  for (ExprPtr base : d.class_def->bases) {
    const std::string path = path_of(base);
    const std::string last = path.substr(path.rfind('.') + 1);
    if (const Definition* other = class_of(base); other && other != &d) {
      const ClassKind kind = other->scope->kind_of(*other, depth + 1);
      if (kind != ClassKind::plain) return kind;
      continue;
    }
    if (last == "Module" || last == "ScriptModule") return ClassKind::module;
    if (last == "NamedTuple") return ClassKind::named_tuple;
    if (last == "Enum" || last == "IntEnum") return ClassKind::enum_;
    if (last == "Interface" || last == "ModuleInterface") return ClassKind::interface;
  }
  return ClassKind::plain;
}

const std::vector<ir::Function*>& Scope::functions_of(Definition& d) {
  if (!d.compiled.empty()) return d.compiled;
  const FunctionDef& implementation = *d.functions.back();
  std::vector<ReplacedFunction> forms;
  if (d.functions.size() > 1) {
    for (size_t i = 0; i + 1 < d.functions.size(); ++i) {
      forms.push_back(overloaded_form(d.tree, *d.functions[i], implementation));
    }
  } else {
    forms.push_back(callable_form(d.tree, implementation));
  }
  for (const ReplacedFunction& form : forms) {
    auto source = std::make_shared<FunctionSource>();
    source->tree = form.tree;
    source->def = form.def;
    source->resolver = borrowed(*this);
    source->defaults = evaluated_defaults(*this, *form.def);
    source->from_archive = dialect == Dialect::archive;
    // Other trees that keep the nodes of the definition alive.
    const TreePtr original = d.tree;
    d.compiled.push_back(
        &state.unit.add_function(state.unit.unique_name(prefix + "." + d.name),
                                 [source, original](ir::Function& f) { compile_function(f, *source); }));
  }
  return d.compiled;
}

TypePtr Scope::type_of(Definition& d) {
  if (!d.type) {
    if (d.evaluating) refuse(d.class_def->name_range, "class '{}' contains itself", d.name);
    const CompileDepth depth;
    if (depth.too_deep()) {
      refuse(d.class_def->name_range, "class '{}' is at the end of too long a chain of classes", d.name);
    }
    d.evaluating = true;
    const std::shared_ptr<void> done(nullptr, [&](void*) { d.evaluating = false; });
    switch (kind_of(d)) {
      case ClassKind::plain:
        declare_script_class(d);
        break;
      case ClassKind::named_tuple:
        declare_named_tuple(d);
        break;
      case ClassKind::enum_:
        declare_enum(d);
        break;
      case ClassKind::interface:
        declare_interface(d);
        break;
      case ClassKind::module:
        if (dialect != Dialect::archive) return nullptr;
        declare_archive_module(d);
        break;
    }
  }
  if (dialect == Dialect::python && d.type->is(TypeKind::class_) && !d.init_started) {
    d.init_started = true;
    if (ir::Function* init = ir::find_method(d.type, "__init__")) {
      try {
        init->ensure_defined();
      } catch (...) {
        d.init_started = false;
        throw;
      }
    }
  }
  return d.type;
}

TypePtr Scope::find_type(const std::string& name) {
  std::string rest;
  if (Definition* d = find_dotted(name, &rest)) {
    if (!rest.empty() && d->kind != Definition::Kind::import_) return nullptr;
    switch (d->kind) {
      case Definition::Kind::class_:
        return d->scope->type_of(*d);
      case Definition::Kind::constant:  // IntList = List[int]
        if (d->value) {
          const TypePtr* type = d->value->get<TypePtr>();
          return type ? *type : nullptr;
        }
        if (d->evaluating) return nullptr;
        d->evaluating = true;
        try {
          TypePtr type = resolve_annotation(d->assign->value, *this);
          d->evaluating = false;
          return type;
        } catch (...) {
          d->evaluating = false;
          throw;
        }
      case Definition::Kind::import_:
        return state.imported_type(d->path + rest);
      case Definition::Kind::function:
      case Definition::Kind::namespace_:
        return nullptr;
    }
  }
  if (name.starts_with("__torch__.")) return state.find_type(name);
  return nullptr;
}

SugaredPtr Scope::find_value(Emitter& e, const Range& at, const std::string& name) {
  if (name == "__torch__") return state.root_value(name);
  const bool of_archive = dialect == Dialect::archive && state.archive_version;
  if (of_archive && name == "CONSTANTS") return state.root_value(name);
  Definition* d = find(name);
  if (!d && of_archive) {
    if (SugaredPtr v = archive_name(name, *state.archive_version, state.missing_message)) return v;
  }
  if (!d) {
    const std::string path = dialect == Dialect::python && !outside ? implicit_import(name) : std::string();
    return path.empty() ? nullptr : state.imported_value(e, at, path);
  }
  switch (d->kind) {
    case Definition::Kind::function:
      return std::make_shared<FunctionValue>(d->scope->functions_of(*d));
    case Definition::Kind::namespace_:
      return std::make_shared<NamespaceOfHost>(*d);
    case Definition::Kind::import_:
      if (SugaredPtr v = state.imported_value(e, at, d->path)) return v;
      if (SugaredPtr v = find_builtin_name(e, at, name)) return v;
      refuse(at, "undefined value {}: it is imported ('{}'), and other files are not read", name, d->path);
    case Definition::Kind::constant:
      return constant_value_of(*d, e, at);
    case Definition::Kind::class_:
      try {
        d->scope->type_of(*d);
      } catch (const CompileError& error) {
        const std::string qualified = prefix + "." + d->name;
        throw error.called_from(d->name + ".__init__", qualified, at)
            .called_from(qualified, e.function().short_name(), at);
      }
      return class_value(*d);
  }
  return nullptr;
}

}  // namespace sconce::script
