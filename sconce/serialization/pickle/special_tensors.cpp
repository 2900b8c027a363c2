#include "sconce/serialization/pickle/special_tensors.h"

#include <vector>

#include "sconce/tensor/dtype.h"

namespace sconce {
namespace {

TypePtr quantized_type() {
  static const TypePtr type = [] {
    const std::vector<TypePtr> elements = {tensor_type(), string_type(), any_type(), any_type(), int_type()};
    const std::vector<std::string> fields = {"integers", "scheme", "scale", "zero_point", "axis"};
    return named_tuple_type("QuantizedTensor", elements, fields);
  }();
  return type;
}

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

std::string shape_of(const Tensor& t) {
  return std::string(dtype_name(t.dtype())) + " " + format_message("{}", {ErrorArg(t.sizes())});
}

}  // namespace

Value make_quantized(const Tensor& integers, std::string_view scheme, Value scale, Value zero_point, int64_t axis) {
  std::vector<Value> items = {integers, scheme, std::move(scale), std::move(zero_point), axis};
  return make_ref<Tuple>(std::move(items), quantized_type());
}

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
  return type && (type == quantized_type() || type == sparse_type() || type == foreign_type());
}

std::string describe_special_tensor(const Value& v) {
  const std::vector<Value>& parts = v.to_tuple().items;
  if (v.to_tuple().named_type == foreign_type()) {
    return "tensor of " + parts[0].to_string_ref() + " " + parts[1].repr();
  }
  if (v.to_tuple().named_type == sparse_type()) {
    return parts[0].to_string_ref() + " tensor of " + std::string(dtype_name(parts[3].to_tensor().dtype())) + " " +
           parts[1].repr();
  }
  std::string text = "quantised tensor of " + shape_of(parts[0].to_tensor()) + " (" + parts[1].to_string_ref();
  if (parts[2].is_double()) {
    text += ", scale " + parts[2].repr() + ", zero point " + parts[3].repr();
  } else {
    text += ", a scale for each channel of dimension " + parts[4].repr();
  }
  return text + ")";
}

}  // namespace sconce
