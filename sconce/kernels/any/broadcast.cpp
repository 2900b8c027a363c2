#include "sconce/base/error.h"
#include "sconce/kernels/any/views.h"
#include "sconce/tensor/strides.h"

namespace sconce::any_device {

std::vector<Tensor> broadcast_tensors(TensorList tensors) {
  Dims sizes;
  for (const Tensor& t : tensors) sizes = broadcast_sizes(sizes, t.sizes());
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) out.push_back(t.sizes() == IntList(sizes) ? t : expand(t, sizes, false));
  return out;
}

std::vector<Tensor> meshgrid(TensorList tensors) {
  SCONCE_CHECK(!tensors.empty(), "meshgrid expects a non-empty TensorList");
  Dims sizes;
  for (const Tensor& t : tensors) {
    SCONCE_CHECK(t.dim() <= 1, "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {}", t.sizes());
    SCONCE_CHECK(t.dtype() == tensors[0].dtype(), "torch.meshgrid expects all tensors to have the same dtype");
    SCONCE_CHECK(t.device() == tensors[0].device(), "torch.meshgrid expects all tensors to have the same device");
    sizes.push_back(t.numel());
  }
  std::vector<Tensor> out;
  for (size_t i = 0; i < tensors.size(); ++i) {
    Dims shape(tensors.size(), 1);
    shape[i] = sizes[i];
    out.push_back(expand(view(tensors[i], shape), sizes, false));
  }
  return out;
}

std::vector<Tensor> meshgrid_indexing(TensorList tensors, std::string_view indexing) {
  SCONCE_CHECK(!tensors.empty(), "meshgrid expects a non-empty TensorList");
  SCONCE_CHECK(indexing == "ij" || indexing == "xy",
               "torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: {}", indexing);
  if (indexing == "ij" || tensors.size() < 2) return meshgrid(tensors);
  std::vector<Tensor> swapped = tensors.vec();
  std::swap(swapped[0], swapped[1]);
  std::vector<Tensor> out = meshgrid(swapped);
  std::swap(out[0], out[1]);
  return out;
}

}  // namespace sconce::any_device
