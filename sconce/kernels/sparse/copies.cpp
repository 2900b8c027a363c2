// Copies to sparse tensors.
#include "sconce/base/error.h"
#include "sconce/dispatch/formats.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/copy_kernels.h"
#include "sconce/kernels/sparse/sparse_tensors.h"
#include "sconce/ops.h"

namespace sconce::sparse {

void copy_(const Tensor& self, const Tensor& src, bool) {
  if (self.is_same(src)) return;
  const auto type_text = [](const Tensor& t) {
    return std::string(is_sparse_tensor(t) ? "torch.sparse." : "torch.") + std::string(dtype_legacy_name(t.dtype())) +
           "Tensor";
  };
  SCONCE_CHECK(is_sparse_tensor(self) && is_sparse_tensor(src),
               "copy_() between dense and sparse Tensors is not implemented! Found self type = {} and src type = {}",
               type_text(self), type_text(src));
  SCONCE_CHECK(self.layout() == src.layout(),
               "copy of sparse compressed tensors having different layouts is not supported. self layout is {} and src "
               "layout is {}",
               layout_legacy_name(self.layout()), layout_legacy_name(src.layout()));
  SCONCE_CHECK(self.layout() == Layout::sparse || self.sizes() == src.sizes(),
               "only sparse compressed tensors with the same sizes can be copied, got {} and {}", self.sizes(),
               src.sizes());
  const Tensor& values = sparse_parts(src).values;
  become_result(self, replace_values(src, self.dtype() == src.dtype() ? clone(values) : to(values, self.dtype())));
}

void zero_(const Tensor& self) {
  const SparseParts& parts = sparse_parts(self);
  become_result(self, parts.layout == Layout::sparse ? empty_coo(self.sizes(), parts.sparse_dim, self.dtype())
                                                     : empty_compressed_as(self, self.dtype()));
}

}  // namespace sconce::sparse
