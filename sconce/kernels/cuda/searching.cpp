// Searches in sorted lines, and which elements are in a set, on CUDA devices (text/search.cuh).
#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/generated/searching_cuda_kernels.h"
#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/row_kernels.h"
#include "sconce/kernels/cuda/shared_types.h"
#include "sconce/kernels/cuda/texts.h"
#include "sconce/ops.h"

namespace sconce::cuda {
namespace {

#include "sconce/kernels/cuda/text/search_arguments.cuh"

struct Variant {
  DType sorted, value, out;
};

std::string source_of(const Variant& v) {
  const bool floats = is_floating(v.sorted) || is_floating(v.value);
  std::string out = vocabulary(false, 0, false) + compute_lines(floats ? Compute::f64 : Compute::i64);
  out += fmt::format("using Sorted = {};\nusing Value = {};\nusing Out = {};\n", stored_type(v.sorted),
                     stored_type(v.value), stored_type(v.out));
  out += text_file("search_arguments");
  out += text_file("search");
  return out;
}

void search(const char* name, const Tensor& sorted_, const Tensor& values_, bool right, const Tensor& order_,
            const Tensor& out) {
  const Tensor sorted = dense(sorted_), values = dense(values_), order = dense(order_);
  const Tensor made = out.is_contiguous() ? out : empty_tensor(out.sizes(), out.dtype(), out.device());
  SearchArguments a{};
  a.sorted = sorted.data();
  a.values = values.data();
  a.order = order.defined() ? static_cast<const i64*>(order.data()) : nullptr;
  a.out = made.data();
  a.elements = values.numel();
  a.count = sorted.size(-1);
  a.values_of_line = sorted.dim() > 1 ? values.size(-1) : 0;
  a.right = right;
  if (a.elements == 0) return;
  const Device device = out.device();
  const Variant v{sorted.dtype(), values.dtype(), out.dtype()};
  const Kernel& kernel = find_kernel(
      device,
      fmt::format("search/{}.{}.{}", static_cast<int>(v.sorted), static_cast<int>(v.value), static_cast<int>(v.out)),
      [&v] { return source_of(v); }, "search");
  Shape shape;
  shape.grid_x = static_cast<unsigned>((a.elements + 255) / 256);
  shape.block_x = 256;
  launch(device, kernel, shape, &a, sizeof a, name);
  if (!made.is_same(out)) sconce::copy_(out, made);
}

bool to_the_right(bool right, std::optional<std::string_view> side) { return side ? *side == "right" : right; }
Tensor number_on(const Scalar& s, Device device) {
  return sconce::full({}, s, s.is_real() ? DType::float64 : DType::int64, {}, device);
}

// By the set, sorted: a value is in it if it stands where it would be put.
void is_in(const Tensor& elements, const Tensor& set, bool invert, const Tensor& out) {
  if (set.numel() == 0) {
    sconce::fill_(out, invert ? 1 : 0);
    return;
  }
  const Tensor sorted = std::get<0>(sconce::sort(sconce::reshape(set, {-1})));
  const Tensor places = empty_tensor(elements.sizes(), DType::int64, elements.device());
  search("isin", sorted, elements, false, {}, places);
  const Tensor found = sconce::take(sorted, sconce::clamp_max(places, Scalar(sorted.numel() - 1)));
  sconce::copy_(out, invert ? sconce::ne(found, elements) : sconce::eq(found, elements));
}

}  // namespace

void searchsorted_Tensor(const Tensor& sorted_sequence, const Tensor& self, bool, bool right,
                         std::optional<std::string_view> side, const Tensor& sorter, const Tensor& out) {
  search("searchsorted", sorted_sequence, self, to_the_right(right, side), sorter, out);
}
void searchsorted_Scalar(const Tensor& sorted_sequence, const Scalar& self, bool, bool right,
                         std::optional<std::string_view> side, const Tensor& sorter, const Tensor& out) {
  search("searchsorted", sorted_sequence, number_on(self, out.device()), to_the_right(right, side), sorter, out);
}
void bucketize_Tensor(const Tensor& self, const Tensor& boundaries, bool, bool right, const Tensor& out) {
  search("bucketize", boundaries, self, right, {}, out);
}
void bucketize_Scalar(const Scalar& self, const Tensor& boundaries, bool, bool right, const Tensor& out) {
  search("bucketize", boundaries, number_on(self, out.device()), right, {}, out);
}
void isin_Tensor_Tensor(const Tensor& elements, const Tensor& test_elements, bool, bool invert, const Tensor& out) {
  is_in(elements, test_elements, invert, out);
}
void isin_Tensor_Scalar(const Tensor& elements, const Scalar& test_element, bool, bool invert, const Tensor& out) {
  sconce::copy_(out, invert ? sconce::ne(elements, test_element) : sconce::eq(elements, test_element));
}
void isin_Scalar_Tensor(const Scalar& element, const Tensor& test_elements, bool, bool invert, const Tensor& out) {
  const Tensor any = sconce::any(sconce::eq(test_elements, element));
  sconce::copy_(out, invert ? sconce::logical_not(any) : any);
}

}  // namespace sconce::cuda
