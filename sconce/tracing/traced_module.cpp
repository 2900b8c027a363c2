#include "sconce/tracing/traced_module.h"

#include "sconce/types/class_info.h"

namespace sconce::tracing {

Value make_traced_module(ir::CompilationUnit& unit, const ModuleParts& parts) {
  using Kind = ClassInfo::AttributeKind;
  const TypePtr type = make_class_type(unit.unique_name(parts.class_name));
  unit.add_type(type);
  ClassInfo& info = *type->class_info();
  info.is_module = true;
  std::vector<Value> slots;
  const auto add = [&](const std::string& name, TypePtr of, Kind kind, Value v) {
    info.attributes.push_back({name, of, kind});
    slots.push_back(std::move(v));
  };
  for (const auto& [name, t] : parts.parameters) add(name, tensor_type(), Kind::parameter, t);
  for (const auto& [name, t] : parts.buffers) add(name, tensor_type(), Kind::buffer, t);
  add("training", bool_type(), Kind::plain, parts.training);
  add("_is_full_backward_hook", optional_type(bool_type()), Kind::plain, {});
  for (const auto& [name, module] : parts.modules) add(name, module.type(), Kind::plain, module);
  auto object = make_ref<Object>(type);
  for (size_t i = 0; i < slots.size(); ++i) object->set_slot(i, std::move(slots[i]));
  return Value(std::move(object));
}

}  // namespace sconce::tracing
