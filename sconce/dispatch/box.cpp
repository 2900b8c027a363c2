#include "sconce/dispatch/box.h"

#include "sconce/dispatch/binding/op_counts.h"
#include "sconce/dispatch/printing/tensor_text.h"

namespace sconce {
namespace {

// Makes the Value of an argument, where None stands.
template <class T>
struct PutValue {
  static void put(Value* to, const void* argument) { new (to) Value(*static_cast<const T*>(argument)); }
};
template <class T>
struct PutValue<std::optional<T>> {
  static void put(Value* to, const void* argument) {
    if (const auto& given = *static_cast<const std::optional<T>*>(argument)) PutValue<T>::put(to, &*given);
  }
};
template <class... T>
void put_value_of(box::TypeList<T...>, uint8_t type, Value* to, const void* argument) {
  static constexpr void (*put[])(Value*, const void*) = {PutValue<T>::put...};
  put[type](to, argument);
}

}  // namespace

std::vector<Value> box::call_boxed(const Op& op, const char* kernel, KeySet keys, const uint8_t* types,
                                   const void* const* arguments, size_t count) {
  const size_t returns = counts_of(op).returns + 1;
  std::vector<Value> values(returns + count);  // of results, then of arguments
  Value* boxed = values.data() + returns;
  for (size_t i = 0; i < count; ++i) put_value_of(ArgumentTypes(), types[i], boxed + i, arguments[i]);
  boxed_kernel(kernel)(op, keys, boxed, values.data());
  return values;
}

void fail_undefined_tensor() { fail_as(ErrorKind::type, "expected a Tensor as argument, got None"); }

void call_failed(Error& error, const Op& op, std::initializer_list<const Tensor*> tensors) {
  if (is_internal(op)) throw;
  std::string shapes;
  size_t next = 0;
  const Schema& schema = op.schema();
  for (const Tensor* t : tensors) {
    if (!t) continue;
    // Tensors come in the order of the schema's tensor arguments.
    while (next < schema.arguments.size()) {
      TypePtr type = schema.arguments[next].type;
      if (type->is(TypeKind::optional)) type = type->element();
      if (type->is(TypeKind::tensor)) break;
      ++next;
    }
    if (!shapes.empty()) shapes += ", ";
    if (next < schema.arguments.size()) shapes += schema.arguments[next++].name + ": ";
    append_tensor_text(shapes, *t);
  }
  error.set_op(op.qualified_name(), shapes);
  throw;
}

}  // namespace sconce
