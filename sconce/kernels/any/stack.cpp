// stack and _chunk_cat, by way of cat.
#include "sconce/base/checked.h"
#include "sconce/base/error.h"
#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/concatenation.h"
#include "sconce/generated/concatenation_kernels.h"
#include "sconce/kernels/any/fill.h"
#include "sconce/kernels/any/views/views.h"
#include "sconce/tensor/strides.h"

namespace sconce::any_device {
namespace {

SCONCE_VARIANT(as_cat, "stack.cat", "a new dim in front of another one: parts one after the other");

Tensor joined(const std::vector<Tensor>& parts, int64_t dim) { return sconce::cat(parts, dim); }

}  // namespace

// For devices without a kernel of their own: a copy each.
void cat(TensorList tensors, int64_t dim, const Tensor& out) {
  const int64_t d = wrap_dim(dim, out.dim());
  int64_t at = 0;
  for (const Tensor& t : tensors) {
    if (t.numel() == 0) continue;
    const int64_t end = at + t.sizes()[d];
    copy_tensor(slice_Tensor(out, d, at, end, 1), t);
    at = end;
  }
}

Tensor stack(TensorList tensors, int64_t dim) {
  SCONCE_CHECK(!tensors.empty(), "stack expects a non-empty TensorList");
  const int64_t d = wrap_dim(dim, tensors[0].dim() + 1);
  for (size_t i = 0; i < tensors.size(); ++i) {
    SCONCE_CHECK(tensors[i].sizes() == tensors[0].sizes(),
                 "stack expects each tensor to be equal size, but got {} at entry 0 and {} at entry {}",
                 tensors[0].sizes(), tensors[i].sizes(), i);
  }
  if (as_cat(d < tensors[0].dim() && tensors[0].numel() > 0)) {  // one after the other; the format of images is kept
    Dims sizes(tensors[0].sizes());
    sizes.insert(static_cast<size_t>(d), static_cast<int64_t>(tensors.size()));
    return view(sconce::cat(tensors, d), sizes);
  }
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors) parts.push_back(unsqueeze(t, d));
  return joined(parts, d);
}

Tensor _chunk_cat(TensorList tensors, int64_t dim, int64_t num_chunks) {
  SCONCE_CHECK(!tensors.empty(), "_chunk_cat expects a non-empty list of Tensors");
  SCONCE_CHECK(num_chunks >= 1, "_chunk_cat expects positive num_chunks, got {}", num_chunks);
  const int64_t d = wrap_dim(dim, tensors[0].dim());
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors) {
    SCONCE_CHECK(t.dtype() == tensors[0].dtype() && t.device() == tensors[0].device(),
                 "_chunk_cat expects all tensors to have the same dtype and device");
    SCONCE_CHECK(t.dim() > d && t.sizes().slice(0, d) == tensors[0].sizes().slice(0, d),
                 "_chunk_cat expects same sizes of 0,...,dim-1 dimensions, got {} and {}", tensors[0].sizes(),
                 t.sizes());
    SCONCE_CHECK(t.numel() > 0, "_chunk_cat expects non-empty tensor");
    // Padded with zeros to a multiple of num_chunks, then [..., num_chunks, rest].
    const int64_t length = Checked((Checked(t.sizes()[d]) + num_chunks - 1) / num_chunks) * num_chunks;
    Dims sizes(t.sizes());
    sizes[d] = length;
    Tensor padded = empty_tensor(sizes, t.dtype(), t.device());
    fill_tensor(padded, 0);
    copy_tensor(make_view(padded, t.sizes(), padded.strides(), 0), t);
    Dims view_sizes(t.sizes().slice(0, static_cast<size_t>(d)));
    view_sizes.push_back(num_chunks);
    int64_t rest = length / num_chunks;
    for (int64_t e = d + 1; e < t.dim(); ++e) rest *= t.sizes()[e];
    view_sizes.push_back(rest);
    parts.push_back(view(padded, view_sizes));
  }
  return joined(parts, d + 1);
}

}  // namespace sconce::any_device
