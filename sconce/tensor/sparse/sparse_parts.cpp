#include "sconce/tensor/sparse/sparse_parts.h"

#include <algorithm>
#include <cstring>

#include "sconce/base/error.h"
#include "sconce/base/weak.h"
#include "sconce/tensor/copy.h"
#include "sconce/tensor/limited_dtypes.h"
#include "sconce/tensor/strides.h"

namespace sconce {
namespace {

constexpr struct {
  Layout layout;
  std::string_view name, legacy;
} kLayouts[] = {
    {Layout::strided, "strided", "Strided"},         {Layout::sparse, "sparse_coo", "Sparse"},
    {Layout::sparse_csr, "sparse_csr", "SparseCsr"}, {Layout::mkldnn, "_mkldnn", "Mkldnn"},
    {Layout::sparse_csc, "sparse_csc", "SparseCsc"}, {Layout::sparse_bsr, "sparse_bsr", "SparseBsr"},
    {Layout::sparse_bsc, "sparse_bsc", "SparseBsc"},
};

void check_part(const Tensor& t, const char* what) {
  SCONCE_CHECK(t.defined() && !is_sparse_tensor(t), "expected {} to be a strided tensor", what);
  SCONCE_CHECK(t.device().type == DeviceType::cpu, "sparse tensors are supported on the CPU only, {} are on {}", what,
               to_string(t.device()));
}

// A contiguous copy that nobody else has.
Tensor own_copy(const Tensor& t, DType dtype) {
  Tensor out = empty_tensor(t.sizes(), dtype);
  copy_tensor(out, t);
  return out;
}

// The names of the two lists of indices, in messages.
std::string_view compressed_name(Layout l) { return compresses_rows(l) ? "crow_indices" : "ccol_indices"; }
std::string_view plain_name(Layout l) { return compresses_rows(l) ? "col_indices" : "row_indices"; }

// Indices of either type, one by one.
class IndexReader {
 public:
  explicit IndexReader(const Tensor& t) : data_(t.data()), wide_(t.dtype() == DType::int64) {}
  int64_t operator[](int64_t i) const {
    return wide_ ? static_cast<const int64_t*>(data_)[i] : static_cast<const int32_t*>(data_)[i];
  }

 private:
  const void* data_;
  bool wide_;
};

void check_values_of_coo(const Tensor& indices, const Tensor& values, IntList sizes) {
  const int64_t sparse = indices.size(0), nnz = indices.size(1);
  const int64_t dense = values.dim() - 1;
  SCONCE_CHECK(
      static_cast<int64_t>(sizes.size()) == sparse + dense,
      "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {}, sparse_dim = {}, dense_dim = {}",
      sizes.size(), sparse, dense);
  SCONCE_CHECK(values.size(0) == nnz,
               "indices and values must have same nnz, but got nnz from indices: {}, nnz from values: {}", nnz,
               values.size(0));
  Dims expected{nnz};
  for (size_t d = static_cast<size_t>(sparse); d < sizes.size(); ++d) expected.push_back(sizes[d]);
  SCONCE_CHECK(values.sizes() == IntList(expected), "values has incorrect size, expected {}, got {}", IntList(expected),
               values.sizes());
}

struct CompressedShape {
  size_t batch;
  int64_t groups, width, blocks;  // groups: how many pointers less one; width: the range of plain indices
};

// Ranks and sizes of what a compressed tensor is made of.
CompressedShape check_compressed_shape(Layout layout, const Tensor& compressed, const Tensor& plain,
                                       const Tensor& values, IntList sizes) {
  const std::string_view first = compressed_name(layout), second = plain_name(layout);
  const int64_t block_dims = has_blocks(layout) ? 2 : 0;
  SCONCE_CHECK(compressed.dim() >= 1, "{} must have dimensionality >= 1 but got {}", first, compressed.dim());
  SCONCE_CHECK(plain.dim() == compressed.dim(),
               "{} and {} dimensionalities must be equal but got {} and {}, respectively", first, second,
               compressed.dim(), plain.dim());
  const int64_t batch = compressed.dim() - 1, dense = values.dim() - batch - 1 - block_dims;
  SCONCE_CHECK(dense >= 0,
               "values must have dimensionality > sum of batch and block dimensionalities (={} + {}) but "
               "got {}",
               batch, block_dims, values.dim());
  SCONCE_CHECK(static_cast<int64_t>(sizes.size()) == batch + 2 + dense,
               "tensor dimensionality must be sum of batch, base, and dense dimensionalities (={} + 2 + {}) but got {}",
               batch, dense, sizes.size());
  const auto base = static_cast<size_t>(batch);
  const auto same_batch = [&](const Tensor& t) { return t.sizes().slice(0, base) == sizes.slice(0, base); };
  SCONCE_CHECK(same_batch(compressed) && same_batch(plain) && same_batch(values),
               "all batch dimensions of {} (={}), {} (={}), values (={}) and tensor (={}) must be equal", first,
               compressed.sizes().slice(0, base), second, plain.sizes().slice(0, base), values.sizes().slice(0, base),
               sizes.slice(0, base));
  const int64_t nnz = plain.sizes().back();
  SCONCE_CHECK(values.sizes()[base] == nnz, "{} (={}) must be equal to values' number of specified elements (={})",
               second, nnz, values.sizes()[base]);
  Dims blocks{1, 1};
  if (block_dims != 0) blocks = {values.sizes()[base + 1], values.sizes()[base + 2]};
  for (size_t i = 0; i < 2; ++i) {
    SCONCE_CHECK(blocks[i] > 0 && sizes[base + i] % blocks[i] == 0,
                 "tensor shape[{}] (={}) must be divisible with blocksize[{}] (={}) as defined by values shape",
                 base + i, sizes[base + i], i, blocks[i]);
  }
  for (size_t d = 0; d < static_cast<size_t>(dense); ++d) {
    const size_t in_values = base + 1 + static_cast<size_t>(block_dims) + d;
    SCONCE_CHECK(values.sizes()[in_values] == sizes[base + 2 + d],
                 "tensor shape[{}] (={}) must be equal to values shape[{}] (={})", base + 2 + d, sizes[base + 2 + d],
                 in_values, values.sizes()[in_values]);
  }
  const int64_t rows = sizes[base] / blocks[0], columns = sizes[base + 1] / blocks[1];
  const int64_t groups = compresses_rows(layout) ? rows : columns, width = compresses_rows(layout) ? columns : rows;
  SCONCE_CHECK(compressed.sizes().back() == groups + 1,
               "{}.shape[-1] must be equal to the number of {} + 1 (={}), but "
               "got {}",
               first, compresses_rows(layout) ? "rows" : "columns", groups + 1, compressed.sizes().back());
  return {base, groups, width, nnz};
}

void check_compressed_indices(Layout layout, const CompressedShape& shape, const Tensor& compressed,
                              const Tensor& plain) {
  const std::string_view first = compressed_name(layout), second = plain_name(layout);
  const IndexReader pointers(compressed), indices(plain);
  const int64_t batches = compressed.numel() / (shape.groups + 1);
  for (int64_t b = 0; b < batches; ++b) {
    const int64_t from = b * (shape.groups + 1);
    SCONCE_CHECK(pointers[from] == 0, "`{}[..., 0] == 0` is not satisfied.", first);
    SCONCE_CHECK(pointers[from + shape.groups] == shape.blocks, "`{}[..., -1] == nnz` is not satisfied.", first);
    for (int64_t g = 0; g < shape.groups; ++g) {
      const int64_t count = pointers[from + g + 1] - pointers[from + g];
      SCONCE_CHECK(pointers[from + g + 1] >= pointers[from + g] && count <= std::max(shape.width, shape.blocks),
                   "`0 <= {}[..., 1:] - {}[..., :-1] <= {}` is not satisfied.", first, first,
                   compresses_rows(layout) ? "ncols" : "nrows");
    }
  }
  for (int64_t i = 0; i < plain.numel(); ++i) {
    SCONCE_CHECK(indices[i] >= 0 && indices[i] < shape.width, "`0 <= {} < {}` is not satisfied.", second,
                 compresses_rows(layout) ? "ncols" : "nrows");
  }
}

}  // namespace

const SparseParts& sparse_parts(const Tensor& t) {
  SCONCE_CHECK(t.defined() && is_sparse_tensor(t), "expected a sparse tensor, but got a tensor with layout Strided");
  return *t.impl()->extra->sparse;
}

std::string_view layout_name(Layout l) {
  for (const auto& known : kLayouts) {
    if (known.layout == l) return known.name;
  }
  return "unknown";
}

std::string_view layout_legacy_name(Layout l) {
  for (const auto& known : kLayouts) {
    if (known.layout == l) return known.legacy;
  }
  return "Unknown";
}

SCONCE_WEAK Tensor make_sparse_tensor(IntList sizes, SparseParts parts) {
  if (format_used) format_used(Key::sparse);
  checked_numel(sizes);
  parts.values = shallow_copy(parts.values);  // one that has no history and is no view
  if (parts.layout == Layout::sparse && parts.values.sizes()[0] < 2) parts.coalesced = true;
  const Dims no_strides(sizes.size(), 0);
  Tensor t = make_tensor_unchecked(make_storage(0, Device()), parts.values.dtype(), sizes, no_strides, 0);
  TensorImpl& impl = *t.impl();
  constexpr uint64_t kDenseFacts =
      TensorImpl::contiguous | TensorImpl::channels_last | TensorImpl::channels_last_3d | TensorImpl::dense;
  impl.meta = (impl.meta & ~kDenseFacts) | KeySet(Key::sparse).bits();
  if (!impl.extra) impl.extra = new Extra;
  impl.extra->sparse = std::make_shared<const SparseParts>(std::move(parts));
  return t;
}

int64_t specified_elements(const SparseParts& parts) {
  return parts.layout == Layout::sparse ? parts.values.sizes()[0] : parts.plain.sizes().back();
}

int64_t batch_dims(const SparseParts& parts) { return parts.compressed.dim() - 1; }

int64_t dense_dims(const SparseParts& parts) {
  return parts.values.dim() - batch_dims(parts) - (has_blocks(parts.layout) ? 3 : 1);
}

Tensor checked_coo_tensor(const Tensor& indices, const Tensor& values, IntList sizes, bool coalesced) {
  check_part(indices, "indices");
  check_part(values, "values");
  SCONCE_CHECK(indices.dim() == 2, "indices must be sparse_dim x nnz, but got: {}", indices.sizes());
  SCONCE_CHECK(values.dim() >= 1, "values must have at least one dimension, but got: {}", values.sizes());
  SCONCE_CHECK(!is_complex(indices.dtype()) && !is_uncommon(indices.dtype()), "indices must be an int64 tensor");
  checked_numel(sizes);
  check_values_of_coo(indices, values, sizes);
  SparseParts parts;
  parts.indices = own_copy(indices, DType::int64);
  const int64_t nnz = indices.size(1);
  for (int64_t d = 0; d < indices.size(0); ++d) {
    const int64_t* at = parts.indices.data<int64_t>() + d * nnz;
    for (int64_t i = 0; i < nnz; ++i) {
      SCONCE_CHECK(at[i] >= 0, "found negative index {} for dim {}", at[i], d);
      SCONCE_CHECK(at[i] < sizes[static_cast<size_t>(d)],
                   "size is inconsistent with indices: for dim {}, size is {} but found index {}", d,
                   sizes[static_cast<size_t>(d)], at[i]);
    }
  }
  parts.values = values;
  parts.sparse_dim = indices.size(0);
  parts.coalesced = coalesced;
  return make_sparse_tensor(sizes, std::move(parts));
}

Tensor checked_compressed_tensor(Layout layout, const Tensor& compressed, const Tensor& plain, const Tensor& values,
                                 IntList sizes) {
  SCONCE_CHECK(is_compressed(layout), "expected compressed sparse tensor layout but got {}",
               layout_legacy_name(layout));
  check_part(compressed, "compressed indices");
  check_part(plain, "plain indices");
  check_part(values, "values");
  checked_numel(sizes);
  const auto is_index = [](DType t) { return t == DType::int64 || t == DType::int32; };
  SCONCE_CHECK(is_index(compressed.dtype()), "{} must be an int32 or int64 type, but got: {}", compressed_name(layout),
               dtype_legacy_name(compressed.dtype()));
  SCONCE_CHECK(compressed.dtype() == plain.dtype(),
               "{} and {} must have the same dtype, bot got {} and {}, respectively", compressed_name(layout),
               plain_name(layout), dtype_legacy_name(compressed.dtype()), dtype_legacy_name(plain.dtype()));
  const CompressedShape shape = check_compressed_shape(layout, compressed, plain, values, sizes);
  SparseParts parts;
  parts.layout = layout;
  parts.compressed = own_copy(compressed, compressed.dtype());
  parts.plain = own_copy(plain, plain.dtype());
  check_compressed_indices(layout, shape, parts.compressed, parts.plain);
  parts.values = values;
  return make_sparse_tensor(sizes, std::move(parts));
}

void check_coo_order(const Tensor& tensor) {
  const SparseParts& parts = sparse_parts(tensor);
  const int64_t nnz = specified_elements(parts);
  const int64_t* at = parts.indices.data<int64_t>();
  for (int64_t i = 1; i < nnz; ++i) {
    bool rises = false;
    for (int64_t d = 0; d < parts.sparse_dim && !rises; ++d) {
      const int64_t before = at[d * nnz + i - 1], here = at[d * nnz + i];
      if (before > here) break;
      rises = before < here;
    }
    SCONCE_CHECK(rises, "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor");
  }
}

void check_compressed_order(const Tensor& tensor) {
  const SparseParts& parts = sparse_parts(tensor);
  const IndexReader pointers(parts.compressed), indices(parts.plain);
  const int64_t stride = parts.compressed.sizes().back(), nnz = specified_elements(parts);
  for (int64_t b = 0; b * stride < parts.compressed.numel(); ++b) {
    for (int64_t g = 0; g + 1 < stride; ++g) {
      for (int64_t i = pointers[b * stride + g] + 1; i < pointers[b * stride + g + 1]; ++i) {
        SCONCE_CHECK(
            indices[b * nnz + i - 1] < indices[b * nnz + i],
            "`{}[..., {}[..., i - 1]:{}[..., i]] for all i = 1, ..., {} are sorted and distinct along the last "
            "dimension values` is not satisfied.",
            plain_name(parts.layout), compressed_name(parts.layout), compressed_name(parts.layout),
            compresses_rows(parts.layout) ? "nrows" : "ncols");
      }
    }
  }
}

}  // namespace sconce
