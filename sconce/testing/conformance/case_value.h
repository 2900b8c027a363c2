// Case values: JSON with special forms, read as Values.
//
//   {"t": "t3"}                         a tensor of the file, contiguous
//   {"sparse": "sparse_csr", "size": [2, 3], "parts": [{"t": "t3"}, ...]}   two parts, and "coalesced", for sparse_coo
//   {"t": "t3", "strides": [1, 4]}      the same values with these strides (which may overlap, as in expanded views)
//   {"f": "nan" | "inf" | "-inf"}       a float
//   {"c": [re, im]}                     a complex number
//   {"dtype": "float32"}  {"device": "cpu"}  {"memory_format": "channels_last"}  {"layout": "strided"}
//   {"tuple": [...]}  {"dict": [[k, v], ...]}  {"namedtuple": [type, fields, values]}  {"enum": [type, member]}
//   {"slice": [start, stop, step]}      no operator takes one: refused
#pragma once

#include "sconce/tensor/math_bits.h"
#include "sconce/testing/conformance/case_file.h"
#include "sconce/types/value.h"

namespace sconce::testing {

// Reads a value. `wanted` is the type of the schema argument it is for, or null: it decides the element type of a
// list, whether a tuple is meant as a list, whether a text is a device, which type a named tuple or enum has, and
// makes a number a tensor if one is wanted. Every tensor is a fresh copy. Throws Error with the JSON when a form is
// unknown or broken.
Value read_value(const Json& json, const SafetensorsFile& tensors, TypePtr wanted = nullptr);

// All tensors, numbers and strings inside of a value, in order; None stays (an output that is not computed). Dicts
// give their values.
std::vector<Value> flatten(const std::vector<Value>& values);

// The same value with every tensor on Meta: sizes, strides and dtype, no data. Devices become meta, too.
Value to_meta(const Value& value);

// The same value with every tensor on another device: sizes, strides and bytes, those of gaps included. Numbers that
// stand for tensors stay where they are.
Value to_device(const Value& value, Device device);
Tensor to_device(const Tensor& tensor, Device device);

// The same value with every tensor column-major, two elements of memory for each of its own.
Value to_strided(const Value& value);

// Gives the bools of the tensor other bytes for true than 1, in turn. Returns false if there are none.
bool vary_true_bytes(const Tensor& tensor);

// Elements in logical order, for all strides.
template <class T>
std::vector<T> elements(const Tensor& given) {
  const Tensor tensor = resolved_math_bits(given);
  std::vector<T> result;
  const auto n = static_cast<size_t>(tensor.numel());
  result.reserve(n);
  if (n == 0) return result;
  const auto sizes = tensor.sizes(), strides = tensor.strides();
  std::vector<int64_t> index(sizes.size());
  const T* data = tensor.data<T>();
  for (int64_t at = 0;;) {
    if constexpr (std::is_same_v<T, bool>) {
      result.push_back(reinterpret_cast<const uint8_t*>(data)[at] != 0);
    } else {
      result.push_back(data[at]);
    }
    size_t d = sizes.size();
    while (d > 0 && index[d - 1] + 1 == sizes[d - 1]) {
      at -= index[d - 1] * strides[d - 1];
      index[--d] = 0;
    }
    if (d == 0) return result;
    ++index[d - 1];
    at += strides[d - 1];
  }
}

}  // namespace sconce::testing
