// Masks on CUDA devices: places of elements that are not 0, elements under a mask. How many there are decides about the
// size of the result, so the host waits for that number.
#include <algorithm>

#include <fmt/format.h>

#include "sconce/base/checked.h"
#include "sconce/base/error.h"
#include "sconce/generated/indexing_cuda_kernels.h"
#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/index_kernels.h"
#include "sconce/kernels/cuda/row_kernels.h"
#include "sconce/kernels/cuda/scans.h"
#include "sconce/kernels/cuda/shared_types.h"
#include "sconce/kernels/cuda/texts.h"
#include "sconce/ops.h"
#include "sconce/tensor/element.h"

namespace sconce::cuda {
namespace {

#include "sconce/kernels/cuda/text/places_arguments.cuh"

constexpr int64_t kMostDims = 24;

// [rank, count]
Tensor positions(const Tensor& self) {
  SCONCE_CHECK(self.dim() <= kMostDims, "nonzero: at most {} dimensions on CUDA, got {}", kMostDims, self.dim());
  const Device device = self.device();
  const int64_t n = self.numel(), rank = self.dim();
  if (n == 0) return empty_tensor({rank, 0}, DType::int64, device);
  const Tensor mask = dense(self.dtype() == DType::bool_ ? self : sconce::ne(self, Scalar(0)));
  const Tensor sums = empty_tensor({n}, DType::int64, device);
  launch_scan(ScanKind::sum, "nonzero", mask, sums, nullptr, 1, n);
  const int64_t count = item_of(sconce::select(sums, 0, n - 1)).to_int();
  const Tensor out = empty_tensor({rank, count}, DType::int64, device);
  if (count == 0 || rank == 0) return out;
  PlacesArguments a{};
  a.mask = mask.data();
  a.sums = static_cast<const i64*>(sums.data());
  a.out = static_cast<i64*>(out.data());
  a.elements = n;
  a.count = count;
  a.rank = static_cast<int>(rank);
  for (int64_t d = 0; d < rank; ++d) a.size[d] = self.sizes()[static_cast<size_t>(rank - 1 - d)];
  const Kernel& kernel = find_kernel(
      device, "places",
      [] {
        return std::string(text_file("prelude")) + std::string(text_file("places_arguments")) +
               std::string(text_file("places"));
      },
      "places");
  Shape shape;
  shape.grid_x = static_cast<unsigned>((n + 255) / 256);
  shape.block_x = 256;
  launch(device, kernel, shape, &a, sizeof a, "nonzero");
  return out;
}

// Flat places of a mask.
Tensor flat_positions(const Tensor& mask) {
  const Tensor flat = sconce::view(dense(mask), {-1});
  const Tensor found = positions(flat);
  return sconce::view(found, {found.sizes()[1]});
}

void check_mask(const Tensor& mask, const char* op) {
  SCONCE_CHECK(mask.dtype() == DType::bool_, "{}: expected BoolTensor for mask, got {}", op, dtype_name(mask.dtype()));
}

}  // namespace

Tensor nonzero(const Tensor& self) { return sconce::t(positions(self)); }

std::vector<Tensor> nonzero_numpy(const Tensor& self) {
  const Tensor found = positions(self.dim() == 0 ? sconce::view(self, {1}) : self);
  std::vector<Tensor> out;
  for (int64_t d = 0; d < found.sizes()[0]; ++d) out.push_back(sconce::select(found, 0, d));
  return out;
}

Tensor masked_select(const Tensor& self, const Tensor& mask) {
  check_mask(mask, "masked_select");
  const std::vector<Tensor> both = sconce::broadcast_tensors(std::vector<Tensor>{self, mask});
  return sconce::index_select(sconce::reshape(both[0], {-1}), 0, flat_positions(both[1]));
}

void masked_scatter_(const Tensor& self, const Tensor& mask, const Tensor& source) {
  check_mask(mask, "masked_scatter_");
  SCONCE_CHECK(self.dtype() == source.dtype(),
               "masked_scatter: expected self and source to have same dtypes but got {} and {}",
               dtype_legacy_name(self.dtype()), dtype_legacy_name(source.dtype()));
  const Tensor places = flat_positions(sconce::expand(mask, self.sizes()));
  const int64_t count = places.numel(), one = 1, none = 0;
  SCONCE_CHECK(count <= source.numel(),
               "masked_scatter: expected number of elements in source ({}) to be at least the number of "
               "ones in the mask ({})",
               source.numel(), count);
  const Tensor to = dense(self), from = dense(source.storage() == self.storage() ? sconce::clone(source) : source);
  const IndexOperand operand{&places, &one, to.numel(), 1};
  if (count > 0) {
    launch_indexed({.name = "masked_scatter_",
                    .mode = IndexMode::assign,
                    .sizes = IntList(&count, 1),
                    .values = &from,
                    .value_strides = &one,
                    .self = &to,
                    .self_strides = &none,
                    .indices = {&operand, 1},
                    .wraps = false});
  }
  if (!to.is_same(self)) sconce::copy_(self, to);
  self.bump_version();
}

Tensor nonzero_static(const Tensor& self, int64_t size, int64_t fill_value) {
  SCONCE_CHECK(size >= 0, "nonzero_static: 'size' must be an non-negative integer, got {}", size);
  const Tensor out = sconce::full({size, self.dim()}, Scalar(fill_value), DType::int64, {}, self.device());
  const Tensor found = sconce::t(positions(self));
  const int64_t rows = std::min(size, found.sizes()[0]);
  if (rows > 0) sconce::copy_(sconce::narrow(out, 0, 0, rows), sconce::narrow(found, 0, 0, rows));
  return out;
}

Tensor one_hot(const Tensor& self, int64_t num_classes) {
  SCONCE_CHECK(self.dtype() == DType::int64, "one_hot is only applicable to index tensor of type LongTensor, got {}",
               dtype_name(self.dtype()));
  SCONCE_CHECK(num_classes >= -1, "num_classes should be non-negative, got {}", num_classes);
  SCONCE_CHECK(self.numel() > 0 || num_classes > 0, "Can not infer total number of classes from empty tensor.");
  if (num_classes < 0) num_classes = Checked(item_of(sconce::max(self)).to_int()) + 1;
  Dims sizes(self.sizes());
  sizes.push_back(num_classes);
  const Tensor out = sconce::zeros(sizes, DType::int64, {}, self.device());
  if (self.numel() > 0) sconce::scatter_(out, -1, sconce::unsqueeze(self, -1), Scalar(1));
  return out;
}

}  // namespace sconce::cuda
