#include "sconce/kernels/sparse/sparse_tensors.h"

#include <algorithm>
#include <numeric>

#include "sconce/base/error.h"
#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/formats.h"
#include "sconce/dispatch/glue.h"
#include "sconce/kernels/sparse/map_values.h"
#include "sconce/ops.h"
#include "sconce/tensor/promotion.h"

namespace sconce::sparse {
namespace {

SCONCE_VARIANT(sorted_keys, "sparse.sorted", "indices in ascending order");

size_t at(int64_t i) { return static_cast<size_t>(i); }

int64_t product(IntList sizes) { return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>()); }

Dims joined(IntList a, IntList b) {
  Dims out(a);
  for (int64_t s : b) out.push_back(s);
  return out;
}

// Indices as int64, whatever they are stored in.
std::vector<int64_t> wide(const Tensor& t) {
  if (t.dtype() == DType::int64) return {t.data<int64_t>(), t.data<int64_t>() + t.numel()};
  return {t.data<int32_t>(), t.data<int32_t>() + t.numel()};
}

Tensor index_tensor(const std::vector<int64_t>& values, IntList sizes, DType dtype = DType::int64) {
  Tensor out = empty_tensor(sizes, dtype);
  if (dtype == DType::int64)
    std::copy(values.begin(), values.end(), out.data<int64_t>());
  else
    std::copy(values.begin(), values.end(), out.data<int32_t>());
  return out;
}

Tensor index_vector(const std::vector<int64_t>& values) {
  return index_tensor(values, {static_cast<int64_t>(values.size())});
}

// The order in which keys ascend; equal ones stay as they are.
std::vector<int64_t> ascending(const std::vector<int64_t>& keys) {
  std::vector<int64_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  if (!sorted_keys(std::is_sorted(keys.begin(), keys.end()))) {
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return keys[at(a)] < keys[at(b)]; });
  }
  return order;
}

// values[i] added to row to[i] of `count` rows.
Tensor added_rows(const Tensor& values, const std::vector<int64_t>& to, int64_t count) {
  const Dims sizes = joined({count}, values.sizes().slice(1, values.sizes().size() - 1));
  const bool logical = values.dtype() == DType::bool_;
  const Tensor sum = zeros(sizes, logical ? DType::int64 : values.dtype());
  index_add_(sum, 0, index_vector(to), logical ? to_dtype(values, DType::int64) : values);
  return logical ? ne(sum, 0) : sum;
}

Tensor rows_of(const Tensor& values, const std::vector<int64_t>& rows) {
  return index_select(values, 0, index_vector(rows));
}

struct Blocks {
  int64_t rows = 1, columns = 1;
  int64_t size() const { return rows * columns; }
};

Blocks blocks_of(const SparseParts& parts) {
  if (!has_blocks(parts.layout)) return {};
  const auto base = at(batch_dims(parts));
  return {parts.values.sizes()[base + 1], parts.values.sizes()[base + 2]};
}

}  // namespace

Tensor make_coo(IntList sizes, const Tensor& indices, const Tensor& values, bool coalesced) {
  SparseParts parts;
  parts.indices = contiguous_tensor(indices);
  parts.values = values;
  parts.sparse_dim = indices.size(0);
  parts.coalesced = coalesced;
  return make_sparse_tensor(sizes, std::move(parts));
}

Tensor empty_coo(IntList sizes, int64_t sparse_dim, DType dtype) {
  const Dims values = joined({0}, sizes.slice(at(sparse_dim), sizes.size() - at(sparse_dim)));
  return make_coo(sizes, empty_tensor({sparse_dim, 0}, DType::int64), empty_tensor(values, dtype), true);
}

Tensor empty_compressed(Layout layout, IntList sizes, DType dtype, int64_t dense_dim) {
  SCONCE_CHECK(!has_blocks(layout), "a tensor of layout {} needs a blocksize", layout_legacy_name(layout));
  SCONCE_CHECK(static_cast<int64_t>(sizes.size()) >= 2 + dense_dim,
               "torch.empty: Only batched sparse compressed (non-block) tensors are supported, but got size {}", sizes);
  const size_t base = sizes.size() - 2 - at(dense_dim);
  const IntList batch = sizes.slice(0, base), dense = sizes.slice(base + 2, at(dense_dim));
  SparseParts parts;
  parts.layout = layout;
  parts.compressed = zeros(joined(batch, {sizes[base + (compresses_rows(layout) ? 0 : 1)] + 1}), DType::int64);
  parts.plain = empty_tensor(joined(batch, {0}), DType::int64);
  parts.values = empty_tensor(joined(joined(batch, {0}), dense), dtype);
  return make_sparse_tensor(sizes, std::move(parts));
}

int64_t dense_dims_of(const Tensor& t) {
  if (!is_sparse_tensor(t)) return 0;
  const SparseParts& parts = sparse_parts(t);
  return parts.layout == Layout::sparse ? t.dim() - parts.sparse_dim : dense_dims(parts);
}

Tensor empty_compressed_as(const Tensor& like, DType dtype) {
  SparseParts parts = sparse_parts(like);
  const auto batch = at(batch_dims(parts));
  parts.compressed = zeros(parts.compressed.sizes(), parts.compressed.dtype());
  Dims plain(parts.plain.sizes()), values(parts.values.sizes());
  plain[batch] = values[batch] = 0;
  parts.plain = empty_tensor(plain, parts.plain.dtype());
  parts.values = empty_tensor(values, dtype);
  return make_sparse_tensor(like.sizes(), std::move(parts));
}

Tensor replace_values(const Tensor& t, const Tensor& values) {
  SparseParts parts = sparse_parts(t);
  parts.values = values;
  return make_sparse_tensor(t.sizes(), std::move(parts));
}

Tensor converted_as(const Tensor& coo, const Tensor& like) {
  const SparseParts& parts = sparse_parts(like);
  if (parts.layout == Layout::sparse) return coo;
  const Blocks blocks = blocks_of(parts);
  return compressed(coo, parts.layout, {blocks.rows, blocks.columns}, parts.plain.dtype());
}

std::vector<int64_t> flat_indices(const Tensor& indices, IntList sizes) {
  const int64_t dims = indices.size(0), n = indices.size(1);
  const Tensor dense = contiguous_tensor(indices);
  std::vector<int64_t> out(at(n), 0);
  for (int64_t d = 0; d < dims; ++d) {
    const int64_t* row = dense.data<int64_t>() + d * n;
    for (int64_t i = 0; i < n; ++i) out[at(i)] = out[at(i)] * sizes[at(d)] + row[i];
  }
  return out;
}

Tensor coalesced(const Tensor& t) {
  const SparseParts& parts = sparse_parts(t);
  if (parts.coalesced) return t;
  const std::vector<int64_t> keys = flat_indices(parts.indices, t.sizes());
  const std::vector<int64_t> order = ascending(keys);
  std::vector<int64_t> firsts, to(keys.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || keys[at(order[i])] != keys[at(order[i - 1])]) firsts.push_back(order[i]);
    to[at(order[i])] = static_cast<int64_t>(firsts.size()) - 1;
  }
  const auto count = static_cast<int64_t>(firsts.size());
  const Tensor values =
      firsts.size() == keys.size() ? rows_of(parts.values, order) : added_rows(parts.values, to, count);
  return make_coo(t.sizes(), index_select(parts.indices, 1, index_vector(firsts)), values, true);
}

Tensor positions(const Tensor& t) {
  const SparseParts& parts = sparse_parts(t);
  if (parts.layout == Layout::sparse) return parts.indices;
  const int64_t batch = batch_dims(parts), nnz = specified_elements(parts);
  const std::vector<int64_t> pointers = wide(parts.compressed), plain = wide(parts.plain);
  const Blocks blocks = blocks_of(parts);
  const int64_t groups = parts.compressed.sizes().back() - 1;
  const int64_t batches = product(t.sizes().slice(0, at(batch))), n = batches * nnz * blocks.size();
  Tensor out = empty_tensor({batch + 2, n}, DType::int64);
  int64_t* rows = out.data<int64_t>() + batch * n;
  int64_t* columns = rows + n;
  for (int64_t b = 0, k = 0; b < batches; ++b) {
    for (int64_t g = 0; g < groups; ++g) {
      for (int64_t i = pointers[at(b * (groups + 1) + g)]; i < pointers[at(b * (groups + 1) + g + 1)]; ++i) {
        const int64_t p = plain[at(b * nnz + i)];
        const int64_t row = compresses_rows(parts.layout) ? g : p, column = compresses_rows(parts.layout) ? p : g;
        for (int64_t e = 0; e < blocks.size(); ++e, ++k) {
          rows[k] = row * blocks.rows + e / blocks.columns;
          columns[k] = column * blocks.columns + e % blocks.columns;
        }
      }
    }
    int64_t rest = b;
    for (int64_t d = batch - 1; d >= 0; --d) {
      const int64_t size = t.sizes()[at(d)], each = nnz * blocks.size();
      std::fill_n(out.data<int64_t>() + d * n + b * each, each, rest % size);
      rest /= size;
    }
  }
  return out;
}

Tensor flat_values(const Tensor& t) {
  const SparseParts& parts = sparse_parts(t);
  if (parts.layout == Layout::sparse) return parts.values;
  const auto dense = at(dense_dims(parts));
  const size_t before = parts.values.sizes().size() - dense;
  const int64_t n = product(parts.values.sizes().slice(0, before));
  return reshape(parts.values, joined({n}, parts.values.sizes().slice(before, dense)));
}

Tensor as_coo(const Tensor& t) {
  if (t.layout() == Layout::sparse) return t;
  return coalesced(make_coo(t.sizes(), positions(t), flat_values(t), false));
}

Tensor compressed(const Tensor& coo, Layout layout, IntList blocksize, DType index_dtype) {
  const Tensor sorted = coalesced(coo);
  const SparseParts& from = sparse_parts(sorted);
  const int64_t batch = from.sparse_dim - 2, n = specified_elements(from);
  SCONCE_CHECK(batch >= 0, "Only tensors with at least two sparse dimensions can be converted to the {} layout, got {}",
               layout_legacy_name(layout), from.sparse_dim);
  const IntList sizes = coo.sizes();
  Blocks blocks;
  if (has_blocks(layout)) {
    SCONCE_CHECK(blocksize.size() == 2, "blocksize must be a tuple of two numbers, got {}", blocksize);
    blocks = {blocksize[0], blocksize[1]};
    SCONCE_CHECK(blocks.rows > 0 && blocks.columns > 0 && sizes[at(batch)] % blocks.rows == 0 &&
                     sizes[at(batch + 1)] % blocks.columns == 0,
                 "Tensor size({}) {} needs to be divisible by blocksize[{}] {}", -2, sizes[at(batch)], 0, blocks.rows);
  }
  const bool by_rows = compresses_rows(layout);
  const int64_t height = sizes[at(batch)] / blocks.rows, width = sizes[at(batch + 1)] / blocks.columns;
  const int64_t groups = by_rows ? height : width, range = by_rows ? width : height;
  const int64_t batches = product(sizes.slice(0, at(batch)));
  // Each element's block as a number that sorts as the layout does, and its place in the block.
  const std::vector<int64_t> batch_of = flat_indices(narrow(from.indices, 0, 0, batch), sizes);
  const int64_t *rows = from.indices.data<int64_t>() + batch * n, *columns = rows + n;
  std::vector<int64_t> keys(at(n)), inner(at(n));
  for (int64_t i = 0; i < n; ++i) {
    const int64_t row = rows[i] / blocks.rows, column = columns[i] / blocks.columns;
    keys[at(i)] = (batch_of[at(i)] * groups + (by_rows ? row : column)) * range + (by_rows ? column : row);
    inner[at(i)] = rows[i] % blocks.rows * blocks.columns + columns[i] % blocks.columns;
  }
  const std::vector<int64_t> order = ascending(keys);
  const IntList batch_sizes = sizes.slice(0, at(batch));
  const Tensor pointer_tensor = zeros(joined(batch_sizes, {groups + 1}), DType::int64);
  auto* pointers = pointer_tensor.data<int64_t>();
  std::vector<int64_t> plain, to(at(n)), per_batch(at(batches), 0);
  for (size_t i = 0; i < order.size(); ++i) {
    const int64_t key = keys[at(order[i])];
    if (i == 0 || key != keys[at(order[i - 1])]) {
      plain.push_back(key % range);
      const int64_t group = key / range;
      ++pointers[group / groups * (groups + 1) + group % groups + 1];
      ++per_batch[at(group / groups)];
    }
    to[at(order[i])] = (static_cast<int64_t>(plain.size()) - 1) * blocks.size() + inner[at(order[i])];
  }
  for (int64_t b = 0; b < batches; ++b) {
    SCONCE_CHECK(per_batch[at(b)] == per_batch[0], "Expect the same number of specified elements per batch.");
    for (int64_t g = 0; g < groups; ++g) pointers[b * (groups + 1) + g + 1] += pointers[b * (groups + 1) + g];
  }
  const int64_t nnz = batches == 0 ? 0 : per_batch[0];
  const IntList dense = sizes.slice(at(from.sparse_dim), sizes.size() - at(from.sparse_dim));
  SparseParts parts;
  parts.layout = layout;
  parts.compressed = to_dtype(pointer_tensor, index_dtype);
  parts.plain = index_tensor(plain, joined(batch_sizes, {nnz}), index_dtype);
  if (has_blocks(layout)) {
    const Tensor filled = zeros(joined({batches * nnz * blocks.size()}, dense), coo.dtype());
    index_copy_(filled, 0, index_vector(to), from.values);
    parts.values = reshape(filled, joined(joined(batch_sizes, {nnz, blocks.rows, blocks.columns}), dense));
  } else {
    parts.values = reshape(rows_of(from.values, order), joined(joined(batch_sizes, {nnz}), dense));
  }
  return make_sparse_tensor(sizes, std::move(parts));
}

Tensor dense(const Tensor& t) {
  if (!is_sparse_tensor(t)) return t;
  const Tensor coo = coalesced(as_coo(t));
  const SparseParts& parts = sparse_parts(coo);
  const IntList sizes = t.sizes(), inner = sizes.slice(at(parts.sparse_dim), sizes.size() - at(parts.sparse_dim));
  const Tensor out = zeros(joined({product(sizes.slice(0, at(parts.sparse_dim)))}, inner), t.dtype());
  if (out.numel() > 0) index_copy_(out, 0, index_vector(flat_indices(parts.indices, sizes)), parts.values);
  return reshape(out, sizes);
}

Tensor from_dense(const Tensor& t, int64_t sparse_dim) {
  const IntList sizes = t.sizes(), inner = sizes.slice(at(sparse_dim), sizes.size() - at(sparse_dim));
  const Tensor flat = reshape(t, joined({product(sizes.slice(0, at(sparse_dim)))}, inner));
  Tensor mask = ne(flat, 0);
  if (!inner.empty()) mask = any(reshape(mask, {flat.size(0), product(inner)}), int64_t{1});
  const Tensor found = reshape(nonzero(mask), {-1});
  const int64_t n = found.numel();
  Tensor indices = empty_tensor({sparse_dim, n}, DType::int64);
  for (int64_t i = 0; i < n; ++i) {
    int64_t rest = found.data<int64_t>()[i];
    for (int64_t d = sparse_dim - 1; d >= 0; --d) {
      indices.data<int64_t>()[d * n + i] = rest % sizes[at(d)];
      rest /= sizes[at(d)];
    }
  }
  return make_coo(sizes, indices, index_select(flat, 0, found), true);
}

Tensor gather_at(const Tensor& strided, const Tensor& indices) {
  const auto dims = at(indices.size(0));
  const IntList sizes = strided.sizes(), inner = sizes.slice(dims, sizes.size() - dims);
  // Memory is looked up by strides, so that an expanded tensor need not become a large one.
  const int64_t n = indices.size(1);
  Tensor out = empty_tensor(joined({n}, inner), strided.dtype());
  if (out.numel() == 0) return out;
  std::vector<Tensor> list;
  for (size_t d = 0; d < dims; ++d) list.push_back(select(indices, 0, static_cast<int64_t>(d)));
  if (list.empty()) return contiguous_tensor(expand(unsqueeze(strided, 0), out.sizes()));
  return index(strided, list);
}

Tensor broadcast_coo(const Tensor& t, IntList sizes) {
  if (t.sizes() == sizes) return t;
  const SparseParts& parts = sparse_parts(t);
  const size_t added = sizes.size() - t.sizes().size();
  Tensor indices = parts.indices, values = parts.values;
  const int64_t sparse_dim = parts.sparse_dim + static_cast<int64_t>(added);
  // Dense dimensions are expanded, sparse ones repeat every element.
  const Dims inner = joined({values.size(0)}, sizes.slice(at(sparse_dim), sizes.size() - at(sparse_dim)));
  values = expand(values, inner);
  if (added > 0) indices = cat({zeros({static_cast<int64_t>(added), indices.size(1)}, DType::int64), indices}, 0);
  for (int64_t d = 0; d < sparse_dim; ++d) {
    const int64_t before = at(d) < added ? 1 : t.sizes()[at(d) - added], after = sizes[at(d)];
    if (before == after) continue;
    const int64_t n = indices.size(1);
    indices = repeat(indices, {1, after});
    Dims times(values.sizes().size(), 1);
    times[0] = after;
    values = repeat(values, times);
    int64_t* row = indices.data<int64_t>() + d * n * after;
    for (int64_t i = 0; i < n * after; ++i) row[i] = i / n;
  }
  return make_coo(sizes, indices, values, false);
}

Tensor map_values(const Tensor& t, MapOf what, FunctionRef<Tensor(const Tensor& values)> f) {
  const Tensor from = what == MapOf::coalesced_values && t.layout() == Layout::sparse ? coalesced(t) : t;
  return replace_values(from, f(sparse_parts(from).values));
}

void map_values_in_place(const Tensor& t, MapOf what, const char* name, FunctionRef<Tensor(const Tensor& values)> f) {
  const SparseParts& parts = sparse_parts(t);
  SCONCE_CHECK(what == MapOf::values || t.layout() != Layout::sparse || parts.coalesced, "{} requires coalesced input",
               name);
  const Tensor result = f(parts.values);
  SCONCE_CHECK(can_cast(result.dtype(), t.dtype()), "result type {} can't be cast to the desired output type {}",
               dtype_legacy_name(result.dtype()), dtype_legacy_name(t.dtype()));
  copy_(parts.values, result);
  t.bump_version();
}

void check_coo(const Tensor& t, const char* name) {
  SCONCE_CHECK(t.layout() == Layout::sparse, "{} expected sparse coordinate tensor layout but got {}", name,
               layout_legacy_name(t.layout()));
}

void check_operand(const Tensor& strided) {
  SCONCE_CHECK(is_sparse_tensor(strided) || strided.device().type == DeviceType::cpu,
               "Expected all tensors to be on the same device, but found at least two devices, cpu and {}!",
               to_string(strided.device()));
}

}  // namespace sconce::sparse
