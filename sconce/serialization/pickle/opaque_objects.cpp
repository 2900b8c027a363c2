#include "sconce/serialization/pickle/opaque_objects.h"

#include <vector>

namespace sconce {
namespace {

enum Field : size_t { class_name_field, arguments_field, state_field, items_field, entries_field };

TypePtr opaque_type() {
  static const TypePtr type = [] {
    const std::vector<TypePtr> elements = {string_type(), any_type(), any_type(), list_type(any_type()),
                                           dict_type(any_type(), any_type())};
    const std::vector<std::string> fields = {"class_name", "arguments", "state", "items", "entries"};
    return named_tuple_type("OpaqueObject", elements, fields);
  }();
  return type;
}

}  // namespace

Value make_opaque(std::string_view class_name, Value arguments) {
  std::vector<Value> parts = {class_name, std::move(arguments), Value(), make_ref<List>(any_type()),
                              make_ref<Dict>(any_type(), any_type())};
  return make_ref<Tuple>(std::move(parts), opaque_type());
}

Value make_opaque_class(std::string_view class_name) { return make_opaque(class_name, Value()); }

#ifndef SCONCE_SMALL
bool is_opaque(const Value& v) { return v.is_tuple() && v.to_tuple().named_type == opaque_type(); }
#endif

std::string describe_opaque(const Value& v) {
  return (opaque_arguments(v).is_none() ? "class '" : "object of class '") + opaque_class_name(v) + "'";
}

const std::string& opaque_class_name(const Value& v) { return v.to_tuple().items[class_name_field].to_string_ref(); }
Value& opaque_arguments(const Value& v) { return v.to_tuple().items[arguments_field]; }
Value& opaque_state(const Value& v) { return v.to_tuple().items[state_field]; }
List& opaque_items(const Value& v) { return v.to_tuple().items[items_field].to_list(); }
Dict& opaque_entries(const Value& v) { return v.to_tuple().items[entries_field].to_dict(); }

}  // namespace sconce
