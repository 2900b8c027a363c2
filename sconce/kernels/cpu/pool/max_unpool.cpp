// The partial inverse of max pooling: values go back to the places that indices name, all other elements are 0.
#include <cstring>

#include "sconce/base/error.h"
#include "sconce/generated/pooling_kernels.h"
#include "sconce/kernels/cpu/engine/image_blocks.h"
#include "sconce/kernels/cpu/pool/pool_geometry.h"
#include "sconce/tensor/element.h"
#include "sconce/tensor/strides.h"

namespace sconce {
namespace {

OutSpec unpooled_spec(const Tensor& self, const Tensor& indices, int rank, IntList output_size) {
  SCONCE_CHECK(indices.dtype() == DType::int64, "elements in indices should be type int64 but got: {}",
               dtype_legacy_name(indices.dtype()));
  SCONCE_CHECK(output_size.size() == static_cast<size_t>(rank),
               "There should be exactly {} elements ({}) in output_size, but got {} elements.",
               rank == 2 ? "two" : "three", rank == 2 ? "height, width" : "depth, height, width", output_size.size());
  SCONCE_CHECK(self.dim() == rank + 1 || self.dim() == rank + 2,
               "Input to max_unpooling{}d should be a {}d or {}d Tensor, but got a tensor with {} dimensions.", rank,
               rank + 1, rank + 2, self.dim());
  SCONCE_CHECK(
      self.sizes() == indices.sizes(),
      "Expected shape of indices to be same as that of the input tensor ({}) but got indices tensor with shape: {}",
      self.sizes(), indices.sizes());
  for (int64_t d = self.dim() == rank + 2 ? 1 : 0; d < self.dim(); ++d) {
    SCONCE_CHECK(self.size(d) > 0,
                 "max_unpool{}d: Expected input to have non-zero size for non-batch dimensions, but got {} with "
                 "dimension {} being empty.",
                 rank, self.sizes(), d);
  }
  OutSpec spec{Dims(self.sizes()), self.dtype()};
  if (rank == 2 && self.dim() == 4) spec.format = suggested_format(self);
  for (int i = 0; i < rank; ++i)
    spec.sizes[static_cast<size_t>(self.dim() - rank + i)] = output_size[static_cast<size_t>(i)];
  return spec;
}

void unpool(const Tensor& self, const Tensor& indices, int rank, IntList output_size, const Tensor& out) {
  check_pool_dtype(self, PoolTypes::floats, rank == 2 ? "max_unpool2d" : "max_unpool3d");
  const ImageBlocks images(out, rank);
  const Tensor x = contiguous_tensor(self, images.format(out)), where = contiguous_tensor(indices, images.format(out));
  const int64_t out_plane = checked_numel(output_size);
  int64_t in_plane = 1;
  for (int i = 0; i < rank; ++i) in_plane *= self.size(self.dim() - rank + i);
  const auto* places = where.data<int64_t>();
  for (int64_t i = 0; i < where.numel(); ++i) {
    SCONCE_CHECK(places[i] >= 0 && places[i] < out_plane,
                 "Found an invalid max index: {} (output volumes are of size {})", places[i], output_size);
  }
  if (out.numel() == 0) return;
  std::memset(out.data(), 0, static_cast<size_t>(out.numel()) * out.item_size());
  visit_item_size(out.dtype(), [&]<class T>() {
    images.for_each(in_plane, [&](int64_t image, int64_t c0, int64_t c1) {
      const int64_t channels = images.channels;
      const T* values = x.data<T>() + image * in_plane * channels;
      const int64_t* at = places + image * in_plane * channels;
      T* y = out.data<T>() + image * out_plane * channels;
      for (int64_t i = 0; i < in_plane; ++i) {
        for (int64_t c = c0; c < c1; ++c) y[at[i * channels + c] * channels + c] = values[i * channels + c];
      }
    });
  });
}

}  // namespace

namespace any_device {

OutSpec max_unpool2d_spec(const Tensor& self, const Tensor& indices, IntList output_size) {
  return unpooled_spec(self, indices, 2, output_size);
}
OutSpec max_unpool3d_spec(const Tensor& self, const Tensor& indices, IntList output_size, IntList stride,
                          IntList padding) {
  const OutSpec spec = unpooled_spec(self, indices, 3, output_size);
  SCONCE_CHECK(stride.size() == 3,
               "There should be exactly three elements (depth, height, width) in stride, but got: {} elements.",
               stride.size());
  SCONCE_CHECK(padding.size() == 3,
               "There should be exactly three elements (depth, height, width) in padding, but got: {} elements.",
               padding.size());
  SCONCE_CHECK(stride[0] > 0 && stride[1] > 0 && stride[2] > 0,
               "strides should be greater than zero, but got stride: {}", stride);
  return spec;
}

}  // namespace any_device

namespace cpu {

void max_unpool2d(const Tensor& self, const Tensor& indices, IntList output_size, const Tensor& out) {
  unpool(self, indices, 2, output_size, out);
}
// stride and padding are for checks only: the indices are enough.
void max_unpool3d(const Tensor& self, const Tensor& indices, IntList output_size, IntList, IntList, const Tensor& out) {
  unpool(self, indices, 3, output_size, out);
}

}  // namespace cpu
}  // namespace sconce
