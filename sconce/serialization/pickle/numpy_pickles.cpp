#include "sconce/serialization/pickle/numpy_pickles.h"

#include <algorithm>
#include <cstring>

#include "sconce/serialization/pickle/numpy_dtypes.h"
#include "sconce/serialization/pickle/opaque_objects.h"
#include "sconce/tensor/strides.h"

namespace sconce {
namespace {

// numpy._core of NumPy 2, numpy.core before.
bool is_function(std::string_view name, std::string_view module, std::string_view function) {
  for (const std::string_view core : {"numpy._core.", "numpy.core."}) {
    if (name == std::string(core) + std::string(module) + "." + std::string(function)) return true;
  }
  return false;
}

// numpy.dtype("f4", False, True) with the state (3, "<", None, None, None, -1, -1, 0).
std::optional<NumpyElement> element_of(const Value& dtype) {
  if (!is_opaque(dtype) || opaque_class_name(dtype) != "numpy.dtype" || !opaque_arguments(dtype).is_tuple()) return {};
  const std::vector<Value>& args = opaque_arguments(dtype).to_tuple().items;
  if (args.empty() || !args[0].is_string()) return {};
  const Value& state = opaque_state(dtype);
  char order = '=';
  if (state.is_tuple() && state.to_tuple().items.size() > 1) {
    const Value& text = state.to_tuple().items[1];
    if (!text.is_string() || text.to_string_ref().size() != 1) return {};
    order = text.to_string_ref()[0];
  }
  return numpy_element(args[0].to_string_ref(), order);
}

Tensor tensor_of(const std::string& bytes, NumpyElement element, IntList sizes) {
  int64_t needed = 0;
  SCONCE_CHECK(!__builtin_mul_overflow(checked_numel(sizes), static_cast<int64_t>(item_size(element.dtype)), &needed) &&
                   static_cast<uint64_t>(needed) == bytes.size(),
               "an array of {} {} does not fill {} bytes", dtype_name(element.dtype), sizes, bytes.size());
  const Tensor t = empty_tensor(sizes, element.dtype);
  if (!bytes.empty()) std::memcpy(t.data(), bytes.data(), bytes.size());
  if (element.dtype == DType::bool_) {
    std::for_each_n(t.data<uint8_t>(), bytes.size(), [](uint8_t& b) { b = b != 0; });
  }
  if (element.swapped) swap_bytes(t);
  return t;
}

Tensor array_of(const std::string& bytes, NumpyElement element, std::vector<int64_t> sizes, bool fortran) {
  if (!fortran || sizes.size() < 2) return tensor_of(bytes, element, sizes);
  const std::vector<int64_t> shape = sizes;
  std::reverse(sizes.begin(), sizes.end());
  const Tensor t = tensor_of(bytes, element, sizes);
  std::vector<int64_t> strides(t.strides().begin(), t.strides().end());
  std::reverse(strides.begin(), strides.end());
  return make_tensor(Ref<Storage>::share(t.storage()), t.dtype(), shape, strides, 0);
}

std::vector<int64_t> sizes_of(const Value& shape) {
  std::vector<int64_t> sizes;
  if (shape.is_int()) return {shape.to_int()};
  SCONCE_CHECK(shape.is_tuple(), "the shape of an array must be a tuple");
  for (const Value& n : shape.to_tuple().items) sizes.push_back(n.to_int());
  return sizes;
}

// scalar(dtype, bytes)
std::optional<Value> scalar(const std::vector<Value>& args) {
  if (args.size() != 2 || !args[1].is_string()) return {};
  const std::optional<NumpyElement> element = element_of(args[0]);
  if (!element) return {};
  const Tensor t = tensor_of(args[1].to_string_ref(), *element, {});
  return Value(item_of(t));
}

// _frombuffer(bytes, dtype, shape, order)
std::optional<Value> from_buffer(const std::vector<Value>& args) {
  if (args.size() < 3 || !args[0].is_string()) return {};
  const std::optional<NumpyElement> element = element_of(args[1]);
  if (!element) return {};
  const bool fortran = args.size() > 3 && args[3].is_string() && args[3].to_string_ref() == "F";
  return array_of(args[0].to_string_ref(), *element, sizes_of(args[2]), fortran);
}

}  // namespace

std::optional<Value> numpy_call(std::string_view function, const std::vector<Value>& args) {
  if (is_function(function, "multiarray", "scalar")) return scalar(args);
  if (is_function(function, "numeric", "_frombuffer")) return from_buffer(args);
  return std::nullopt;
}

// The state is (version, shape, dtype, is in Fortran's order, bytes or a list of objects); old files have no version.
std::optional<Value> numpy_array(const Value& object, const Value& state) {
  if (!is_function(opaque_class_name(object), "multiarray", "_reconstruct") || !state.is_tuple()) return {};
  const std::vector<Value>& parts = state.to_tuple().items;
  if (parts.size() < 4 || parts.size() > 5) return {};
  const size_t at = parts.size() - 4;
  const std::optional<NumpyElement> element = element_of(parts[at + 1]);
  if (!element || !parts[at + 2].is_bool() || !parts[at + 3].is_string()) return {};
  return array_of(parts[at + 3].to_string_ref(), *element, sizes_of(parts[at]), parts[at + 2].to_bool());
}

}  // namespace sconce
