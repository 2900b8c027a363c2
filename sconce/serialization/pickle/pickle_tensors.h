// Tensors of pickles: what the constructors of pickle_globals.h for tensors make of their arguments. Apart from these,
// so that lite libraries have no list of names.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "sconce/types/value.h"

namespace sconce {

// Constructors. Those of sparse and quantised tensors are weak (base/weak.h): a small library that was built without
// the format has others in their place. All throw Error.
Value rebuild_tensor(const std::vector<Value>& args);
Value rebuild_sparse(const std::vector<Value>& args);
Value rebuild_quantized(const std::vector<Value>& args);

// The dtype of "FloatStorage", also of those that hold quantised numbers ("QInt8Storage"); nothing for other names.
std::optional<DType> storage_dtype(std::string_view class_name);

// Parts of constructors.
void need_args(const std::vector<Value>& args, size_t from, size_t to);  // so many
const Value& need_tuple(const Value& v);
std::vector<int64_t> ints_of(const Value& v);  // a tuple or a list
// Elements that were not conjugated or negated yet, where `bits` says so: {"conj": True}, {"neg": True}. Weak, too: for
// libraries without complex numbers.
Tensor with_math_bits(Tensor t, const Dict& bits);
// A tensor over the storage that the flat tensor `args[0]` lies in: its offset, sizes and strides follow; and, at
// `bits`, a dict for with_math_bits, or None.
Tensor strided(const std::vector<Value>& args, DType dtype, size_t bits);
// The flag that parameters have; it means nothing for numbers that have no derivative.
void set_grad(Tensor& t, const Value& requires_grad);
Tensor with_grad(Tensor t, const Value& requires_grad);

}  // namespace sconce
