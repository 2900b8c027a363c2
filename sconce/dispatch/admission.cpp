#include "sconce/dispatch/admission.h"

#include <vector>

#include "sconce/base/error.h"
#include "sconce/base/once.h"
#include "sconce/dispatch/binding/op_counts.h"
#include "sconce/dispatch/registry.h"

namespace sconce {
namespace {

// The tensor whose dtype the kernel computes in: the first one. Others are indices, masks, weights: kernels check them.
const Tensor* first_tensor(const Value* args, size_t count) {
  for (const Value* v = args; v != args + count; ++v) {
    if (v->is_tensor()) return &v->to_tensor();
    if (!v->is_list() || !v->to_list().is_tensors()) continue;
    for (const Tensor& t : v->to_list().tensors()) {
      if (t.defined()) return &t;
    }
  }
  return nullptr;
}

#ifndef SCONCE_SMALL
Tensor without_data(const Tensor& t) {
  return t.defined() ? empty_strided_tensor(t.sizes(), t.strides(), t.dtype(), DeviceType::meta) : t;
}

Value without_data(const Value& v) {
  if (v.is_tensor()) return without_data(v.to_tensor());
  if (!v.is_list() || !v.to_list().is_tensors()) return v;
  Ref<List> list = make_ref<List>(v.to_list().element_type());
  for (const Tensor& t : v.to_list().tensors()) list->append(t.defined() ? Value(without_data(t)) : Value());
  return list;
}

// The operator may have words of its own for the dtype ("linalg.svd: Expected a floating point or complex tensor as
// input. Got UInt16"), which its checks say on Meta tensors, too.
void let_it_refuse(const Op& op, const Value* args, size_t count) {
  std::vector<Value> shapes, returns(counts_of(op).returns);
  for (size_t i = 0; i < count; ++i) shapes.push_back(without_data(args[i]));
  try {
    op.redispatch_boxed(Key::meta, shapes.data(), returns.data());
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::not_implemented) fail_as(error.kind(), "{}", error.message());
  }
}
#else
void let_it_refuse(const Op&, const Value*, size_t) {}
#endif

[[noreturn]] SCONCE_COLD void refuse(const Op& op, const Value* args, size_t count, DType dtype) {
  let_it_refuse(op, args, count);
  std::string_view name = op.info.name;
  name.remove_prefix(name.find("::") + 2);
  fail_as(ErrorKind::not_implemented, "\"{}\" not implemented for '{}'", name, dtype_legacy_name(dtype));
}

}  // namespace

// Sizes and dtypes of a result are known for every dtype: Meta tensors pass.
void admit_limited(const Op& op, KeySet keys, Value* args, Value* returns) {
  const size_t count = counts_of(op).arguments;
  const Tensor* self = first_tensor(args, count);
  if (self && !keys.has(Key::meta) && (limited_set(self->dtype()) & ~op.info.dtypes) != 0)
    refuse(op, args, count, self->dtype());
  op.redispatch_boxed(keys - Key::limited, args, returns);
}

void admit_limited_dtypes(DType) {
  static Once once;
  once([] { set_fallback(Key::limited, admit_limited); });
}

}  // namespace sconce
