#include "sconce/runtime/value_types.h"

#include "sconce/types/class_info.h"

namespace sconce::runtime {
namespace {

bool implements(TypePtr type, const InterfaceInfo& interface) {
  const ClassInfo* info = type->class_info();
  for (const auto& [name, schema] : interface.methods) {
    if (!info->find_method(name)) return false;
  }
  return true;
}

Value nested_list(const Tensor& t, TypePtr type, int64_t offset, size_t dim) {
  if (!type->is(TypeKind::list)) return Value(item_of(make_view(t, {}, {}, offset)));
  auto list = make_ref<List>(type->element());
  const int64_t n = t.sizes()[dim];
  list->reserve(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) list->append(nested_list(t, type->element(), offset + i * t.strides()[dim], dim + 1));
  return list;
}

}  // namespace

bool is_instance(const Value& v, TypePtr type) {
  switch (type->kind()) {
    case TypeKind::any:
      return true;
    case TypeKind::tensor:
      return v.is_tensor();
    case TypeKind::number:
      return v.is_int() || v.is_double() || v.is_complex();
    case TypeKind::any_list:
      return v.is_list();
    case TypeKind::any_tuple:
      return v.is_tuple();
    case TypeKind::any_class:
      return v.is_object();
    case TypeKind::any_enum:
      return v.tag() == Tag::enum_;
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
      return v.is_object() && implements(v.to_object().type(), *type->interface_info());
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

bool convert_list(Value& v, TypePtr element) {
  if (!v.is_list() && !v.is_tuple()) return false;
  const List* list = v.is_list() ? &v.to_list() : nullptr;
  const size_t count = list ? list->size() : v.to_tuple().items.size();
  auto out = make_ref<List>(element);
  out->reserve(count);
  bool fits = true;
  for (size_t i = 0; fits && i < count; ++i) {
    Value item = list ? list->get(i) : v.to_tuple().items[i];
    fits = convert_argument(item, element);
    if (fits) out->append(std::move(item));
  }
  if (fits) v = std::move(out);
  return fits;
}

bool convert_dict(Value& v, TypePtr key, TypePtr value) {
  if (!v.is_dict()) return false;
  auto out = make_ref<Dict>(key, value);
  bool fits = true;
  v.to_dict().for_each([&](Value k, Value item) {
    fits = fits && convert_argument(k, key) && convert_argument(item, value);
    if (fits) out->set(std::move(k), std::move(item));
  });
  if (fits) v = std::move(out);
  return fits;
}

bool convert_tuple(Value& v, TypePtr type) {
  if (!v.is_tuple()) return false;
  std::vector<Value> items = v.to_tuple().items;
  bool fits = items.size() == type->contained().size();
  for (size_t i = 0; fits && i < items.size(); ++i) fits = convert_argument(items[i], type->contained()[i]);
  if (fits) v = make_ref<Tuple>(std::move(items), type->fields().empty() ? nullptr : type);
  return fits;
}

// The first member of a union that it becomes.
bool convert_to_member(Value& v, ListRef<TypePtr> members) {
  for (TypePtr member : members) {
    Value copy = v;
    const bool fits = convert_argument(copy, member);
    if (fits) v = std::move(copy);
    if (fits) return true;
  }
  return false;
}

bool is_one_number(const Value& v) { return v.is_tensor() && v.to_tensor().numel() == 1; }
Scalar number_of(const Value& v) { return v.is_tensor() ? item_of(v.to_tensor()) : v.to_scalar(); }

}  // namespace

bool convert_argument(Value& v, TypePtr type) {
  type = plain_type(type);
  switch (type->kind()) {
    case TypeKind::int_:
      if (v.is_bool() || is_one_number(v)) {
        const Scalar s = number_of(v);
        if (s.is_integral() || s.is_bool()) v = s.integer();
      }
      return v.is_int();
    case TypeKind::float_:
      if (v.is_bool() || v.is_int() || is_one_number(v)) v = number_of(v).to_double();
      return v.is_double();
    case TypeKind::complex:
      if (v.is_bool() || v.is_int() || v.is_double()) v = v.to_complex();
      return v.is_complex();
    case TypeKind::number:
      if (is_one_number(v)) v = number_of(v);
      return v.is_number();
    case TypeKind::device:
      if (v.is_string()) v = parse_device(v.to_string_ref());
      return v.is_device();
    case TypeKind::list:
      return convert_list(v, type->element());
    case TypeKind::dict:
      return convert_dict(v, type->contained()[0], type->contained()[1]);
    case TypeKind::tuple:
      return convert_tuple(v, type);
    case TypeKind::optional:
      return v.is_none() || convert_argument(v, type->element());
    case TypeKind::union_:
      return is_instance(v, type) || convert_to_member(v, type->contained());
    default:
      return is_instance(v, type);
  }
}

}  // namespace sconce::runtime
