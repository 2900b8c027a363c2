// Implicit conversions, emitted as nodes.
#include "sconce/frontend/script/calls/calls.h"
#include "sconce/frontend/script/calls/type_rules.h"
#include "sconce/frontend/script/emit/emitter.h"

namespace sconce::script {
namespace {

std::vector<ir::Value*> unpack_tuple(Emitter& e, const Range& at, ir::Value* tuple) {
  return e.node(at, ir::kind::TupleUnpack, {tuple}, tuple->type()->contained())->outputs();
}

// The operator that makes a number of this type of a tensor; empty when it is not a number.
const char* implicit_from_tensor(TypePtr type) {
  if (type == float_type()) return "aten::FloatImplicit";
  if (type == complex_type()) return "aten::ComplexImplicit";
  if (type == int_type()) return "aten::IntImplicit";
  if (type == number_type()) return "aten::ScalarImplicit";
  return nullptr;
}
const char* from_number(TypePtr type) {
  if (type == float_type()) return "aten::Float";
  if (type == complex_type()) return "aten::Complex";
  if (type == int_type()) return "aten::Int";
  return nullptr;
}

}  // namespace

ir::Value* convert(Emitter& e, const Range& at, ir::Value* v, TypePtr type, bool allow_conversions) {
  if (type->is(TypeKind::optional) && !v->type()->is(TypeKind::optional) && !v->type()->is(TypeKind::none)) {
    return convert(e, at, v, type->element(), allow_conversions);
  }
  if (v->node()->is(ir::kind::EmptyListLiteral) && type->is(TypeKind::list)) return e.list(at, type->element(), {});
  if (v->type()->is(TypeKind::tuple)) {
    const TypePtr wanted = without_none(type);
    if (wanted->is(TypeKind::list) && converts_to_list(v->type(), wanted)) {
      return e.list(at, wanted->element(), unpack_tuple(e, at, v));
    }
    if (wanted->is(TypeKind::tuple) && !fits(v->type(), wanted) &&
        wanted->contained().size() == v->type()->contained().size()) {
      std::vector<ir::Value*> items = unpack_tuple(e, at, v);
      for (size_t i = 0; i < items.size(); ++i) {
        items[i] = convert(e, at, items[i], wanted->contained()[i], allow_conversions);
      }
      v = e.tuple(at, items);
    }
  }
  if (!allow_conversions) return v;
  const char* op = nullptr;
  if (v->type()->is(TypeKind::tensor)) {
    op = implicit_from_tensor(type);
  } else if (v->type() == number_type()) {
    op = from_number(type);
  } else if (v->type() == bool_type()) {
    op = from_number(type == number_type() ? int_type() : type);
  } else if (v->type() == string_type() && type == device_type()) {
    op = "aten::device";
  }
  return op ? call_op(e, at, op, {v}) : v;
}

}  // namespace sconce::script
