#include "sconce/frontend/script/program/program.h"

#include "sconce/frontend/script/construct/evaluator.h"
#include "sconce/frontend/script/construct/module_types.h"
#include "sconce/frontend/script/names/archive_names.h"
#include "sconce/frontend/script/names/constant_expressions.h"
#include "sconce/types/class_info.h"

namespace sconce::script {

struct Program::Impl {
  std::shared_ptr<ProgramState> state = std::make_shared<ProgramState>();
  std::string prefix;

  Scope* scope() const { return state->find_scope(prefix); }

  void compile(Definition& d) {
    if (d.kind == Definition::Kind::function) {
      for (ir::Function* f : d.scope->functions_of(d)) f->ensure_defined();
    } else if (d.kind == Definition::Kind::class_) {
      const TypePtr type = d.scope->type_of(d);
      if (!type || !type->is(TypeKind::class_)) return;
      // By index: compiling one may add others.
      const ClassInfo& info = *type->class_info();
      for (size_t i = 0; i < info.methods.size(); ++i) info.methods[i].second->ensure_defined();
      for (size_t i = 0; i < info.statics.size(); ++i) info.statics[i].second->ensure_defined();
    }
  }
};

Program::Program(std::string_view source, const ProgramOptions& options) : impl_(std::make_unique<Impl>()) {
  impl_->prefix = options.prefix;
  impl_->state->load = options.load;
  if (options.load) impl_->state->archive_version = kNewestArchiveVersion;
  impl_->state->constants = options.constants;
  define(source, options);
}
Program::~Program() = default;
Program::Program(Program&&) noexcept = default;

ir::CompilationUnit& Program::unit() const { return impl_->state->unit; }

std::shared_ptr<ir::CompilationUnit> Program::shared_unit() const { return {impl_->state, &impl_->state->unit}; }

void Program::define(std::string_view source, const ProgramOptions& options) {
  const auto text = std::make_shared<Source>(options.name, std::string(source), options.first_line);
  const syntax::TreePtr tree = syntax::parse(text, options.dialect);
  Scope* scope = impl_->state->find_scope(options.prefix);
  if (!scope) scope = &impl_->state->add_scope(options.prefix, options.dialect);
  const size_t first = scope->definitions().size();
  scope->add(tree);
  if (!options.compile_all) return;
  const auto& all = scope->definitions();
  // Beside modules stand functions that only their construction calls: those are compiled when a method needs them.
  bool has_modules = false;
  for (size_t i = first; i < all.size(); ++i) {
    has_modules |= all[i]->kind == Definition::Kind::class_ && options.dialect == syntax::Dialect::python &&
                   scope->kind_of(*all[i]) == ClassKind::module;
  }
  for (size_t i = first; i < all.size() && !has_modules; ++i) impl_->compile(*all[i]);
}

ir::Function* Program::find_function(std::string_view name) const {
  Scope* scope = impl_->scope();
  Definition* d = scope->find(name);
  return d && d->kind == Definition::Kind::function ? scope->functions_of(*d).front() : nullptr;
}

std::vector<std::string> Program::function_names() const {
  std::vector<std::string> names;
  for (const auto& d : impl_->scope()->definitions()) {
    if (d->kind == Definition::Kind::function) names.push_back(d->name);
  }
  return names;
}

TypePtr Program::find_class(std::string_view name) const {
  Scope* scope = impl_->scope();
  Definition* d = scope->find(name);
  return d && d->kind == Definition::Kind::class_ ? scope->type_of(*d) : nullptr;
}

TypePtr Program::find_qualified_type(std::string_view name) const { return impl_->state->find_type(name); }

ir::Function* Program::find_qualified_function(std::string_view name) const {
  Definition* d = impl_->state->find_definition(name);
  return d && d->kind == Definition::Kind::function ? d->scope->functions_of(*d).front() : nullptr;
}

bool Program::is_module_class(std::string_view name) const {
  Definition* d = impl_->scope()->find(name);
  return d && d->kind == Definition::Kind::class_ && d->scope->kind_of(*d) == ClassKind::module;
}

sconce::Value Program::evaluate(std::string_view expression) const {
  const auto text = std::make_shared<Source>("<expression>", std::string(expression));
  const syntax::ParsedExpr parsed = syntax::parse_expression(text);
  return evaluate(parsed.expr);
}

sconce::Value Program::evaluate(syntax::ExprPtr expression) const {
  return evaluate_constant(*impl_->scope(), expression, nullptr);
}

sconce::Value Program::build_module(std::string_view class_name, const std::vector<sconce::Value>& args,
                                    const std::vector<std::pair<std::string, sconce::Value>>& kwargs) {
  ProgramState& state = *impl_->state;
  Definition* d = impl_->scope()->find(class_name);
  if (!d) d = state.library_definition(class_name);  // "torch.nn.Linear"
  SCONCE_CHECK(d && d->kind == Definition::Kind::class_ && d->scope->kind_of(*d) == ClassKind::module,
               "the program has no module class '{}'", class_name);
  DynamicArguments given;
  for (const sconce::Value& v : args) given.positional.push_back(from_value(v));
  for (const auto& [name, v] : kwargs) given.keywords.emplace_back(name, from_value(v));
  const Range& at = d->class_def->name_range;
  const Dynamic made = state.evaluator->instantiate(*d, std::move(given), at);
  return state.modules->build(*made.get<std::shared_ptr<Instance>>(), at);
}

}  // namespace sconce::script
