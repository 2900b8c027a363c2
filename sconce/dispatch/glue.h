// Output preparation: generated kernels allocate results, check `out=` tensors and copy by these functions.
#pragma once

#include <initializer_list>

#include "sconce/base/small_vector.h"
#include "sconce/tensor/copy.h"
#include "sconce/tensor/tensor.h"

namespace sconce {

// The result that an operator will have, by its rules for shape, dtype and format.
struct OutSpec {
  Dims sizes;
  DType dtype;
  MemoryFormat format = MemoryFormat::contiguous;
};

Tensor make_output(const OutSpec& spec, Device device);
// For out= and in-place forms: `given` is resized (or, in place, must fit) and its dtype checked. Returns `given`
// itself when a kernel can write to it directly, a new tensor when its strides differ or it overlaps an input. Other
// tensors that the call writes count as inputs.
Tensor prepare_output(const OutSpec& spec, const Tensor& given, std::initializer_list<const Tensor*> inputs,
                      bool inplace, TensorList more_inputs = {});
// Copies the tensor that prepare_output returned to `given` if it is another one, and bumps given's version. `given` is
// resized now if it was an input.
void finish_output(const Tensor& written, const Tensor& given);
// In-place form of an operator that makes its own result: the shape must be that of `self`, the dtype castable.
void copy_into(const Tensor& self, const Tensor& result);
// out= form of such an operator: resizes `out`. Nothing happens if the result is undefined.
void copy_to_out(const Tensor& out, const Tensor& result);

// channels_last when the tensor's strides say so, else contiguous.
MemoryFormat suggested_format(const Tensor& t);
Device device_of(TensorList list);
// A dense tensor with the same values: itself when it is contiguous in the format already.
Tensor contiguous_tensor(const Tensor& t, MemoryFormat format = MemoryFormat::contiguous);
// Values converted to another dtype; itself when it has it.
Tensor to_dtype(const Tensor& t, DType dtype);

// Throws when two elements of a tensor that is to be written share memory, or when it partly overlaps an input.
void check_no_internal_overlap(const Tensor& out);
void check_no_partial_overlap(const Tensor& out, const Tensor& in);

}  // namespace sconce
