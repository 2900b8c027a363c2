#include "sconce/frontend/script/program/program_state.h"

#include "sconce/dispatch/custom/custom_class.h"
#include "sconce/frontend/script/classes/classes.h"
#include "sconce/frontend/script/classes/declare_class.h"
#include "sconce/frontend/script/construct/evaluator.h"
#include "sconce/frontend/script/construct/module_types.h"

namespace sconce::script {
namespace {

// A part of a qualified name: __torch__.m of __torch__.m.K.
class QualifiedName : public SugaredValue {
 public:
  QualifiedName(ProgramState& state, std::string name) : state_(state), name_(std::move(name)) {}
  std::string kind() const override { return "name '" + name_ + "'"; }
  SugaredPtr attr(Emitter& e, const Range& at, const std::string& name) override {
    const std::string qualified = name_ + "." + name;
    if (Definition* d = state_.find_definition(qualified)) return d->scope->find_value(e, at, name);
    if (const TypePtr type = find_custom_class(qualified)) return custom_class_value(type);
    return std::make_shared<QualifiedName>(state_, qualified);
  }

 private:
  ProgramState& state_;
  const std::string name_;
};

// CONSTANTS.c3
class ConstantTable : public SugaredValue {
 public:
  explicit ConstantTable(ProgramState& state) : state_(state) {}
  std::string kind() const override { return "table of constants"; }
  SugaredPtr attr(Emitter& e, const Range& at, const std::string& name) override {
    return simple(e.constant(at, state_.archive_constant(at, name)));
  }

 private:
  ProgramState& state_;
};

class NoNames : public Resolver {
 public:
  SugaredPtr find_value(Emitter&, const Range&, const std::string&) override { return nullptr; }
  TypePtr find_type(const std::string&) override { return nullptr; }
};

}  // namespace

ProgramState::ProgramState()
    : evaluator(std::make_unique<Evaluator>(*this)), modules(std::make_unique<ModuleTypes>(*this)) {}
ProgramState::~ProgramState() = default;

Scope* ProgramState::find_scope(std::string_view prefix) const {
  const auto found = by_prefix_.find(std::string(prefix));
  return found == by_prefix_.end() ? nullptr : found->second;
}

const sconce::Value& ProgramState::archive_constant(const Range& at, const std::string& name) const {
  size_t index = 0;
  bool digits = name.size() > 1 && name.size() < 10 && name[0] == 'c';
  for (size_t i = 1; digits && i < name.size(); ++i) {
    digits = name[i] >= '0' && name[i] <= '9';
    index = index * 10 + static_cast<size_t>(name[i] - '0');
  }
  if (!digits || index >= constants.size()) refuse(at, "the archive has no constant '{}'", name);
  return constants[index];
}

Scope& ProgramState::add_scope(const std::string& prefix, syntax::Dialect dialect) {
  scopes_.push_back(std::make_unique<Scope>(*this, prefix, dialect));
  by_prefix_[prefix] = scopes_.back().get();
  return *scopes_.back();
}

Definition* ProgramState::find_definition(std::string_view qualified) {
  const size_t dot = qualified.rfind('.');
  if (dot == qualified.npos) return nullptr;
  const std::string qualifier(qualified.substr(0, dot));
  Scope* scope = find_scope(qualifier);
  if (!scope && load) {
    if (const SourcePtr source = load(qualifier)) {
      scope = &add_scope(qualifier, syntax::Dialect::archive);
      scope->add(syntax::parse(source, syntax::Dialect::archive));
    }
  }
  return scope ? scope->find(qualified.substr(dot + 1)) : nullptr;
}

TypePtr ProgramState::find_type(std::string_view qualified) {
  if (Definition* d = find_definition(qualified); d && d->kind == Definition::Kind::class_) {
    if (const TypePtr type = d->scope->type_of(*d)) return type;
  }
  if (const TypePtr type = unit.find_type(qualified)) return type;
  return qualified.starts_with(kCustomClasses) ? find_custom_class(qualified) : find_class_type(qualified);
}

SugaredPtr ProgramState::root_value(const std::string& name) {
  if (name == "CONSTANTS") return std::make_shared<ConstantTable>(*this);
  return std::make_shared<QualifiedName>(*this, name);
}

SugaredPtr ProgramState::imported_value(Emitter& e, const Range& at, const std::string& path) {
  if (Definition* d = library_definition(path); d && d->kind == Definition::Kind::class_) {
    return d->scope->find_value(e, at, d->name);
  }
  size_t end = path.find('.');
  SugaredPtr found = find_builtin_name(e, at, path.substr(0, end));
  while (found && end != path.npos) {
    const size_t start = end + 1;
    end = path.find('.', start);
    found = found->attr(e, at, path.substr(start, end == path.npos ? path.npos : end - start));
  }
  return found;
}

TypePtr ProgramState::imported_type(const std::string& path) {
  if (Definition* d = library_definition(path)) {
    return d->kind == Definition::Kind::class_ ? d->scope->type_of(*d) : nullptr;
  }
  // typing.List and the like are known by their own names to annotations.
  if (path.starts_with("typing.")) return nullptr;
  const auto parsed = syntax::parse_expression(std::make_shared<Source>("<import>", path));
  NoNames none;
  try {
    return resolve_annotation(parsed.expr, none);
  } catch (const CompileError&) {
    return nullptr;
  }
}

}  // namespace sconce::script
