// Tables as the tuples that bytecode.pkl holds.
#include "sconce/serialization/lite/lite_compile.h"

namespace sconce::lite {
namespace {

Value tuple(std::vector<Value> items) { return make_ref<Tuple>(std::move(items)); }
Value field(std::string_view name, Value v) { return tuple({Value(name), std::move(v)}); }

template <class Rows, class F>
Value rows(const Rows& from, F&& make) {
  std::vector<Value> items;
  items.reserve(from.size());
  for (const auto& row : from) items.push_back(make(row));
  return tuple(std::move(items));
}

Value arguments(const std::vector<ArgumentRow>& from) {
  return rows(from, [](const ArgumentRow& a) {
    return tuple({field("name", a.name), field("type", a.type), field("default_value", a.default_value)});
  });
}

Value method(const Method& m) {
  const Value instructions =
      rows(m.instructions, [](const Instruction& i) { return tuple({opcode_name(i.op), int64_t{i.x}, int64_t{i.n}}); });
  const Value operators =
      rows(m.operators, [](const OperatorRow& o) { return tuple({o.name, o.overload, o.specified.value_or(-1)}); });
  const Value types = rows(m.types, [](const std::string& t) { return Value(t); });
  const Value code =
      tuple({field("instructions", instructions), field("operators", operators), field("constants", tuple(m.constants)),
             field("types", types), field("register_size", m.registers)});
  const Value schema = tuple({field("arguments", arguments(m.arguments)), field("returns", arguments(m.returns))});
  return tuple({m.name, code, schema});
}

}  // namespace

std::string type_text(TypePtr type) {
  if (type->is(TypeKind::dict)) {
    return "Dict[" + type_text(type->contained()[0]) + "," + type_text(type->contained()[1]) + "]";
  }
  if (type->is(TypeKind::tuple) && !type->fields().empty()) {
    std::string text = type->name() + "[NamedTuple, [";
    for (size_t i = 0; i < type->fields().size(); ++i) {
      if (i) text += ",";
      text += "[" + type->fields()[i] + ", " + type_text(type->contained()[i]) + "]";
    }
    return text + "]]";
  }
  if (type->is(TypeKind::list)) return "List[" + type_text(type->element()) + "]";
  if (type->is(TypeKind::optional)) return "Optional[" + type_text(type->element()) + "]";
  if (type->is(TypeKind::tuple) && !type->contained().empty()) {
    std::string text = "Tuple[";
    for (size_t i = 0; i < type->contained().size(); ++i) text += (i ? ", " : "") + type_text(type->contained()[i]);
    return text + "]";
  }
  return plain_type(type)->annotation();
}

Value pickle_of(const Tables& tables) {
  std::vector<Value> items{tables.version};
  for (const Method& m : tables.methods) items.push_back(method(m));
  return tuple(std::move(items));
}

Value handles_of(const Tables& tables) {
  std::vector<Value> items{tables.version};
  for (const Method& m : tables.methods) {
    const Value handles = tuple({Value(IntList(m.debug_handles))});
    items.push_back(tuple({m.name, tuple({field("function_debug_handles", handles)})}));
  }
  return tuple(std::move(items));
}

}  // namespace sconce::lite
