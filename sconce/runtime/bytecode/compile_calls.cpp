// Operators, functions, forks, context managers, exceptions.
#include "sconce/runtime/bytecode/compiler.h"
#include "sconce/runtime/plans/differentiable_region.h"
#include "sconce/types/class_info.h"

namespace sconce::runtime {

// Any operator: one register per schema argument; defaults that the node leaves out are constants; the arguments for
// "..." become a tuple (Note [Variable arguments]).
void BytecodeCompiler::emit_op(const ir::Node* n) {
  // A kind that has an operator only for the general case (prim::TupleIndex) comes without one.
  const Op* op = n->op() ? n->op() : ir::resolve_op(*n);
  SCONCE_CHECK_AS(not_implemented, op, "there is no operator for {} with these arguments", n->kind().text());
  const Schema& schema = op->schema();
  const size_t fixed = schema.arguments.size();
  SCONCE_CHECK(n->inputs().size() <= fixed || schema.is_vararg, "{} takes {} arguments, got {}", op->qualified_name(),
               fixed, n->inputs().size());
  SCONCE_CHECK(schema.is_varret || n->outputs().size() <= schema.returns.size(), "{} has {} results, the node {}",
               op->qualified_name(), schema.returns.size(), n->outputs().size());
  if (n->inputs().size() == fixed && n->outputs().size() == 1) {
    const Signature signature = signature_of(*op);
    const bool plain = std::none_of(n->inputs().begin(), n->inputs().end(),
                                    [&](const ir::Value* v) { return deferred_.contains(root(v)->node()); });
    if (signature != Signature::other && plain && !is_word(n->output())) return emit_typed_op(n, signature);
  }
  OpCall& call = code_->op_calls.emplace_back();
  call.op = op;
  call.met_grad = &code_->met_grad;
  for (size_t i = 0; i < fixed; ++i) {
    if (i < n->inputs().size()) {
      call.args.push_back(take_input(i));
    } else {
      SCONCE_CHECK(schema.arguments[i].default_value, "{} needs an argument '{}'", op->qualified_name(),
                   schema.arguments[i].name);
      call.args.push_back(constant(*schema.arguments[i].default_value));
    }
  }
  std::optional<uint32_t> rest;
  if (schema.is_vararg) {
    BuildSite& site = code_->build_sites.emplace_back();
    std::vector<TypePtr> types;
    for (size_t i = fixed; i < n->inputs().size(); ++i) {
      site.registers.push_back(take_input(i));
      types.push_back(n->input(i)->type());
    }
    site.type = tuple_type(types);
    rest = registers_.take(RegisterClass::value);
    emit_build(Opcode::make_tuple, local(*rest), 0, &site);
    call.args.push_back(local(*rest) | kMoves);
  }
  free_taken();
  const size_t results = schema.is_varret ? n->outputs().size() : schema.returns.size();
  for (size_t i = 0; i < results; ++i) {
    if (i < n->outputs().size() && n->output(i)->has_uses()) {
      call.results.push_back(define(n->output(i)));
      call.result_tags.push_back(tag_of(class_of(n->output(i)->type())));
    } else {
      call.results.push_back(kNowhere);
      call.result_tags.push_back(0);
    }
  }
  emit_op_call(Opcode::call_op, 0, 0, 0, &call);
  if (rest) registers_.free(*rest);
}

void BytecodeCompiler::emit_typed_op(const ir::Node* n, Signature signature) {
  OpCall& call = code_->op_calls.emplace_back();
  call.op = n->op();
  call.met_grad = &code_->met_grad;
  for (size_t i = 0; i < n->inputs().size(); ++i) call.args.push_back(take_input(i));
  if (call.args[0] & kMoves) call.in_place = in_place_twin(*n->op(), signature);
  free_taken();
  const Draft out = define(n->output());
  call.results.push_back(out);
  call.result_tags.push_back(0);
  const size_t tensors = signature == Signature::tts ? 2 : 1;
  call.constant_numbers = signature == Signature::ts || signature == Signature::tts || signature == Signature::tss;
  for (size_t i = tensors; call.constant_numbers && i < n->inputs().size(); ++i) {
    const std::optional<Value> number = constant_value(n->input(i));
    call.constant_numbers = number && (number->is_int() || number->is_double() || number->is_bool());
    if (call.constant_numbers) call.numbers[i - tensors] = number->to_scalar();
  }
  Opcode op = Opcode::call_t;
  switch (signature) {
    case Signature::tt:
      op = Opcode::call_tt;
      break;
    case Signature::ts:
      op = Opcode::call_ts;
      break;
    case Signature::tts:
      op = Opcode::call_tts;
      break;
    case Signature::tss:
      op = Opcode::call_tss;
      break;
    case Signature::ttt:
      op = Opcode::call_ttt;
      break;
    default:
      break;
  }
  emit_op_call(op, out, call.args[0], call.args.size() > 1 ? call.args[1] : 0, &call);
}

void BytecodeCompiler::call_with(CallSite& site, bool dynamic, bool borrows_self,
                                 const std::vector<const ir::Value*>& values, const std::vector<TypePtr>& types,
                                 const std::vector<ir::Value*>& results) {
  site.args = static_cast<uint32_t>(values.size());
  site.borrows_self = borrows_self;
  window_ = std::max(window_, static_cast<uint32_t>(std::max(values.size(), results.size())) + 1);
  for (size_t i = 0; i < values.size(); ++i) {
    const Draft to = kWindow + 2 * static_cast<Draft>(i);
    if (!values[i]) {
      emit(Opcode::copy_bits, to, constant(Value()));
    } else if (i == 0 && borrows_self) {
      emit(Opcode::copy_bits, to, operand(values[i]));
    } else {
      const RegisterClass c = i < types.size() ? class_of(types[i]) : RegisterClass::value;
      const bool used_again =
          std::find_if(values.begin() + static_cast<ptrdiff_t>(i) + 1, values.end(),
                       [&](const ir::Value* v) { return v && root(v) == root(values[i]); }) != values.end() ||
          (borrows_self && values[0] && root(values[0]) == root(values[i]));
      const bool dies = !used_again && dies_here(values[i]);
      move_one({values[i], to, c, true}, operand(values[i]), dies);
      if (dies) moved_.push_back(root(values[i]));
    }
  }
  free_taken();
  emit_call(dynamic ? Opcode::call_method : Opcode::call, kWindow, &site);
  for (size_t i = 0; i < results.size(); ++i) {
    const Draft from = kWindow + 2 * static_cast<Draft>(i);
    emit(is_word(results[i]) ? Opcode::move_word : Opcode::move, define(results[i]), from);
  }
}

void BytecodeCompiler::emit_function_call(const ir::Node* n) {
  CallSite& site = code_->call_sites.emplace_back();
  std::vector<const ir::Value*> values;
  std::vector<TypePtr> types;
  ir::Function* callee = n->callee();
  bool is_method = n->is(ir::kind::CallMethod);
  if (is_method) {
    const TypePtr type = n->input(0)->type();
    if (!callee && type->is(TypeKind::class_)) {
      callee = ir::find_method(type, n->string_attribute("name"));
      SCONCE_CHECK(callee, "{} has no method '{}'", type->to_string(), n->string_attribute("name"));
    }
    SCONCE_CHECK(callee || type->is(TypeKind::interface), "prim::CallMethod takes an object, got {}",
                 type->to_string());
    values.assign(n->inputs().begin(), n->inputs().end());
  } else {
    if (!callee) {
      const ir::Node* f = n->input(0)->node();
      SCONCE_CHECK(f->is(ir::kind::Constant) && f->attribute("name"), "prim::CallFunction takes a function");
      callee = unit_ ? unit_->find_function(f->string_attribute("name")) : nullptr;
      SCONCE_CHECK(callee, "there is no function '{}'", f->string_attribute("name"));
    }
    values.assign(n->inputs().begin() + 1, n->inputs().end());
  }
  if (callee) {
    site.function = callee;
    const Schema& schema = callee->schema();
    SCONCE_CHECK(values.size() == schema.arguments.size(), "{}() takes {} arguments, got {}", callee->short_name(),
                 schema.arguments.size(), values.size());
    for (const Argument& a : schema.arguments) types.push_back(a.type);
    is_method = callee->self_type() != nullptr;
  } else {
    site.method = n->string_attribute("name");
    const Schema* schema = n->input(0)->type()->interface_info()->find(site.method);
    SCONCE_CHECK(schema, "{} has no method '{}'", n->input(0)->type()->to_string(), site.method);
    for (const Argument& a : schema->arguments) types.push_back(a.type);
  }
  call_with(site, !callee, is_method, values, types, n->outputs());
}

void BytecodeCompiler::emit_fork(const ir::Node* n, Opcode op) {
  BuildSite& site = code_->build_sites.emplace_back();
  const ir::Graph& body = n->graph_attribute("Subgraph");
  const TypePtr type = n->output()->type();
  SCONCE_CHECK(type->is(TypeKind::future) || type->is(TypeKind::await), "{} makes a future, not {}", n->kind().text(),
               type->to_string());
  site.type = type->element();
  site.code =
      generate(body, op == Opcode::fork ? "<forked function>" : "<awaitable function>", unit_, false, node_sites_);
  SCONCE_CHECK(site.code->args == n->inputs().size(), "{} passes {} values, its graph takes {}", n->kind().text(),
               n->inputs().size(), site.code->args);
  for (size_t i = 0; i < n->inputs().size(); ++i) site.registers.push_back(take_input(i));
  free_taken();
  emit_build(op, define(n->output()), 0, &site);
}

void BytecodeCompiler::emit_region(const ir::Node* n) {
  BuildSite& site = code_->build_sites.emplace_back();
  site.region = std::make_shared<DifferentiableRegion>(std::get<std::shared_ptr<ir::Graph>>(*n->attribute("Subgraph")),
                                                       code_->name);
  for (size_t i = 0; i < n->inputs().size(); ++i) site.registers.push_back(take_input(i));
  free_taken();
  for (const ir::Value* v : n->outputs()) {
    site.results.push_back(v->has_uses() ? define(v) : kNowhere);
    site.tags.push_back(tag_of(class_of(v->type())));
  }
  emit_build(Opcode::run_region, 0, 0, &site);
}

void BytecodeCompiler::emit_wait(const ir::Node* n) {
  const Draft from = take_input(0);
  if (n->is(ir::kind::awaitable_nowait)) {
    free_taken();
    BuildSite& site = code_->build_sites.emplace_back();
    site.type = n->input(0)->type();
    emit_build(Opcode::make_done, define(n->output()), from, &site);
    return;
  }
  free_taken();
  const Draft to = define(n->output());
  emit(Opcode::wait, to, from, tag_of(class_of(n->output()->type())));
}

// with obj as x: calls __enter__, from then on __exit__ is due.
void BytecodeCompiler::emit_enter(const ir::Node* n) {
  const TypePtr type = n->input(0)->type();
  ir::Function* enter = ir::find_method(type, "__enter__");
  SCONCE_CHECK(enter && ir::find_method(type, "__exit__"),
               "{} is not a context manager: it needs __enter__ and __exit__", type->to_string());
  CallSite& site = code_->call_sites.emplace_back();
  site.function = enter;
  const Draft object = operand(n->input(0));
  // The object stays: __exit__ uses it later, so this is never its last use.
  call_with(site, false, true, {n->input(0)}, {type}, n->outputs());
  emit(Opcode::enter, object);
}

void BytecodeCompiler::emit_exit(const ir::Node* n) {
  const TypePtr type = n->input(0)->type();
  ir::Function* exit = ir::find_method(type, "__exit__");
  SCONCE_CHECK(exit, "{} has no method '__exit__'", type->to_string());
  CallSite& site = code_->call_sites.emplace_back();
  site.function = exit;
  emit(Opcode::leave);
  std::vector<const ir::Value*> values(exit->schema().arguments.size(), nullptr);
  values[0] = n->input(0);
  call_with(site, false, true, values, {}, {});
  emit(Opcode::drop, kWindow);
  for (const ir::Value* out : n->outputs()) define(out);  // None
}

void BytecodeCompiler::emit_raise(const ir::Node* n) {
  emit(Opcode::raise, operand(n->input(0)), n->inputs().size() > 1 ? operand(n->input(1)) : constant(Value()));
}

}  // namespace sconce::runtime
