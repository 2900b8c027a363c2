// What follows from sorted lines on CUDA devices: medians, the k-th element, and which elements there are.
#include <algorithm>

#include "sconce/base/error.h"
#include "sconce/generated/reduction_cuda_kernels.h"
#include "sconce/generated/sorting_cuda_kernels.h"
#include "sconce/kernels/cuda/row_kernels.h"
#include "sconce/kernels/cuda/sorting.h"
#include "sconce/ops.h"
#include "sconce/tensor/element.h"

namespace sconce::cuda {
namespace {

struct Sorted {
  Tensor values, indices;  // ascending along the last dimension, where `dim` was
  int64_t count;
};

Sorted sorted_along(const char* name, const Tensor& self, int64_t dim) {
  const int64_t rank = self.dim(), d = dim < 0 ? dim + std::max<int64_t>(rank, 1) : dim;
  const Tensor in = dense(rank == 0 ? sconce::view(self, {1}) : d == rank - 1 ? self : sconce::movedim(self, d, -1));
  Sorted s{empty_tensor(in.sizes(), in.dtype(), in.device()), empty_tensor(in.sizes(), DType::int64, in.device()),
           in.sizes()[static_cast<size_t>(in.dim() - 1)]};
  if (in.numel() != 0) sort_rows(name, in, s.values, s.indices, in.numel() / s.count, s.count, false);
  return s;
}

// The elements at `places` (one for each line) become the results, which may have kept the dimension.
void pick(const Sorted& s, const Tensor& places, const Tensor& values, const Tensor& indices) {
  sconce::copy_(values, sconce::view(sconce::gather(s.values, -1, places), values.sizes()));
  sconce::copy_(indices, sconce::view(sconce::gather(s.indices, -1, places), indices.sizes()));
}

// The place of the middle of each line; NaN, which stand at the end, win (or do not count).
Tensor middle_of(const Sorted& s, bool skips_nan) {
  Dims one(s.values.sizes());
  one[one.size() - 1] = 1;
  const Tensor middle = sconce::full(one, Scalar((s.count - 1) / 2), DType::int64, {}, s.values.device());
  if (!is_floating(s.values.dtype())) return middle;
  const Tensor numbers = sconce::sum(sconce::logical_not(sconce::isnan(s.values)), IntList({-1}), true);
  if (skips_nan) {
    return sconce::clamp_min(sconce::div(sconce::sub(numbers, Scalar(1)), Scalar(2), std::string_view("floor")),
                             Scalar(0));
  }
  return sconce::where(sconce::lt(numbers, Scalar(s.count)), numbers, middle);
}

void median_along(const Tensor& self, int64_t dim, bool skips_nan, const Tensor& values, const Tensor& indices) {
  if (values.numel() == 0) return;
  const Sorted s = sorted_along("median", self, dim);
  pick(s, middle_of(s, skips_nan), values, indices);
}

void median_of_all(const Tensor& self, bool skips_nan, const Tensor& out) {
  if (self.numel() == 0) {
    sconce::fill_(out, is_floating(self.dtype()) ? Scalar(std::numeric_limits<double>::quiet_NaN())
                                                 : Scalar(std::numeric_limits<int64_t>::min()));
    return;
  }
  const Sorted s = sorted_along("median", sconce::reshape(self, {-1}), 0);
  sconce::copy_(out, sconce::view(sconce::gather(s.values, -1, middle_of(s, skips_nan)), out.sizes()));
}

// Elements that differ, ascending; where each of self stands among them; how often each occurs.
std::tuple<Tensor, Tensor, Tensor> unique_of(const Tensor& self, bool inverse, bool counts) {
  const Device device = self.device();
  const int64_t n = self.numel();
  const auto none = [&] { return empty_tensor({0}, DType::int64, device); };
  if (n == 0)
    return {empty_tensor({0}, self.dtype(), device),
            inverse ? empty_tensor(self.sizes(), DType::int64, device) : none(), none()};
  const Sorted s = sorted_along("unique", sconce::reshape(self, {-1}), 0);
  // 1 where an element differs from the one before it.
  const Tensor differs = sconce::ones({n}, DType::bool_, {}, device);
  if (n > 1) {
    sconce::copy_(sconce::narrow(differs, 0, 1, n - 1),
                  sconce::ne(sconce::narrow(s.values, 0, 1, n - 1), sconce::narrow(s.values, 0, 0, n - 1)));
  }
  const Tensor firsts = sconce::view(sconce::nonzero(differs), {-1});
  const Tensor values = sconce::index_select(s.values, 0, firsts);
  Tensor places = none(), times = none();
  if (inverse) {
    const Tensor ranks = sconce::sub(sconce::cumsum(differs, 0), Scalar(1));
    const Tensor flat = empty_tensor({n}, DType::int64, device);
    sconce::scatter_(flat, 0, s.indices, ranks);
    places = sconce::view(flat, self.sizes());
  }
  if (counts) {
    const Tensor end = sconce::full({1}, Scalar(n), DType::int64, {}, device);
    times =
        sconce::sub(sconce::cat(std::vector<Tensor>{sconce::narrow(firsts, 0, 1, firsts.numel() - 1), end}, 0), firsts);
  }
  return {values, places, times};
}

}  // namespace

void median(const Tensor& self, const Tensor& out) { median_of_all(self, false, out); }
void nanmedian(const Tensor& self, const Tensor& out) { median_of_all(self, true, out); }
void median_dim(const Tensor& self, int64_t dim, bool, const Tensor& values, const Tensor& indices) {
  median_along(self, dim, false, values, indices);
}
void nanmedian_dim(const Tensor& self, int64_t dim, bool, const Tensor& values, const Tensor& indices) {
  median_along(self, dim, true, values, indices);
}
void kthvalue(const Tensor& self, int64_t k, int64_t dim, bool, const Tensor& values, const Tensor& indices) {
  if (values.numel() == 0) return;
  const Sorted s = sorted_along("kthvalue", self, dim);
  SCONCE_CHECK(k >= 1 && k <= s.count, "kthvalue(): selected number k out of range for dimension {}", dim);
  Dims one(s.values.sizes());
  one[one.size() - 1] = 1;
  pick(s, sconce::full(one, Scalar(k - 1), DType::int64, {}, self.device()), values, indices);
}

void mode(const Tensor& self, int64_t dim, bool, const Tensor& values, const Tensor& indices) {
  if (values.numel() == 0) return;
  const Sorted s = sorted_along("mode", self, dim);
  // How long the run of equal elements is at each place; the longest ends at the last of the most frequent ones.
  const Tensor at = sconce::arange(Scalar(s.count), DType::int64, {}, self.device());
  const Tensor starts = sconce::zeros(s.values.sizes(), DType::int64, {}, self.device());
  if (s.count > 1) {
    const Tensor later = sconce::narrow(s.values, -1, 1, s.count - 1),
                 sooner = sconce::narrow(s.values, -1, 0, s.count - 1);
    sconce::copy_(sconce::narrow(starts, -1, 1, s.count - 1),
                  sconce::mul(sconce::ne(later, sooner), sconce::narrow(at, 0, 1, s.count - 1)));
  }
  const Tensor lengths = sconce::sub(at, std::get<0>(sconce::cummax(starts, -1)));
  pick(s, sconce::argmax(lengths, -1, true), values, indices);
}

std::tuple<Tensor, Tensor> _unique(const Tensor& self, bool, bool return_inverse) {
  const auto [values, inverse, counts] = unique_of(self, return_inverse, false);
  return {values, inverse};
}
std::tuple<Tensor, Tensor, Tensor> _unique2(const Tensor& self, bool, bool return_inverse, bool return_counts) {
  return unique_of(self, return_inverse, return_counts);
}

}  // namespace sconce::cuda
