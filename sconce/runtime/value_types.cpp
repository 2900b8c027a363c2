#include "sconce/runtime/value_types.h"

#include "sconce/types/class_info.h"
#include "sconce/types/containers.h"

namespace sconce::runtime {
namespace {

Value nested_list(const Tensor& t, TypePtr type, int64_t offset, size_t dim) {
  if (!type->is(TypeKind::list)) return item_of(make_view(t, {}, {}, offset));
  Value made = new_list(type->element());
  List& list = made.to_list();
  const auto n = static_cast<size_t>(t.sizes()[dim]);
  list.reserve(n);
  for (; list.size() < n; offset += t.strides()[dim]) list.append(nested_list(t, list.element_type(), offset, dim + 1));
  return made;
}

}  // namespace

bool is_instance(const Value& v, TypePtr type) {
  switch (type->kind()) {
    case TypeKind::any:
      return true;
    case TypeKind::tensor:
      return v.is_tensor();
    case TypeKind::optional:
      return v.is_none() || is_instance(v, type->element());
    case TypeKind::union_:
      for (TypePtr member : type->contained()) {
        if (is_instance(v, member)) return true;
      }
      return false;
    case TypeKind::tuple: {
      if (!v.is_tuple()) return false;
      const Tuple& t = v.to_tuple();
      if (!type->fields().empty()) return t.named_type == type;
      if (t.items.size() != type->contained().size()) return false;
      for (size_t i = 0; i < t.items.size(); ++i) {
        if (!is_instance(t.items[i], type->contained()[i])) return false;
      }
      return true;
    }
    case TypeKind::interface:
      return v.is_object() && type->interface_info()->has_methods(v.to_object().type());
    case TypeKind::future:
    case TypeKind::await:
      return v.tag() == Tag::future && is_subtype(v.to_future().element_type(), type->element());
    default:
      return is_subtype(v.type(), type);
  }
}

Value tensor_to_list(const Tensor& t, TypePtr type) {
  int64_t depth = 0;
  TypePtr element = type;
  for (; element->is(TypeKind::list); element = element->element()) ++depth;
  SCONCE_CHECK(depth == t.dim(),
               "Output annotation list dimension and runtime tensor dimension must match for tolist(): {} and {}",
               depth, t.dim());
  const bool fits = element->is(TypeKind::int_)      ? is_integral(t.dtype())
                    : element->is(TypeKind::float_)  ? is_floating(t.dtype())
                    : element->is(TypeKind::bool_)   ? t.dtype() == DType::bool_
                    : element->is(TypeKind::complex) ? is_complex(t.dtype())
                                                     : false;
  SCONCE_CHECK(fits,
               "Output annotation element type and runtime tensor element type must match for tolist(): {} and {}",
               element->to_string(), dtype_name(t.dtype()));
  return nested_list(t, type, t.storage_offset(), 0);
}

// Kinds of elements as PyTorch numbers them.
TypePtr tolist_type(int64_t dims, int64_t kind) {
  constexpr int64_t kMostDims = 64;
  constexpr TypeKind kKinds[] = {TypeKind::int_, TypeKind::float_, TypeKind::bool_, TypeKind::complex};
  SCONCE_CHECK_AS(value, dims >= 0 && dims <= kMostDims, "tolist(): lists cannot be nested {} deep", dims);
  SCONCE_CHECK_AS(value, kind >= 0 && kind < 4, "tolist(): there is no kind of elements {}", kind);
  TypePtr type = simple_type(kKinds[kind]);
  for (int64_t d = 0; d < dims; ++d) type = list_type(type);
  return type;
}

namespace {

// A list, dict or tuple as one whose items have the types of `type`; tuples become lists.
bool convert_items(Value& v, TypePtr type) {
  const bool to_list = type->is(TypeKind::list), to_dict = type->is(TypeKind::dict);
  if (to_dict ? !v.is_dict() : !v.is_tuple() && !(to_list && v.is_list())) return false;
  const ListRef<TypePtr> types = type->contained();
  const size_t count = item_count(v);
  if (!to_list && !to_dict && count != types.size()) return false;
  Value made = new_tuple(count, type->fields().empty() ? nullptr : type);
  Value* const items = made.to_tuple().items.data();
  copy_items(v, items);
  for (size_t i = 0; i < count; ++i) {
    if (!convert_argument(items[i], types[to_list ? 0 : to_dict ? i % 2 : i])) return false;
  }
  if (to_list) made = list_of(types[0], {items, count});
  if (to_dict) made = dict_of(types[0], types[1], {items, count});
  v = std::move(made);
  return true;
}

}  // namespace

bool convert_argument(Value& v, TypePtr type) {
  type = plain_type(type);
  const TypeKind kind = type->kind();
  const bool to_number = kind == TypeKind::int_ || kind == TypeKind::float_ || kind == TypeKind::number;
  if (to_number && v.is_tensor() && v.to_tensor().numel() == 1) {
    Value number = item_of(v.to_tensor());
    const bool fits = convert_argument(number, type);
    if (fits) v = std::move(number);
    return fits;
  }
  switch (kind) {
    case TypeKind::int_:
      if (v.is_bool()) v = int64_t{v.to_bool()};
      break;
    case TypeKind::float_:
      if (v.is_bool() || v.is_int()) v = v.to_scalar().to_double();
      break;
    case TypeKind::complex:
      if (v.is_number()) v = v.to_complex();
      break;
    case TypeKind::number:
      return v.is_number();
    case TypeKind::device:
      if (v.is_string()) v = parse_device(v.to_string_ref());
      break;
    case TypeKind::list:
    case TypeKind::dict:
    case TypeKind::tuple:
      return convert_items(v, type);
    case TypeKind::optional:
      return v.is_none() || convert_argument(v, type->element());
    case TypeKind::union_:
      if (is_instance(v, type)) return true;
      for (TypePtr member : type->contained()) {
        if (convert_argument(v, member)) return true;
      }
      return false;
    default:
      break;
  }
  return is_instance(v, type);
}

}  // namespace sconce::runtime
