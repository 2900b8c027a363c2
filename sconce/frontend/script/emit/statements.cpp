// Statements other than assignments, conditions and loops.
#include "sconce/frontend/script/calls/type_rules.h"
#include "sconce/frontend/script/classes/classes.h"
#include "sconce/frontend/script/emit/closure_value.h"
#include "sconce/frontend/script/emit/emitter_impl.h"
#include "sconce/frontend/script/names/language_values.h"
#include "sconce/frontend/script/names/missing_use.h"
#include "sconce/types/class_info.h"

namespace sconce::script {

using namespace syntax;

void Emitter::Impl::body(const Body& statements) {
  for (StmtPtr s : statements) {
    if (has_exited()) return;  // never reached, and not even looked at
    statement(s);
  }
}

// A call of an operator that does not exist (missing_use.h) takes the place of its statement.
void Emitter::Impl::statement(StmtPtr s) {
  const DepthGuard guard(depth, s->range);
  const std::shared_ptr<Environment> outside = environment;
  ir::Node* const before = current()->return_node()->prev();
  try {
    plain_statement(s);
  } catch (const MissingOperatorUse& use) {
    environment = outside;
    graph.set_insert_point(current());
    for (ir::Node* last; (last = current()->return_node()->prev()) != before;) {
      forget_blocks(*last);
      last->destroy();
    }
    raise_message(use.at, e.constant(use.at, sconce::Value(use.message)),
                  e.constant(use.at, sconce::Value("builtins.NotImplementedError")));
    current()->return_node()->prev()->set_attribute(kMissingOperator, sconce::Value(use.name));
  }
}

// Before the node goes: a new block may get the address of an old one.
void Emitter::Impl::forget_blocks(const ir::Node& node) {
  for (ir::Block* block : node.blocks()) {
    exited.erase(block);
    for (const ir::Node* inner : block->nodes()) forget_blocks(*inner);
  }
}

void Emitter::Impl::plain_statement(StmtPtr s) {
  switch (s->kind) {
    case StmtKind::expr: {
      const ExprPtr x = as<ExprStmt>(s)->value;
      const auto* literal = as<Constant>(x);
      if (!literal || literal->literal != Constant::Literal::string) sugared(x, nullptr);  // docstrings mean nothing
      return;
    }
    case StmtKind::assign:
      return assign(*as<Assign>(s));
    case StmtKind::aug_assign:
      return augment(*as<AugAssign>(s));
    case StmtKind::return_: {
      const auto* r = as<Return>(s);
      const TypePtr declared = functions.back().declared_return;
      return return_(s->range, r->value ? e.value(r->value, declared) : e.none(s->range));
    }
    case StmtKind::if_: {
      const auto* i = as<If>(s);
      const Condition c = condition(i->test);
      return if_statement(s->range, c, [&] { body(i->body); }, [&] { body(i->orelse); });
    }
    case StmtKind::while_:
      return while_loop(*as<While>(s));
    case StmtKind::for_:
      return for_statement(*as<For>(s));
    case StmtKind::break_:
      return break_or_continue(s->range, true);
    case StmtKind::continue_:
      return break_or_continue(s->range, false);
    case StmtKind::pass:
      return;
    case StmtKind::assert_:
      return assert_(*as<Assert>(s));
    case StmtKind::raise:
      return raise(*as<Raise>(s));
    case StmtKind::delete_:
      return delete_(*as<Delete>(s));
    case StmtKind::with:
      return with(*as<With>(s));
    case StmtKind::function_def:
      return nested_function(*as<FunctionDef>(s));
    case StmtKind::global:
      refuse(s->range, "Unrecognized statement kind global");
    case StmtKind::class_def:
      refuse(s->range, "class definitions aren't supported inside functions");
    case StmtKind::import_:
      refuse(s->range, "import statements aren't supported");
  }
}

void Emitter::Impl::return_(const Range& at, ir::Value* v) {
  FunctionState& state = functions.back();
  TypePtr type = state.declared_return;
  if (type) {
    v = convert(e, at, v, type, true);
    if (!fits(v->type(), type)) {
      refuse(at, "Return value was annotated as having type {} but is actually of type {}", type->annotation(),
             v->type()->annotation());
    }
  } else if (!state.merged_return) {
    type = v->type();
  } else {
    type = unify(state.merged_return, v->type());
    if (!type) {
      refuse(at,
             "Previous return statement returned a value of type {} but this return statement returns a value of type "
             "{}",
             state.merged_return->annotation(), v->type()->annotation());
    }
  }
  state.merged_return = type = unshaped(type);
  // Returns of different types meet as Any.
  if (type->is(TypeKind::any) && !v->type()->is(TypeKind::any)) v = unchecked_cast(at, v, type);
  node(at, ir::kind::ReturnStmt, {v}, {});
  exit_block();
}

// raise X(message), raise X
void Emitter::Impl::raise(const Raise& s) {
  if (!s.exception) refuse(s.range, "raise without an exception isn't supported");
  const SugaredPtr x = sugared(s.exception, nullptr);
  if (const auto* instance = dynamic_cast<ExceptionMessage*>(x.get())) {
    ir::Value* message = instance->message ? instance->message : e.constant(s.range, sconce::Value(""));
    raise_message(s.range, message, e.constant(s.range, sconce::Value(instance->class_name)));
  } else if (dynamic_cast<ExceptionClass*>(x.get())) {
    raise_message(s.range, e.constant(s.range, sconce::Value("")), e.none(s.range));
  } else {
    refuse(s.range, "exceptions must derive from BaseException");
  }
}

void Emitter::Impl::raise_message(const Range& at, ir::Value* message, ir::Value* class_name) {
  if (!message->type()->is(TypeKind::string)) message = call_op(e, at, "aten::str", {message});
  node(at, ir::kind::RaiseException, {message, class_name}, {});
  exit_block();
}

//   assert test, message   =>   if test: pass   else: raise "AssertionError: " + message
void Emitter::Impl::assert_(const Assert& s) {
  const Condition c = condition(s.test);
  if_statement(
      s.range, c, [] {},
      [&] {
        ir::Value* message = nullptr;
        if (s.message) {
          message = e.value(s.message);
          if (!message->type()->is(TypeKind::string)) message = call_op(e, s.range, "aten::str", {message});
          message = call_op(e, s.range, "aten::add", {e.constant(s.range, sconce::Value("AssertionError: ")), message});
        } else {
          message = e.constant(s.range, sconce::Value("AssertionError: "));
        }
        raise_message(s.range, message, e.none(s.range));
      });
}

void Emitter::Impl::delete_(const Delete& s) {
  for (ExprPtr target : s.targets) {
    if (const auto* n = as<Name>(target)) {
      if (!environment->remove(n->id)) refuse(n->range, "undefined value {}", n->id);
    } else if (const auto* sub = as<Subscript>(target)) {
      if (sub->indices.size() != 1 || as<Slice>(sub->indices[0])) {
        refuse(target->range, "del of slices and of several indices isn't supported");
      }
      ir::Value* container = e.value(sub->value);
      ir::Value* index = e.value(sub->indices[0]);
      if (call_magic_method(e, target->range, "__delitem__", {container, index})) continue;
      call_op(e, target->range, "aten::Delete", {container, index});
    } else {
      refuse(target->range, "del statements are only supported for deleting list and dict items and variables");
    }
  }
}

// with a as x, b: body   =>   x = Enter(a); Enter(b); body; Exit(b); Exit(a)
void Emitter::Impl::with(const With& s) {
  std::vector<ir::Value*> entered;
  for (const WithItem& item : s.items) {
    const Range& at = item.context->range;
    ir::Value* object = e.value(item.context);
    if (!object->type()->is(TypeKind::class_)) refuse(at, "With item expression must return an object");
    ir::Function* enter = object->type()->class_info()->find_method("__enter__");
    ir::Function* exit = object->type()->class_info()->find_method("__exit__");
    if (!enter || !exit) {
      refuse(at, "Object returned by with item expression does not define __enter__ and __exit__ methods");
    }
    const Schema& enter_schema = enter->schema();
    const Schema& exit_schema = exit->schema();
    if (enter_schema.arguments.size() != 1) {
      refuse(at, "__enter__ must have only one argument and one return value");
    }
    if (exit_schema.arguments.size() != 4) refuse(at, "__exit__ must have four arguments");
    for (size_t i = 1; i < 4; ++i) {
      if (!exit_schema.arguments[i].type->is(TypeKind::any)) {
        refuse(at,
               "argument {} of __exit__ must have Any type; TorchScript does not support passing exception type, "
               "value, or traceback to the __exit__ function.",
               i);
      }
    }
    ir::Node* n = node(at, ir::kind::Enter, {object},
                       {enter_schema.returns.empty() ? none_type() : enter_schema.returns[0].type});
    entered.push_back(object);
    if (item.target) assign_value(item.target->range, item.target, value_of(e, n->output()));
  }
  body(s.body);
  for (; !entered.empty(); entered.pop_back()) node(s.range, ir::kind::Exit, {entered.back()}, {tensor_type()});
}

void Emitter::Impl::break_or_continue(const Range& at, bool is_break) {
  const char* word = is_break ? "break" : "continue";
  if (loop == Loop::none) refuse(at, "SyntaxError: '{}' outside loop", word);
  if (loop == Loop::unrolled) {
    refuse(
        at,
        "Because we emit iteration over modulelists or tuples as unrolled loops, we do not support break or continue "
        "inside the body of these loops");
  }
  // Unlike return and raise, these do not count as the end of a branch: the language wants variables on every path.
  node(at, is_break ? ir::kind::BreakStmt : ir::kind::ContinueStmt, {}, {});
}

// A function inside a function: a block of its own, which sees the variables around it. It can be forked.
void Emitter::Impl::nested_function(const FunctionDef& def) {
  if (!e.source_.from_archive) {
    Range at = def.name_range;  // the word "def"
    const size_t word = at.source->text().rfind("def", at.begin);
    if (word != std::string::npos) at.begin = static_cast<uint32_t>(word), at.end = at.begin + 3;
    refuse(at, "function definitions aren't supported");
  }
  FunctionSource source;
  source.def = &def;
  source.resolver = e.source_.resolver;
  source.from_archive = e.source_.from_archive;
  bool declared = false;
  const Schema schema = declared_schema(source, &declared);
  ir::Node* n = node(def.range, ir::kind::Closure, {}, {function_type(def.name)});
  function(def, schema, n->add_block());
  functions.pop_back();
  set(def.name_range, def.name, std::make_shared<ClosureValue>(n->output()));
}

}  // namespace sconce::script
