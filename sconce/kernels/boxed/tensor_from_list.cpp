// torch.tensor([[1, 2], [3, 4]]): tensors from nested lists of numbers.
#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/dispatch/registry.h"
#include "sconce/generated/creation_kernels.h"
#include "sconce/kernels/any/fill.h"
#include "sconce/tensor/element.h"
#include "sconce/tensor/view_base.h"

namespace sconce::boxed {
namespace {

// The sizes along the first elements; every other list must agree.
void measure(const List& list, Dims& sizes) {
  sizes.push_back(static_cast<int64_t>(list.size()));
  SCONCE_CHECK(sizes.size() <= 64, "too many nested lists");
  if (list.empty() || !list.element_type()->is(TypeKind::list)) return;
  const Value first = list.get(0);
  measure(first.to_list(), sizes);
}

TypePtr number_type_of(const List& list) {
  TypePtr type = list.element_type();
  while (type->is(TypeKind::list)) type = type->contained()[0];
  return type;
}

DType dtype_of(TypePtr type) {
  switch (type->kind()) {
    case TypeKind::int_:
      return DType::int64;
    case TypeKind::float_:
    case TypeKind::tensor:
      return default_dtype();  // the element type of an empty list without annotation
    case TypeKind::bool_:
      return DType::bool_;
    case TypeKind::complex:
      return complex_dtype(default_dtype());
    default:
      fail_as(ErrorKind::type, "Input must be of ints, floats, or bools, got {}", type->to_string());
  }
}

void store(const List& list, size_t depth, const Dims& sizes, const Tensor& out, int64_t& at) {
  SCONCE_CHECK_AS(value, static_cast<int64_t>(list.size()) == sizes[depth],
                  "Expected sequence of length {} at dim {} (got {})", sizes[depth], depth, list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    const Value item = list.get(i);
    if (depth + 1 < sizes.size()) {
      store(item.to_list(), depth + 1, sizes, out, at);
      continue;
    }
    const Scalar number = item.to_scalar();
    check_fits(number, out.dtype());
    store_scalar(out.data<char>() + at * static_cast<int64_t>(out.item_size()), out.dtype(), number);
    ++at;
  }
}

}  // namespace

// (t[] data, *, ScalarType? dtype, Device? device) and, for torch.tensor, bool requires_grad
void tensor_from_list(const Op& op, KeySet, Value* args, Value* returns) {
  const List& list = args[0].to_list();
  Dims sizes;
  measure(list, sizes);
  // As in PyTorch's programs, floats are rounded to the default dtype first, for every dtype that is asked for.
  const DType given = dtype_of(number_type_of(list));
  const DType dtype = args[1].is_none() ? given : dtype_from_number(args[1].to_int());
  const Device device = args[2].is_none() ? Device() : args[2].to_device();
  const Tensor made = empty_tensor(sizes, given, device);
  if (!made.is_meta()) {
    int64_t at = 0;
    if (!list.empty()) store(list, 0, sizes, made, at);
  }
  const Tensor out = dtype == given ? made : empty_tensor(sizes, dtype, device);
  if (dtype != given) copy_tensor(out, made);
  if (op.schema().arguments.size() > 3 && args[3].to_bool()) start_requiring_grad(out);
  returns[0] = out;
}

}  // namespace sconce::boxed
