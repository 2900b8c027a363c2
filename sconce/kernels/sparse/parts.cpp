// The parts of sparse tensors, and how many there are.
#include "sconce/base/error.h"
#include "sconce/dispatch/formats.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/sparse_kernels.h"
#include "sconce/kernels/sparse/sparse_tensors.h"
#include "sconce/ops.h"

namespace sconce::cpu {
namespace {

// Names of PyTorch's backends, for what only sparse tensors have.
[[noreturn]] void refuse(const char* name, const Tensor& self) {
  const char* backend = is_sparse_tensor(self) ? is_compressed(self.layout()) ? "SparseCsrCPU" : "SparseCPU" : "CPU";
  fail_as(ErrorKind::not_implemented,
          "Could not run 'aten::{}' with arguments from the '{}' backend. This could be because the operator doesn't "
          "exist for this backend",
          name, backend);
}

const SparseParts& coalesced_parts(const Tensor& self, const char* name) {
  sparse::check_coo(self, name);
  const SparseParts& parts = sparse_parts(self);
  SCONCE_CHECK(parts.coalesced, "Cannot get {} on an uncoalesced tensor, please call .coalesce() first", name);
  return parts;
}

const SparseParts& compressed_parts(const Tensor& self, bool rows, const char* name) {
  SCONCE_CHECK(is_compressed(self.layout()) && compresses_rows(self.layout()) == rows,
               "{} expected sparse {} compressed tensor layout but got {}", name, rows ? "row" : "column",
               layout_legacy_name(self.layout()));
  return sparse_parts(self);
}

}  // namespace

Tensor indices(const Tensor& self) { return clone(coalesced_parts(self, "indices").indices); }
Tensor _indices(const Tensor& self) {
  if (self.layout() != Layout::sparse) refuse("_indices", self);
  return clone(sparse_parts(self).indices);
}
Tensor crow_indices(const Tensor& self) { return clone(compressed_parts(self, true, "crow_indices").compressed); }
Tensor col_indices(const Tensor& self) { return clone(compressed_parts(self, true, "col_indices").plain); }
Tensor ccol_indices(const Tensor& self) { return clone(compressed_parts(self, false, "ccol_indices").compressed); }
Tensor row_indices(const Tensor& self) { return clone(compressed_parts(self, false, "row_indices").plain); }

Tensor values(const Tensor& self) {
  SCONCE_CHECK(is_sparse_tensor(self), "values expected sparse tensor layout but got {}",
               layout_legacy_name(self.layout()));
  if (is_compressed(self.layout())) return shallow_copy(sparse_parts(self).values);
  return shallow_copy(coalesced_parts(self, "values").values);
}

Tensor _values(const Tensor& self) {
  if (!is_sparse_tensor(self)) refuse("_values", self);
  return shallow_copy(sparse_parts(self).values);
}

int64_t sparse_dim(const Tensor& self) {
  if (!is_sparse_tensor(self)) return 0;
  return is_compressed(self.layout()) ? 2 : sparse_parts(self).sparse_dim;
}
int64_t _dimI(const Tensor& self) {
  if (self.layout() != Layout::sparse) refuse("_dimI", self);
  return sparse_parts(self).sparse_dim;
}
int64_t _dimV(const Tensor& self) {
  if (self.layout() != Layout::sparse) refuse("_dimV", self);
  return self.dim() - sparse_parts(self).sparse_dim;
}
int64_t _nnz(const Tensor& self) {
  if (!is_sparse_tensor(self)) refuse("_nnz", self);
  return specified_elements(sparse_parts(self));
}

void _coalesced_(const Tensor& self, bool coalesced) {
  if (self.layout() != Layout::sparse) refuse("_coalesced_", self);
  SparseParts parts = sparse_parts(self);
  parts.coalesced = coalesced;
  self.impl()->extra->sparse = std::make_shared<const SparseParts>(std::move(parts));
  self.bump_version();
}

Tensor sconce_with_values(const Tensor& self, const Tensor& values) {
  SCONCE_CHECK(is_sparse_tensor(self), "with_values needs a sparse tensor, got {}", layout_legacy_name(self.layout()));
  sparse::check_operand(values);
  const Tensor list = sparse::dense(values);
  SCONCE_CHECK(list.sizes() == sparse_parts(self).values.sizes(), "values has incorrect size, expected {}, got {}",
               sparse_parts(self).values.sizes(), list.sizes());
  return sparse::replace_values(self, list);
}

}  // namespace sconce::cpu
