#include "sconce/serialization/pickle/special_tensors.h"

#include <vector>

#include "sconce/tensor/dtype.h"

namespace sconce {
namespace {

TypePtr sparse_type() {
  static const TypePtr type = [] {
    const std::vector<TypePtr> elements = {string_type(), any_type(), any_type(), tensor_type()};
    const std::vector<std::string> fields = {"layout", "size", "indices", "values"};
    return named_tuple_type("SparseTensor", elements, fields);
  }();
  return type;
}

TypePtr foreign_type() {
  static const TypePtr type = [] {
    const std::vector<TypePtr> elements = {string_type(), any_type()};
    const std::vector<std::string> fields = {"dtype", "size"};
    return named_tuple_type("ForeignTensor", elements, fields);
  }();
  return type;
}

}  // namespace

Value make_sparse(std::string_view layout, Value size, Value indices, const Tensor& values) {
  std::vector<Value> items = {layout, std::move(size), std::move(indices), values};
  return make_ref<Tuple>(std::move(items), sparse_type());
}

Value make_foreign(std::string_view dtype, Value size) {
  std::vector<Value> items = {dtype, std::move(size)};
  return make_ref<Tuple>(std::move(items), foreign_type());
}

bool is_special_tensor(const Value& v) {
  const TypePtr type = v.is_tuple() ? v.to_tuple().named_type : nullptr;
  return type && (type == sparse_type() || type == foreign_type());
}

std::string describe_special_tensor(const Value& v) {
  const std::vector<Value>& parts = v.to_tuple().items;
  if (v.to_tuple().named_type == foreign_type()) {
    return "tensor of " + parts[0].to_string_ref() + " " + parts[1].repr();
  }
  return parts[0].to_string_ref() + " tensor of " + std::string(dtype_name(parts[3].to_tensor().dtype())) + " " +
         parts[1].repr();
}

}  // namespace sconce
