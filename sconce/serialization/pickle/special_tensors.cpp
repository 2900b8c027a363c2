#include "sconce/serialization/pickle/special_tensors.h"

#include <vector>

namespace sconce {
namespace {

TypePtr foreign_type() {
  static const TypePtr type = [] {
    const std::vector<TypePtr> elements = {string_type(), any_type()};
    const std::vector<std::string> fields = {"dtype", "size"};
    return named_tuple_type("ForeignTensor", elements, fields);
  }();
  return type;
}

}  // namespace

Value make_foreign(std::string_view dtype, Value size) {
  std::vector<Value> items = {dtype, std::move(size)};
  return make_ref<Tuple>(std::move(items), foreign_type());
}

#ifndef SCONCE_SMALL
bool is_special_tensor(const Value& v) { return v.is_tuple() && v.to_tuple().named_type == foreign_type(); }
#endif

std::string describe_special_tensor(const Value& v) {
  const std::vector<Value>& parts = v.to_tuple().items;
  return "tensor of " + parts[0].to_string_ref() + " " + parts[1].repr();
}

}  // namespace sconce
