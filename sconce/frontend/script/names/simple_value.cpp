// SimpleValue: the operations on a value of the graph, by its type.
#include <fmt/format.h>

#include "sconce/dispatch/registry.h"
#include "sconce/frontend/script/calls/calls.h"
#include "sconce/frontend/script/classes/classes.h"
#include "sconce/frontend/script/emit/emitter.h"
#include "sconce/frontend/script/names/names.h"
#include "sconce/frontend/script/names/tuple_items.h"
#include "sconce/frontend/script/names/value_attributes.h"
#include "sconce/types/class_info.h"

namespace sconce::script {

std::string SimpleValue::kind() const { return value->type()->annotation(); }

SugaredPtr SimpleValue::attr(Emitter& e, const Range& at, const std::string& name) {
  if (SugaredPtr found = find_attribute(e, at, value, name)) return found;
  refuse_attribute(at, value->type(), name);
}

bool SimpleValue::has_attr(Emitter&, const Range&, const std::string& name) {
  const TypePtr type = value->type();
  if (type->is(TypeKind::class_)) {
    const ClassInfo& info = *type->class_info();
    return info.find(name) >= 0 || info.find_constant(name) || info.find_method(name) || info.find_property(name);
  }
  if (type->is(TypeKind::interface)) return type->interface_info()->find(name) != nullptr;
  for (const std::string& field : type->fields()) {
    if (field == name) return true;
  }
  return has_value_attribute(type, name);
}

void SimpleValue::set_attr(Emitter& e, const Range& at, const std::string& name, ir::Value* v) {
  const TypePtr type = value->type();
  if (!type->is(TypeKind::class_)) {
    refuse(at, "Tried to set an attribute: {} on a non-class: {}", name, type->annotation());
  }
  const ClassInfo& info = *type->class_info();
  if (const ClassInfo::Property* property = info.find_property(name)) {
    if (!property->setter) refuse(at, "Tried to set read-only attribute: {}", name);
    const std::string setter(property->setter->short_name());
    call_method(e, at, value, {setter}, {{{at, {}, simple(v)}}, {}});
    return;
  }
  const int slot = info.find(name);
  if (slot < 0) {
    refuse(at, "Tried to set nonexistent attribute: {}. Did you forget to initialize it in __init__()?", name);
  }
  const TypePtr wanted = info.attributes[static_cast<size_t>(slot)].type;
  v = convert(e, at, v, wanted, false);
  if (!fits(v->type(), wanted)) {
    refuse(at, "Wrong type for attribute assignment. Expected {} but got {}", wanted->annotation(),
           v->type()->annotation());
  }
  e.node(at, ir::kind::SetAttr, {value, v}, {})->set_attribute("name", sconce::Value(name));
}

SugaredPtr SimpleValue::call(Emitter& e, const Range& at, const CallArguments& args, TypePtr hint) {
  const TypePtr type = value->type();
  if (type->is(TypeKind::function) && value->node()->callee())
    return call_function(e, at, {value->node()->callee()}, args);
  if (type->is(TypeKind::class_)) {
    return attr(e, at, type->class_info()->is_module ? "forward" : "__call__")->call(e, at, args, hint);
  }
  if (type->is(TypeKind::interface)) {
    return attr(e, at, type->interface_info()->is_module ? "forward" : "__call__")->call(e, at, args, hint);
  }
  refuse(at, "cannot call a value of type '{}'", type->annotation());
}

namespace {

// t[i] of a tuple. Without a literal all elements must have one type.
ir::Value* index_tuple(Emitter& e, const Range& at, ir::Value* tuple, ir::Value* index) {
  if (index->type() != int_type()) refuse(at, "tuple index must be an integer");
  const ListRef<TypePtr> elements = tuple->type()->contained();
  TypePtr result = nullptr;
  if (const std::optional<sconce::Value> constant = ir::constant_value(index)) {
    result = elements[tuple_index(at, constant->to_int(), elements.size())];
  } else {
    for (TypePtr t : elements) {
      if (t != elements[0]) {
        refuse(at, "Cannot index into a {} with a non-integer literal because we cannot resolve the output type",
               tuple->type()->annotation());
      }
    }
    if (elements.empty()) refuse(at, "Tuple index out of range. Tuple is length 0");
    result = elements[0];
  }
  return e.node(at, ir::kind::TupleIndex, {tuple, index}, {result})->output();
}

}  // namespace

SugaredPtr SimpleValue::subscript(Emitter& e, const Range& at, SugaredPtr index, TypePtr hint) {
  const TypePtr type = value->type();
  switch (type->kind()) {
    case TypeKind::tuple:
      return simple(index_tuple(e, at, value, index->as_value(e, at)));
    case TypeKind::list:
    case TypeKind::dict:
    case TypeKind::string:
      return simple(call_op(e, at, "aten::__getitem__", {value, index->as_value(e, at)}));
    case TypeKind::tensor: {
      ir::Value* dim = e.constant(at, sconce::Value(0));
      return simple(call_op(e, at, "aten::select", {value, dim, index->as_value(e, at)}));
    }
    case TypeKind::class_:
      // A container of modules in an archive: x: Interface = self.layers[i]
      if (type->class_info()->is_module && hint && hint->is(TypeKind::interface) &&
          !type->class_info()->find_method("__getitem__")) {
        return index_modules(e, at, value, index->as_value(e, at), hint);
      }
      [[fallthrough]];
    case TypeKind::interface:
      return attr(e, at, "__getitem__")->call(e, at, {{{at, {}, index}}, {}}, nullptr);
    default:
      refuse(at, "'{}' object is not subscriptable", type->annotation());
  }
}

std::vector<SugaredPtr> SimpleValue::unpack(Emitter& e, const Range& at, std::optional<size_t> count) {
  const TypePtr type = value->type();
  std::vector<ir::Value*> items;
  if (type->is(TypeKind::tuple)) {
    items = e.node(at, ir::kind::TupleUnpack, {value}, type->contained())->outputs();
  } else if (type->is(TypeKind::list)) {
    if (!count) refuse(at, "cannot statically infer the expected size of a list in this context");
    const std::vector<TypePtr> types(*count, type->element());
    items = e.node(at, ir::kind::ListUnpack, {value}, types)->outputs();
  } else {
    refuse(at, "{} cannot be used as a tuple", type->annotation());
  }
  std::vector<SugaredPtr> out;
  for (ir::Value* v : items) out.push_back(value_of(e, v));
  return out;
}

SugaredPtr SimpleValue::iterate(Emitter& e, const Range& at) {
  switch (value->type()->kind()) {
    case TypeKind::list:
    case TypeKind::tensor:
    case TypeKind::string:
      return shared_from_this();
    case TypeKind::dict:
      return simple(call_op(e, at, "aten::keys", {value}));
    case TypeKind::tuple:
      return std::make_shared<TupleItems>(unpack(e, at, {}));
    default:
      refuse(at, "'{}' object is not iterable", value->type()->annotation());
  }
}

std::optional<size_t> SimpleValue::static_length() const {
  if (!value->type()->is(TypeKind::tuple)) return std::nullopt;
  return value->type()->contained().size();
}

ir::Value* SimpleValue::length(Emitter& e, const Range& at) { return call_op(e, at, "aten::len", {value}); }

SugaredPtr SimpleValue::item(Emitter& e, const Range& at, ir::Value* index, TypePtr hint) {
  return subscript(e, at, simple(index), hint);
}

ir::Value* SimpleValue::len(Emitter& e, const Range& at) {
  if (SugaredPtr magic = call_magic_method(e, at, "__len__", value)) return magic->as_value(e, at);
  return call_op(e, at, "aten::len", {value});
}

}  // namespace sconce::script
