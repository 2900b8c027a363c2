#include "sconce/dispatch/budget/op_terms.h"

#include "sconce/dispatch/printing/tensor_text.h"
#include "sconce/tensor/element.h"
#include "sconce/tensor/math_bits.h"
#include "sconce/tensor/sparse/sparse_parts.h"
#include "sconce/tensor/tensor.h"

namespace sconce {

bool is_hidden(const Op& op) { return is_internal(op) && !terms_of(op).named; }

double work_of_elements(const Value* args, size_t count) {
  double sum = 0;
  for (const Value* v = args; v != args + count; ++v) {
    if (v->is_tensor())
      sum += body::elements(v->to_tensor());
    else if (v->is_list() && v->to_list().is_tensors())
      sum += body::elements(v->to_list().tensors());
  }
  return sum;
}

double work_of_items(const Value* args, size_t count) {
  double sum = 0;
  for (const Value* v = args; v != args + count; ++v) {
    if (v->is_list())
      sum += static_cast<double>(v->to_list().size());
    else if (v->is_dict())
      sum += static_cast<double>(v->to_dict().size());
    else if (v->is_string())
      sum += static_cast<double>(v->to_string_ref().size());
  }
  return sum;
}

namespace body {

namespace {

// Dimensions along which elements repeat are looked at once.
template <class Look>
void for_each_element(const Tensor& t, int64_t offset, int64_t dim, const Look& look) {
  if (dim == t.dim()) return look(offset);
  const int64_t count = t.strides()[static_cast<size_t>(dim)] == 0 ? std::min<int64_t>(t.size(dim), 1) : t.size(dim);
  for (int64_t i = 0; i < count; ++i)
    for_each_element(t, offset + i * t.strides()[static_cast<size_t>(dim)], dim + 1, look);
}

}  // namespace

double elements(const Tensor& t) {
  if (!t.defined()) return 0;
  if (!is_sparse_tensor(t)) return static_cast<double>(t.numel());
  const SparseParts& parts = sparse_parts(t);
  double sum = 0;
  for (const Tensor* part : {&parts.indices, &parts.compressed, &parts.plain, &parts.values}) sum += elements(*part);
  return sum;
}

double convolution_work(const Tensor& input, const Tensor& weight, IntList padding) {
  double places = static_cast<double>(input.size(0));
  for (int64_t i = 2; i < input.dim(); ++i) {
    const int64_t pad = padding.empty() ? 0 : padding[std::min<size_t>(static_cast<size_t>(i - 2), padding.size() - 1)];
    places *= static_cast<double>(input.size(i)) + 2 * static_cast<double>(std::max<int64_t>(pad, 0));
  }
  return places * elements(weight);
}

double largest_element(const Tensor& given) {
  if (!given.defined() || given.device().type != DeviceType::cpu || given.layout() != Layout::strided ||
      is_complex(given.dtype()))
    return 0;
  const Tensor t = resolved_math_bits(given);
  double largest = 0;
  const auto* data = static_cast<const std::byte*>(t.data());
  for_each_element(t, 0, 0, [&](int64_t offset) {
    const double v = load_scalar(data + offset * static_cast<int64_t>(t.item_size()), t.dtype()).to_double();
    if (v > largest) largest = v;  // also false for NaN
  });
  return largest;
}

}  // namespace body
}  // namespace sconce
