#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/concatenation.h"
#include "sconce/kernels/any/fill.h"
#include "sconce/kernels/any/views.h"
#include "sconce/tensor/promotion.h"
#include "sconce/tensor/strides.h"

namespace sconce::any_device {
namespace {

Tensor joined(const std::vector<Tensor>& parts, int64_t dim) { return sconce::cat(parts, dim); }

void check_list(TensorList tensors, const char* name) {
  SCONCE_CHECK(!tensors.empty(), "{} expects a non-empty TensorList", name);
}

Tensor with_dims(const Tensor& t, int64_t rank) {
  if (t.dim() >= rank) return t;
  if (rank == 1) return view(t, {1});
  if (rank == 2) return t.dim() == 0 ? view(t, {1, 1}) : unsqueeze(t, 0);
  return t.dim() == 0 ? view(t, {1, 1, 1}) : t.dim() == 1 ? unsqueeze(unsqueeze(t, 0), -1) : unsqueeze(t, -1);
}

std::vector<Tensor> with_dims(TensorList tensors, int64_t rank) {
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) out.push_back(with_dims(t, rank));
  return out;
}

}  // namespace

Tensor stack(TensorList tensors, int64_t dim) {
  SCONCE_CHECK(!tensors.empty(), "stack expects a non-empty TensorList");
  const int64_t d = wrap_dim(dim, tensors[0].dim() + 1);
  std::vector<Tensor> parts;
  for (size_t i = 0; i < tensors.size(); ++i) {
    SCONCE_CHECK(tensors[i].sizes() == tensors[0].sizes(),
                 "stack expects each tensor to be equal size, but got {} at entry 0 and {} at entry {}", tensors[0].sizes(),
                 tensors[i].sizes(), i);
    parts.push_back(unsqueeze(tensors[i], d));
  }
  return joined(parts, d);
}

Tensor hstack(TensorList tensors) {
  check_list(tensors, "hstack");
  const std::vector<Tensor> parts = with_dims(tensors, 1);
  return joined(parts, parts[0].dim() == 1 ? 0 : 1);
}

Tensor vstack(TensorList tensors) {
  check_list(tensors, "vstack");
  return joined(with_dims(tensors, 2), 0);
}

Tensor dstack(TensorList tensors) {
  check_list(tensors, "dstack");
  return joined(with_dims(tensors, 3), 2);
}

Tensor column_stack(TensorList tensors) {
  check_list(tensors, "column_stack");
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors) parts.push_back(t.dim() <= 1 ? reshape(t, {t.numel(), 1}) : t);
  return joined(parts, 1);
}

Tensor atleast_1d(const Tensor& self) { return with_dims(self, 1); }
Tensor atleast_2d(const Tensor& self) { return with_dims(self, 2); }
Tensor atleast_3d(const Tensor& self) { return with_dims(self, 3); }
std::vector<Tensor> atleast_1d_Sequence(TensorList tensors) { return with_dims(tensors, 1); }
std::vector<Tensor> atleast_2d_Sequence(TensorList tensors) { return with_dims(tensors, 2); }
std::vector<Tensor> atleast_3d_Sequence(TensorList tensors) { return with_dims(tensors, 3); }

Tensor block_diag(TensorList tensors) {
  if (tensors.empty()) return empty_tensor({1, 0}, default_dtype());
  int64_t rows = 0, columns = 0;
  std::vector<Tensor> blocks;
  DType dtype = tensors[0].dtype();
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    SCONCE_CHECK(t.dim() <= 2, "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {} has {} dimensions", i,
                 t.dim());
    SCONCE_CHECK(t.device() == tensors[0].device(), "torch.block_diag: input tensors must all be on the same device.");
    blocks.push_back(with_dims(t, 2));
    rows += blocks.back().sizes()[0];
    columns += blocks.back().sizes()[1];
    dtype = promote_types(dtype, t.dtype());
  }
  Tensor out = empty_tensor({rows, columns}, dtype, tensors[0].device());
  fill_tensor(out, 0);
  int64_t row = 0, column = 0;
  for (const Tensor& block : blocks) {
    const int64_t h = block.sizes()[0], w = block.sizes()[1];
    copy_tensor(make_view(out, {h, w}, out.strides(), row * columns + column), block);
    row += h;
    column += w;
  }
  return out;
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
                 "_chunk_cat expects same sizes of 0,...,dim-1 dimensions, got {} and {}", tensors[0].sizes(), t.sizes());
    // Padded with zeros to a multiple of num_chunks, then [..., num_chunks, rest].
    const int64_t length = (t.sizes()[d] + num_chunks - 1) / num_chunks * num_chunks;
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
