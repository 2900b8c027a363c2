#include "sconce/frontend/script/construct/evaluator.h"

#include <algorithm>

#include "sconce/frontend/script/construct/module_methods.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/types/class_info.h"

namespace sconce::script {

using namespace syntax;

namespace {

constexpr int64_t kMaxSteps = 20'000'000;  // statements and expressions for one program
constexpr int kMaxDepth = 1000;            // of calls, statements and expressions together

struct NoGrad {
  const bool before = grad_enabled();
  NoGrad() { set_grad_enabled(false); }
  ~NoGrad() { set_grad_enabled(before); }
};

const FunctionDef* find_method_def(const Definition& cls, std::string_view name) {
  if (!cls.class_def) return nullptr;
  const FunctionDef* found = nullptr;
  for (StmtPtr s : cls.class_def->body) {
    const auto* def = as<FunctionDef>(s);
    if (def && def->name == name && !has_decorator(def->decorators, "setter")) found = def;
  }
  return found;
}

}  // namespace

Evaluator::Step::Step(Evaluator& e, const Range& at) : e_(e) {
  if (e.depth_ == 0) e.steps_left_ = kMaxSteps;  // for everything that one call from outside asks for
  if (--e.steps_left_ < 0) refuse(at, "building the program takes more than {} steps", kMaxSteps);
  if (++e.depth_ > kMaxDepth) {
    --e.depth_;
    refuse(at, "building the program nests calls and expressions deeper than {}", kMaxDepth);
  }
}

Evaluator::Evaluator(ProgramState& state) : state(state), steps_left_(kMaxSteps) {}
Evaluator::~Evaluator() {
  const auto end = [](const auto& remembered) {
    const auto owner = remembered.lock();
    if (!owner) return;
    const auto ends = std::move(*owner);  // moved out first: what ends may be the owner's own owner
    *owner = {};
  };
  for (const Owner& owner : owners_) std::visit(end, owner);
}

void Evaluator::remember(Owner owner) {
  if (owners_.size() >= remembered_) {
    std::erase_if(owners_, [](const Owner& o) { return std::visit([](const auto& p) { return p.expired(); }, o); });
    remembered_ = std::max(remembered_, 2 * owners_.size());
  }
  owners_.push_back(std::move(owner));
}

void Evaluator::remember_change(const Dynamic& v, const Dynamic& gained) {
  if (!gained.owns_others()) return;
  const auto* list = v.get<Dynamic::List>();
  const auto* dict = v.get<Dynamic::Dict>();
  if (list && !std::exchange((*list)->is_remembered, true)) remember(*list);
  if (dict && !std::exchange((*dict)->is_remembered, true)) remember(*dict);
}

Dynamic Evaluator::evaluate(Scope& scope, ExprPtr e) {
  Frame frame{.scope = &scope, .owner = nullptr, .self = nullptr, .variables = {}, .result = {}};
  const NoGrad guard;
  return expr(frame, e);
}

// ---- statements ----

Evaluator::Flow Evaluator::run(Frame& f, const Body& body) {
  for (StmtPtr s : body) {
    const Flow flow = run(f, s);
    if (flow != Flow::next) return flow;
  }
  return Flow::next;
}

Evaluator::Flow Evaluator::run(Frame& f, StmtPtr s) {
  const Step step(*this, s->range);
  switch (s->kind) {
    case StmtKind::expr:
      expr(f, static_cast<const ExprStmt*>(s)->value);
      return Flow::next;
    case StmtKind::pass:
      return Flow::next;
    case StmtKind::break_:
      return Flow::break_;
    case StmtKind::continue_:
      return Flow::continue_;
    case StmtKind::return_: {
      const auto* r = static_cast<const Return*>(s);
      f.result = r->value ? expr(f, r->value) : Dynamic();
      return Flow::return_;
    }
    case StmtKind::assign: {
      const auto* a = static_cast<const Assign*>(s);
      if (!a->value) return Flow::next;
      const Dynamic value = expr(f, a->value);
      for (ExprPtr target : a->targets) assign(f, target, value);
      // self.x: T = v says what type the attribute has.
      const auto* target = a->annotation ? as<Attribute>(a->targets.front()) : nullptr;
      if (target && f.self && dotted_name(target->value) == "self") {
        f.self->annotations.push_back({target->attr, a->annotation, f.scope});
      }
      return Flow::next;
    }
    case StmtKind::aug_assign: {
      const auto* a = static_cast<const AugAssign*>(s);
      const Dynamic old = expr(f, a->target), operand = expr(f, a->value);
      if (auto* list = old.get<Dynamic::List>(); list && a->op == Operator::add) {
        for (const Dynamic& item : iterate(operand, a->range)) (*list)->items.push_back(item);
        remember_change(old, operand);
        return Flow::next;
      }
      if (old.instance() && old.instance()->is_module && a->op == Operator::add) {
        call_method(old, "extend", {{operand}, {}}, a->range);
        return Flow::next;
      }
      assign(f, a->target, binary(a->op, old, operand, a->range));
      return Flow::next;
    }
    case StmtKind::if_: {
      const auto* i = static_cast<const If*>(s);
      return run(f, truth(expr(f, i->test), i->test->range) ? i->body : i->orelse);
    }
    case StmtKind::while_: {
      const auto* w = static_cast<const While*>(s);
      while (truth(expr(f, w->test), w->test->range)) {
        const Flow flow = run(f, w->body);
        if (flow == Flow::return_) return flow;
        if (flow == Flow::break_) break;
      }
      return Flow::next;
    }
    case StmtKind::for_: {
      const auto* l = static_cast<const For*>(s);
      for (const Dynamic& item : iterate(expr(f, l->iter), l->iter->range)) {
        assign(f, l->target, item);
        const Flow flow = run(f, l->body);
        if (flow == Flow::return_) return flow;
        if (flow == Flow::break_) break;
      }
      return Flow::next;
    }
    case StmtKind::assert_: {
      const auto* a = static_cast<const Assert*>(s);
      if (truth(expr(f, a->test), a->test->range)) return Flow::next;
      refuse(a->range, "AssertionError: {}", a->message ? to_text(expr(f, a->message)) : std::string());
    }
    case StmtKind::raise: {
      const auto* r = static_cast<const Raise*>(s);
      if (!r->exception) refuse(r->range, "there is no exception to raise again");
      const auto* c = as<Call>(r->exception);
      std::string text = dotted_name(c ? c->callee : r->exception);
      if (c && !c->args.empty()) text += ": " + to_text(expr(f, c->args.front()));
      refuse(r->range, "{}", text);
    }
    case StmtKind::with: {
      // with torch.no_grad(): gradients are off here anyway.
      const auto* w = static_cast<const With*>(s);
      for (const WithItem& item : w->items) {
        const auto* c = as<Call>(item.context);
        const std::string path = c ? f.scope->path_of(c->callee) : std::string();
        if (path != "torch.no_grad" && path != "torch.set_grad_enabled") {
          refuse(item.context->range, "'with' is supported for torch.no_grad() while modules are built");
        }
      }
      return run(f, w->body);
    }
    case StmtKind::delete_: {
      for (ExprPtr target : static_cast<const Delete*>(s)->targets) {
        if (const auto* n = as<Name>(target)) {
          f.variables.erase(n->id);
        } else if (const auto* a = as<Attribute>(target)) {
          const Dynamic owner = expr(f, a->value);
          if (!owner.instance() || !owner.instance()->erase(a->attr)) {
            refuse(target->range, "'{}' object has no attribute '{}'", type_name(owner), a->attr);
          }
        } else {
          refuse(target->range, "only names and attributes can be deleted while modules are built");
        }
      }
      return Flow::next;
    }
    case StmtKind::import_:
      return Flow::next;  // names are known by their paths
    case StmtKind::function_def: {
      // Sees the variables as they are now.
      const auto* def = static_cast<const FunctionDef*>(s);
      DynamicFunction made{def, f.scope, f.owner, nullptr};
      made.closure = std::make_shared<DynamicVariables>(f.variables);
      f.variables[def->name] = std::move(made);
      return Flow::next;
    }
    case StmtKind::global:
    case StmtKind::class_def:
      refuse(s->range, "this statement is not supported while modules are built");
  }
  return Flow::next;
}

void Evaluator::assign(Frame& f, ExprPtr target, Dynamic value) {
  if (const auto* n = as<Name>(target)) {
    f.variables[n->id] = std::move(value);
    return;
  }
  if (const auto* a = as<Attribute>(target))
    return set_attribute(expr(f, a->value), a->attr, std::move(value), target->range);
  if (const auto* s = as<Subscript>(target)) {
    const Dynamic container = expr(f, s->value);
    std::vector<Dynamic> at = index(f, *s);
    return set_item(container, at.size() == 1 ? at.front() : make_tuple(std::move(at)), std::move(value),
                    target->range);
  }
  const auto* tuple = as<TupleExpr>(target);
  const auto* list = as<ListExpr>(target);
  if (!tuple && !list) refuse(target->range, "cannot assign to this");
  const std::vector<ExprPtr>& targets = tuple ? tuple->items : list->items;
  const std::vector<Dynamic> items = iterate(value, target->range);
  size_t starred = targets.size();
  for (size_t i = 0; i < targets.size(); ++i) {
    if (as<Starred>(targets[i])) starred = i;
  }
  if (starred == targets.size() ? items.size() != targets.size() : items.size() + 1 < targets.size()) {
    refuse(target->range, "cannot unpack {} values into {} targets", items.size(), targets.size());
  }
  for (size_t i = 0, at = 0; i < targets.size(); ++i) {
    if (i != starred) {
      assign(f, targets[i], items[at++]);
      continue;
    }
    const size_t count = items.size() + 1 - targets.size();
    assign(f, as<Starred>(targets[i])->value, make_list({items.begin() + at, items.begin() + at + count}));
    at += count;
  }
}

// ---- calls ----

Dynamic Evaluator::run_function(const DynamicFunction& function, DynamicArguments args, const Range& at) {
  const Step step(*this, at);
  const FunctionDef& def = *function.def;
  Frame frame{.scope = function.scope, .owner = function.owner, .self = function.self, .variables = {}, .result = {}};
  if (function.closure) frame.variables = function.closure->by_name;
  if (function.self) args.positional.insert(args.positional.begin(), Dynamic(function.self));
  size_t positional = 0;
  for (const Parameter& p : def.parameters) {
    if (p.takes == Parameter::Takes::rest) {
      const auto rest = args.positional.begin() + static_cast<ptrdiff_t>(positional);
      frame.variables[p.name] = make_tuple({rest, args.positional.end()});
      positional = args.positional.size();
      continue;
    }
    if (p.takes == Parameter::Takes::rest_of_keywords) {
      auto rest = std::make_shared<DynamicDict>();
      for (auto& [name, value] : args.keywords) rest->set(sconce::Value(name), std::move(value));
      frame.variables[p.name] = rest;
      args.keywords.clear();
      continue;
    }
    if (!p.keyword_only && positional < args.positional.size()) {
      frame.variables[p.name] = std::move(args.positional[positional++]);
      continue;
    }
    const auto named =
        std::find_if(args.keywords.begin(), args.keywords.end(), [&](const auto& k) { return k.first == p.name; });
    if (named != args.keywords.end()) {
      frame.variables[p.name] = std::move(named->second);
      args.keywords.erase(named);
    } else if (p.default_value) {
      Frame outside{.scope = function.scope, .owner = nullptr, .self = nullptr, .variables = {}, .result = {}};
      frame.variables[p.name] = expr(outside, p.default_value);
    } else {
      refuse(at, "{}() is missing value for argument '{}'", def.name, p.name);
    }
  }
  if (positional < args.positional.size()) {
    refuse(at, "{}() takes {} arguments but {} were given", def.name, def.parameters.size(), args.positional.size());
  }
  if (!args.keywords.empty()) {
    refuse(at, "{}() got an unexpected keyword argument '{}'", def.name, args.keywords.front().first);
  }
  const NoGrad guard;
  run(frame, def.body);
  return std::move(frame.result);
}

Dynamic Evaluator::instantiate(Definition& cls, DynamicArguments args, const Range& at) {
  switch (cls.scope->kind_of(cls)) {
    case ClassKind::interface:
      refuse(at, "Cannot instantiate interface '{}'", cls.name);
    case ClassKind::enum_: {
      const TypePtr type = cls.scope->type_of(cls);
      for (const auto& [name, member] : type->enum_info()->members) {
        if (args.positional.size() == 1 && equals(member.to_enum().value, args.positional.front())) return member;
      }
      refuse(at, "'{}' has no member with this value", cls.name);
    }
    case ClassKind::named_tuple: {
      const TypePtr type = cls.scope->type_of(cls);
      Dynamic made = make_tuple({});
      DynamicTuple& tuple = **made.get<Dynamic::Tuple>();
      tuple.named = type;
      for (size_t i = 0; i < type->fields().size(); ++i) {
        const std::string& field = type->fields()[i];
        const auto named =
            std::find_if(args.keywords.begin(), args.keywords.end(), [&](const auto& k) { return k.first == field; });
        if (i < args.positional.size()) {
          tuple.items.push_back(args.positional[i]);
        } else if (named != args.keywords.end()) {
          tuple.items.push_back(named->second);
        } else if (cls.defaults[i].second) {
          tuple.items.push_back(from_value(*cls.defaults[i].second));
        } else {
          refuse(at, "{}() is missing value for argument '{}'", cls.name, field);
        }
      }
      return made;
    }
    case ClassKind::plain:
    case ClassKind::module:
      break;
  }
  auto instance = std::make_shared<Instance>();
  remember(instance);
  instance->cls = &cls;
  instance->is_module = cls.scope->kind_of(cls) == ClassKind::module;
  if (!instance->is_module) cls.scope->type_of(cls);  // dataclasses get their methods with the type
  const Dynamic made(instance);
  const auto init = find_attribute(made, "__init__", at);
  if (init) {
    call(*init, std::move(args), at);
  } else if (!args.positional.empty() || !args.keywords.empty()) {
    refuse(at, "{}() takes no arguments", cls.name);
  }
  if (instance->is_module && !instance->find("training")) {
    refuse(at, "{}.__init__() did not call super().__init__()", cls.name);
  }
  return made;
}

Dynamic Evaluator::call(const Dynamic& callee, DynamicArguments args, const Range& at) {
  if (const auto* f = callee.get<DynamicFunction>()) return run_function(*f, std::move(args), at);
  if (const auto* c = callee.get<Definition*>()) {
    const Step step(*this, at);
    return instantiate(**c, std::move(args), at);
  }
  if (const auto* m = callee.get<DynamicMethod>()) return call_method(*m->self, m->name, std::move(args), at);
  if (const auto* n = callee.get<DynamicName>()) return call_name(n->path, std::move(args), at);
  if (callee.instance()) {
    const auto method = find_attribute(callee, callee.instance()->is_module ? "forward" : "__call__", at);
    if (method) return call(*method, std::move(args), at);
  }
  refuse(at, "'{}' object is not callable", type_name(callee));
}

std::optional<Dynamic> Evaluator::find_attribute(const Dynamic& v, const std::string& name, const Range& at) {
  if (const auto* n = v.get<DynamicName>()) {
    if (n->path == "super()") return std::nullopt;
    return path_value(n->path + "." + name, at);
  }
  const auto* super = v.get<DynamicSuper>();
  const auto* cls = v.get<Definition*>();
  if (cls && (*cls)->kind == Definition::Kind::namespace_) {
    Definition* member = (*cls)->members->find(name);
    return member ? std::optional(definition(*member)) : std::nullopt;
  }
  const auto* owner = v.get<std::shared_ptr<Instance>>();
  const std::shared_ptr<Instance> self = owner ? *owner : super ? super->self : nullptr;
  if (owner) {
    if (Instance::Attribute* a = self->find(name)) return a->value;
    if (name == "__class__") return Dynamic(self->cls);
  }
  if (self || cls) {
    bool active = !super;
    for (Definition* d : lookup_order(cls ? **cls : *self->cls)) {
      if (!active) {
        active = d == super->after;
        continue;
      }
      if (const FunctionDef* def = find_method_def(*d, name)) {
        DynamicFunction method{def, d->scope, d, has_decorator(def->decorators, "staticmethod") ? nullptr : self};
        if (!self || !has_decorator(def->decorators, "property")) return Dynamic(std::move(method));
        return run_function(method, {}, at);
      }
      for (const auto& [tree, def] : d->written_methods) {
        if (def->name == name) return Dynamic(DynamicFunction{def, d->scope, d, self});
      }
      if (d->class_def) {
        for (StmtPtr s : d->class_def->body) {
          const auto* a = as<Assign>(s);
          if (a && a->value && dotted_name(a->targets.front()) == name && d->scope->kind_of(*d) != ClassKind::enum_) {
            return evaluate(*d->scope, a->value);
          }
        }
      }
    }
    if (cls) {
      if ((*cls)->scope->kind_of(**cls) == ClassKind::enum_) {
        if (const sconce::Value* member = (*cls)->scope->type_of(**cls)->enum_info()->find(name))
          return Dynamic(*member);
      }
      if (name == "__name__") return Dynamic(sconce::Value((*cls)->name));
      return std::nullopt;
    }
    if (self->is_module && is_module_method(name)) {
      return Dynamic(DynamicMethod{std::make_shared<Dynamic>(self), name});
    }
    return std::nullopt;
  }
  return value_attribute(v, name, at);
}

Dynamic Evaluator::attribute(const Dynamic& v, const std::string& name, const Range& at) {
  if (auto found = find_attribute(v, name, at)) return std::move(*found);
  refuse(at, "'{}' object has no attribute '{}'", type_name(v), name);
}

void Evaluator::set_attribute(const Dynamic& v, const std::string& name, Dynamic value, const Range& at) {
  Instance* self = v.instance();
  if (!self) {
    if (v.is_tensor() && name == "requires_grad") {
      set_requires_grad(v, truth(value, at));
      return;
    }
    if (v.is_tensor() && name == "data") {
      call_operator("aten::set_data", {{v, std::move(value)}, {}}, at);
      return;
    }
    refuse(at, "'{}' object has no attribute '{}' that can be set", type_name(v), name);
  }
  // Properties with a setter.
  for (Definition* d : lookup_order(*self->cls)) {
    if (!d->class_def) continue;
    for (StmtPtr s : d->class_def->body) {
      const auto* def = as<FunctionDef>(s);
      if (def && def->name == name && has_decorator(def->decorators, "setter")) {
        run_function({def, d->scope, d, *v.get<std::shared_ptr<Instance>>()}, {{std::move(value)}, {}}, at);
        return;
      }
    }
  }
  if (self->is_module && name != "training" && !self->find("training")) {
    refuse(at, "cannot assign attributes before Module.__init__() call");
  }
  self->set(name, std::move(value));
}

}  // namespace sconce::script
