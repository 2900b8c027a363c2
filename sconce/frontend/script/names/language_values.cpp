#include "sconce/frontend/script/names/language_values.h"

#include "sconce/dispatch/registry.h"
#include "sconce/frontend/script/calls/calls.h"
#include "sconce/frontend/script/classes/classes.h"
#include "sconce/frontend/script/emit/emitter.h"

namespace sconce::script {

SugaredPtr CastFunction::call(Emitter& e, const Range& at, const CallArguments& args, TypePtr) {
  if (args.positional.size() == 1 && args.keywords.empty()) {
    ir::Value* v = args.positional[0].value->as_value(e, args.positional[0].at);
    if (SugaredPtr magic = call_magic_method(e, at, magic_, v)) return magic;
    if (fits(v->type(), to)) return simple(v);
    const TypeKind kind = v->type()->kind();
    const bool has_length = kind == TypeKind::list || kind == TypeKind::dict || kind == TypeKind::string;
    if (to == bool_type() && has_length) return simple(e.to_bool(at, v));
  }
  return call_builtin(e, at, ir::Symbol(op_), args);
}

SugaredPtr MagicFunction::call(Emitter& e, const Range& at, const CallArguments& args, TypePtr) {
  if (!args.positional.empty()) {
    const CallArgument& first = args.positional[0];
    CallArguments rest = args;
    rest.positional.erase(rest.positional.begin());
    if (SugaredPtr magic = call_magic_method(e, at, magic_, first.value->as_value(e, first.at), rest)) return magic;
  }
  return call_builtin(e, at, ir::Symbol(op_), args);
}

SugaredPtr call_len(Emitter& e, const Range& at, const CallArguments& args, TypePtr) {
  if (args.positional.size() == 1 && args.keywords.empty()) return simple(args.positional[0].value->len(e, at));
  return call_builtin(e, at, ir::Symbol("aten::len"), args);
}

SugaredPtr call_print(Emitter& e, const Range& at, const CallArguments& args, TypePtr) {
  if (!args.keywords.empty()) refuse(at, "print doesn't accept any keyword arguments");
  std::vector<ir::Value*> values;
  for (const CallArgument& a : args.positional) values.push_back(a.value->as_value(e, a.at));
  e.node(at, ir::kind::Print, values, {})->set_op(find_op("prim::Print"));
  return std::make_shared<NoResult>();
}

SugaredPtr ConstantFunction::call(Emitter& e, const Range& at, const CallArguments&, TypePtr) {
  return simple(e.constant(at, result_));
}

SugaredPtr LegacyConstructor::call(Emitter& e, const Range& at, const CallArguments& args, TypePtr) {
  if (args.positional.size() > 1 || !args.keywords.empty()) {
    refuse(at, "{} takes one list. Use torch.empty(sizes, dtype=torch.{}) for a tensor of a size", name_,
           dtype_name(dtype_));
  }
  ir::Value* data = args.positional.empty() ? e.list(at, int_type(), {})
                                            : args.positional[0].value->as_value(e, args.positional[0].at);
  if (data->type()->is(TypeKind::tuple)) {
    const ListRef<TypePtr> types = data->type()->contained();
    if (!types.empty()) data = convert(e, at, data, list_type(types[0]), true);
  }
  if (!data->type()->is(TypeKind::list)) {
    refuse(at, "{} takes a list, found {}. Use torch.empty(sizes, dtype=torch.{}) for a tensor of a size", name_,
           data->type()->annotation(), dtype_name(dtype_));
  }
  const CallArgument dtype{at, "dtype", simple(e.constant(at, sconce::Value(dtype_)))};
  return simple(call_op(e, at, "aten::tensor", {data}, {dtype}));
}

SugaredPtr ChosenFunction::call(Emitter& e, const Range& at, const CallArguments& args, TypePtr hint) {
  bool choice = default_;
  const CallArgument* given = index_ < args.positional.size() ? &args.positional[index_] : nullptr;
  for (const CallArgument& a : args.keywords) {
    if (a.name == argument_) given = &a;
  }
  if (given) {
    const std::optional<sconce::Value> constant = ir::constant_value(given->value->as_value(e, given->at));
    if (!constant || !constant->is_bool()) {
      refuse(given->at, "Expected compile-time constant for argument '{}'", argument_);
    }
    choice = constant->to_bool();
  }
  return (choice ? true_ : false_)->call(e, at, args, hint);
}

SugaredPtr ExceptionClass::call(Emitter& e, const Range& at, const CallArguments& args, TypePtr) {
  if (!args.keywords.empty()) refuse(at, "exceptions take no keyword arguments");
  ir::Value* message = nullptr;
  if (args.positional.size() == 1) {
    message = args.positional[0].value->as_value(e, args.positional[0].at);
  } else if (args.positional.size() > 1) {
    std::vector<ir::Value*> parts;
    for (const CallArgument& a : args.positional) parts.push_back(a.value->as_value(e, a.at));
    message = e.tuple(at, parts);
  }
  if (message && message->type() != string_type()) message = call_op(e, at, "aten::str", {message});
  return std::make_shared<ExceptionMessage>(message, class_name);
}

}  // namespace sconce::script
