#include "sconce/testing/conformance/case_value.h"

#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "sconce/base/error.h"
#include "sconce/dispatch/registry.h"
#include "sconce/tensor/backend.h"
#include "sconce/tensor/element.h"
#include "sconce/tensor/math_bits.h"
#include "sconce/tensor/sparse/sparse_parts.h"
#include "sconce/types/class_info.h"

namespace sconce::testing {
namespace {

constexpr int64_t kLargestBuffer = int64_t{1} << 31;  // bytes; no case comes near it

std::string brief(const Json& json) { return json.dump().substr(0, 200); }

TypePtr without_optional(TypePtr type) {
  return type != nullptr && type->is(TypeKind::optional) ? type->element() : type;
}

const std::string& text_of(const Json& json, const Json& whole) {
  SCONCE_CHECK(json.is_string(), "{} holds {} where a text belongs", brief(whole), brief(json));
  return json.get_ref<const std::string&>();
}

Dims dims_of(const Json& json, const Json& whole) {
  SCONCE_CHECK(json.is_array(), "{} needs a list of integers", brief(whole));
  Dims dims;
  for (const Json& d : json) {
    SCONCE_CHECK(d.is_number_integer() && d.get<int64_t>() >= 0, "{} has the stride {}", brief(whole), brief(d));
    dims.push_back(d.get<int64_t>());
  }
  return dims;
}

// The same elements over a buffer of their own with the given strides; the memory between them is zero.
Tensor place(const Tensor& tensor, IntList strides) {
  const IntList sizes = tensor.sizes();
  Tensor result = empty_strided_tensor(sizes, strides, tensor.dtype());
  if (tensor.numel() == 0) return result;
  visit_item_size(tensor.dtype(), [&]<class T>() {
    int64_t last = 0;
    for (size_t d = 0; d < sizes.size(); ++d) last += (sizes[d] - 1) * strides[d];
    std::memset(result.data(), 0, static_cast<size_t>(last + 1) * sizeof(T));
    std::vector<int64_t> index(sizes.size());
    for (const T& element : elements<T>(tensor)) {
      int64_t at = 0;
      for (size_t d = 0; d < sizes.size(); ++d) at += index[d] * strides[d];
      std::memcpy(result.data<T>() + at, &element, sizeof(T));
      for (size_t d = sizes.size(); d-- > 0;) {
        if (++index[d] < sizes[d]) break;
        index[d] = 0;
      }
    }
  });
  return result;
}

Tensor with_strides(const Tensor& dense, IntList strides, const Json& whole) {
  const IntList sizes = dense.sizes();
  SCONCE_CHECK(strides.size() == sizes.size(), "{}: the tensor has {} dimensions", brief(whole), sizes.size());
  int64_t last = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    int64_t step;
    SCONCE_CHECK(!__builtin_mul_overflow(std::max<int64_t>(sizes[d] - 1, 0), strides[d], &step) &&
                     !__builtin_add_overflow(last, step, &last) && last < kLargestBuffer,
                 "{}: the strides reach too far", brief(whole));
  }
  return place(dense, strides);
}

Tensor read_tensor(const Json& json, const SafetensorsFile& tensors) {
  Tensor dense = tensors.tensor(text_of(json["t"], json));
  const Json* strides = find_member(json, "strides");
  return strides ? with_strides(dense, dims_of(*strides, json), json) : dense;
}

Layout layout_named(const std::string& name) {
  if (name == "strided") return Layout::strided;
  if (name == "sparse" || name == "sparse_coo") return Layout::sparse;
  if (name == "sparse_csr") return Layout::sparse_csr;
  if (name == "sparse_csc") return Layout::sparse_csc;
  if (name == "sparse_bsr") return Layout::sparse_bsr;
  if (name == "sparse_bsc") return Layout::sparse_bsc;
  if (name == "mkldnn") return Layout::mkldnn;
  fail("layout '{}' is unknown", name);
}

// {"sparse": layout, "size": [...], "parts": [tensors], "coalesced": bool}
Tensor read_sparse(const Json& json, const SafetensorsFile& tensors) {
  const Layout layout = layout_named(text_of(json["sparse"], json));
  const Json *size = find_member(json, "size"), *parts = find_member(json, "parts");
  SCONCE_CHECK(size && parts && parts->is_array() && parts->size() == (layout == Layout::sparse ? 2u : 3u),
               "{} needs a size, and a tensor for each part", brief(json));
  const Dims sizes = dims_of(*size, json);
  std::vector<Tensor> of;
  for (const Json& part : *parts) of.push_back(read_tensor(part, tensors));
  if (layout != Layout::sparse) return checked_compressed_tensor(layout, of[0], of[1], of[2], sizes);
  const Json* coalesced = find_member(json, "coalesced");
  return checked_coo_tensor(of[0], of[1], sizes, coalesced && coalesced->get<bool>());
}

Value read_float(const Json& json) {
  const std::string& text = text_of(json["f"], json);
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  fail("{} is no float", brief(json));
}

double part_of_complex(const Json& part, const Json& whole) {
  if (part.is_number()) return part.get<double>();
  SCONCE_CHECK(part.is_object() && part.contains("f"), "{} is no complex number", brief(whole));
  return read_float(part).to_double();
}

Value read_dtype(const Json& json) {
  DType dtype;
  const std::string& name = text_of(json["dtype"], json);
  SCONCE_CHECK(dtype_from_name(name, &dtype), "dtype '{}' is not supported", name);
  return dtype;
}

Value read_memory_format(const Json& json) {
  const std::string& name = text_of(json["memory_format"], json);
  if (name == "contiguous_format" || name == "contiguous") return MemoryFormat::contiguous;
  if (name == "preserve_format" || name == "preserve") return MemoryFormat::preserve;
  if (name == "channels_last") return MemoryFormat::channels_last;
  if (name == "channels_last_3d") return MemoryFormat::channels_last_3d;
  fail("memory format '{}' is unknown", name);
}

Value read_layout(const Json& json) { return layout_named(text_of(json["layout"], json)); }

// The type that a list of these values has by itself.
TypePtr common_type(const std::vector<Value>& values) {
  bool ints = true, numbers = true, bools = true, tensors = true, nones = false, strings = true;
  for (const Value& v : values) {
    nones |= v.is_none();
    ints &= v.is_int();
    numbers &= v.is_int() || v.is_double();
    bools &= v.is_bool();
    strings &= v.is_string();
    tensors &= v.is_tensor() || v.is_none();
  }
  if (values.empty() || ints) return int_type();
  if (numbers) return float_type();
  if (bools) return bool_type();
  if (strings) return string_type();
  if (tensors) return nones ? optional_type(tensor_type()) : tensor_type();
  const TypePtr first = values[0].type();
  for (const Value& v : values) {
    if (v.type() != first) return any_type();
  }
  return first;
}

bool stores_ints(TypePtr type) {
  switch (type->kind()) {
    case TypeKind::int_:
    case TypeKind::sym_int:
    case TypeKind::scalar_type:
    case TypeKind::layout:
    case TypeKind::memory_format:
      return true;
    default:
      return false;
  }
}

Value read_list(const Json& json, const SafetensorsFile& tensors, TypePtr wanted) {
  const TypePtr list = without_optional(wanted);
  TypePtr element = list != nullptr && list->is(TypeKind::list) ? list->element() : nullptr;
  std::vector<Value> values;
  for (const Json& item : json) values.push_back(read_value(item, tensors, element));
  if (element == nullptr || element->is(TypeKind::variable) || element->is(TypeKind::any))
    element = common_type(values);
  if (stores_ints(element)) element = int_type();
  auto result = make_ref<List>(element);
  for (Value& v : values) {
    const bool widen = element->is(TypeKind::float_) && v.is_int();
    result->append(widen ? Value(static_cast<double>(v.to_int())) : std::move(v));
  }
  return result;
}

// `wanted` is a tuple type, or anything else: then the values are read as they are.
std::vector<Value> read_all(const Json& json, const SafetensorsFile& tensors, const Json& whole, TypePtr wanted) {
  SCONCE_CHECK(json.is_array(), "{} needs a list", brief(whole));
  const bool typed = wanted != nullptr && wanted->is(TypeKind::tuple) && wanted->contained().size() == json.size();
  std::vector<Value> values;
  for (const Json& item : json) {
    values.push_back(read_value(item, tensors, typed ? wanted->contained()[values.size()] : nullptr));
  }
  return values;
}

Value read_dict(const Json& json, const SafetensorsFile& tensors, TypePtr wanted) {
  const bool typed = wanted != nullptr && wanted->is(TypeKind::dict);
  const TypePtr key = typed ? wanted->contained()[0] : nullptr, item = typed ? wanted->contained()[1] : nullptr;
  std::vector<Value> keys, values;
  SCONCE_CHECK(json["dict"].is_array(), "{} needs a list of pairs", brief(json));
  for (const Json& pair : json["dict"]) {
    SCONCE_CHECK(pair.is_array() && pair.size() == 2, "{} needs a list of pairs", brief(json));
    keys.push_back(read_value(pair[0], tensors, key));
    values.push_back(read_value(pair[1], tensors, item));
  }
  auto dict = make_ref<Dict>(typed ? key : common_type(keys), typed ? item : common_type(values));
  for (size_t i = 0; i < keys.size(); ++i) dict->set(std::move(keys[i]), std::move(values[i]));
  return dict;
}

// Of the program's own type where one is wanted, else of a new one.
Value read_named_tuple(const Json& json, const SafetensorsFile& tensors, TypePtr wanted) {
  const Json& parts = json["namedtuple"];
  SCONCE_CHECK(parts.is_array() && parts.size() == 3 && parts[0].is_string() && parts[1].is_array(),
               "{} needs type, fields and values", brief(json));
  std::vector<Value> values = read_all(parts[2], tensors, json, wanted);
  SCONCE_CHECK(values.size() == parts[1].size(), "{} needs as many fields as values", brief(json));
  if (wanted != nullptr && !wanted->fields().empty()) return make_ref<Tuple>(std::move(values), wanted);
  std::vector<std::string> fields;
  for (const Json& field : parts[1]) fields.push_back(text_of(field, json));
  std::vector<TypePtr> types;
  for (const Value& v : values) types.push_back(v.type());
  return make_ref<Tuple>(std::move(values), named_tuple_type(parts[0].get<std::string>(), types, fields));
}

Value read_enum(const Json& json, TypePtr wanted) {
  const Json& parts = json["enum"];
  SCONCE_CHECK(parts.is_array() && parts.size() == 2, "{} needs type and member", brief(json));
  const std::string& member = text_of(parts[1], json);
  if (wanted != nullptr && wanted->is(TypeKind::enum_)) {
    const Value* value = wanted->enum_info()->find(member);
    SCONCE_CHECK(value != nullptr, "{}: {} has no such member", brief(json), wanted->name());
    return *value;
  }
  return make_ref<EnumValue>(make_enum_type(text_of(parts[0], json), string_type()), member, Value(member));
}

Value read_object(const Json& json, const SafetensorsFile& tensors, TypePtr wanted) {
  if (json.contains("t")) return read_tensor(json, tensors);
  if (json.contains("sparse")) return read_sparse(json, tensors);
  SCONCE_CHECK(json.size() == 1, "{} is no known form of value", brief(json));
  if (json.contains("f")) return read_float(json);
  if (json.contains("dtype")) return read_dtype(json);
  if (json.contains("device")) return parse_device(text_of(json["device"], json));
  if (json.contains("memory_format")) return read_memory_format(json);
  if (json.contains("layout")) return read_layout(json);
  const TypePtr type = without_optional(wanted);
  if (json.contains("dict")) return read_dict(json, tensors, type);
  if (json.contains("namedtuple")) return read_named_tuple(json, tensors, type);
  if (json.contains("enum")) return read_enum(json, type);
  if (json.contains("c")) {
    const Json& parts = json["c"];
    SCONCE_CHECK(parts.is_array() && parts.size() == 2, "{} is no complex number", brief(json));
    return std::complex<double>(part_of_complex(parts[0], json), part_of_complex(parts[1], json));
  }
  if (json.contains("tuple")) {
    if (type != nullptr && type->is(TypeKind::list) && json["tuple"].is_array())
      return read_list(json["tuple"], tensors, type);
    std::vector<Value> values = read_all(json["tuple"], tensors, json, type);
    const bool named = type != nullptr && !type->fields().empty() && type->fields().size() == values.size();
    return make_ref<Tuple>(std::move(values), named ? type : nullptr);
  }
  if (json.contains("slice")) fail("{}: no operator takes a slice", brief(json));
  fail("{} is no known form of value", brief(json));
}

Value read_number(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_float()) return json.get<double>();
  SCONCE_CHECK(!json.is_number_unsigned() || json.get<uint64_t>() <= INT64_MAX, "{} does not fit into 64 bits",
               brief(json));
  return json.get<int64_t>();
}

// The same value with every tensor replaced by f(tensor).
template <class F>
Value map_tensors(const Value& value, F f) {
  if (value.is_tensor()) return f(value.to_tensor());
  if (value.is_tuple()) {
    std::vector<Value> items;
    for (const Value& v : value.to_tuple().items) items.push_back(map_tensors(v, f));
    return make_ref<Tuple>(std::move(items), value.to_tuple().named_type);
  }
  if (value.is_list() && !value.to_list().is_ints() && !value.to_list().is_doubles() && !value.to_list().is_bools()) {
    auto result = make_ref<List>(value.to_list().element_type());
    for (const Value& v : value.to_list().values()) result->append(map_tensors(v, f));
    return result;
  }
  return value;
}

// A sparse tensor as its layout, sizes and coalesced coordinates, since lists of one tensor may differ in their order
// (and PyTorch calls some coalesced that are not). Compressed layouts have their pointers, too.
void flatten_sparse(const Tensor& t, std::vector<Value>& out) {
  out.emplace_back(std::string(layout_name(t.layout())));
  for (int64_t n : t.sizes()) out.emplace_back(n);
  if (sparse_parts(t).compressed.defined()) out.emplace_back(sparse_parts(t).compressed);
  const Tensor coo = shallow_copy(call_op("aten::_to_sparse", {t}).at(0).to_tensor());
  call_op("aten::_coalesced_", {coo, false});
  const Tensor sorted = call_op("aten::coalesce", {coo}).at(0).to_tensor();
  const SparseParts& parts = sparse_parts(sorted);
  out.emplace_back(parts.indices);
  out.emplace_back(parts.values);
}

void flatten_into(const Value& value, std::vector<Value>& out) {
  if (value.is_tensor() && is_sparse_tensor(value.to_tensor())) return flatten_sparse(value.to_tensor(), out);
  if (value.is_list()) {
    for (const Value& v : value.to_list().values()) flatten_into(v, out);
  } else if (value.is_tuple()) {
    for (const Value& v : value.to_tuple().items) flatten_into(v, out);
  } else if (value.is_dict()) {
    value.to_dict().for_each([&](const Value&, const Value& v) { flatten_into(v, out); });
  } else {
    out.push_back(value);
  }
}

}  // namespace

Value read_value(const Json& json, const SafetensorsFile& tensors, TypePtr wanted) {
  const TypePtr type = without_optional(wanted);
  Value value;
  if (json.is_null()) return value;
  if (json.is_array()) return read_list(json, tensors, wanted);
  if (json.is_string()) {
    const std::string& text = json.get_ref<const std::string&>();
    return type != nullptr && type->is(TypeKind::device) ? Value(parse_device(text)) : Value(text);
  }
  value = json.is_object() ? read_object(json, tensors, wanted) : read_number(json);
  if (type != nullptr && type->is(TypeKind::tensor) && value.is_number()) {
    const Scalar number = value.to_scalar();
    const DType dtype = number.is_real() ? DType::float64 : number.is_complex() ? DType::complex128 : number.dtype();
    Tensor tensor = scalar_tensor_of(number, dtype);
    tensor.set_wrapped_number();
    return tensor;
  }
  return value;
}

std::vector<Value> flatten(const std::vector<Value>& values) {
  std::vector<Value> out;
  for (const Value& v : values) flatten_into(v, out);
  return out;
}

Value to_meta(const Value& value) {
  if (value.is_device()) return Device(DeviceType::meta);
  return map_tensors(value, [](const Tensor& t) {
    if (is_sparse_tensor(t)) return t;
    Tensor result = empty_strided_tensor(t.sizes(), t.strides(), t.dtype(), DeviceType::meta);
    if (t.is_wrapped_number()) result.set_wrapped_number();
    take_math_bits(*result.impl(), *t.impl());
    return result;
  });
}

Tensor to_device(const Tensor& t, Device device) {
  if (!t.defined() || t.is_wrapped_number() || t.device() == device || is_sparse_tensor(t)) return t;
  Tensor result = empty_strided_tensor(t.sizes(), t.strides(), t.dtype(), device);
  take_math_bits(*result.impl(), *t.impl());
  if (t.numel() == 0) return result;
  int64_t last = 0;
  for (int64_t d = 0; d < t.dim(); ++d) last += (t.sizes()[d] - 1) * t.strides()[d];
  backend_of(device.type == DeviceType::cpu ? t.device() : device)
      .copy_bytes(result.data(), device, t.data(), t.device(), static_cast<size_t>(last + 1) * t.item_size());
  return result;
}

Value to_device(const Value& value, Device device) {
  return map_tensors(value, [&](const Tensor& t) { return to_device(t, device); });
}

bool vary_true_bytes(const Tensor& t) {
  if (!t.defined() || t.dtype() != DType::bool_ || is_sparse_tensor(t) || t.storage()->nbytes == 0) return false;
  constexpr uint8_t kBytes[] = {2, 255, 1, 128, 4, 254, 16};
  auto* bytes = static_cast<uint8_t*>(t.storage()->data);
  size_t next = 0;
  for (size_t i = 0; i < t.storage()->nbytes; ++i) {
    if (bytes[i] != 0) bytes[i] = kBytes[next++ % std::size(kBytes)];
  }
  return true;
}

Value to_strided(const Value& value) {
  return map_tensors(value, [](const Tensor& t) {
    if (t.is_wrapped_number() || is_sparse_tensor(t)) return t;
    Dims strides;
    int64_t next = 2;
    for (int64_t size : t.sizes()) {
      strides.push_back(next);
      next *= std::max<int64_t>(size, 1);
    }
    return place(t, strides);
  });
}

}  // namespace sconce::testing
