#include "sconce/serialization/pickle/pickle_tensors.h"

#include <span>

#include "sconce/autograd/variable.h"
#include "sconce/base/weak.h"
#include "sconce/generated/arithmetic.h"
#include "sconce/generated/view.h"
#include "sconce/tensor/math_bits.h"
#include "sconce/tensor/quantized_tensor.h"
#include "sconce/tensor/sparse/sparse_parts.h"

namespace sconce {

using Args = std::vector<Value>;

void need_args(const Args& args, size_t from, size_t to) {
  if (args.size() < from || args.size() > to)
    fail(ErrorKind::runtime, "takes {} to {} arguments, got {}", {from, to, args.size()});
}

const Value& need_tuple(const Value& v) {
  SCONCE_CHECK(v.is_tuple(), "needs a tuple of sizes");
  return v;  // NOLINT(bugprone-return-const-ref-from-parameter): the caller's, which outlives the call
}

namespace {

std::span<const Value> items_of(const Value& v) {
  if (!v.is_list()) return v.to_tuple().items;
  const ItemsOf<Value> items = v.to_list().value_items();
  SCONCE_CHECK(items, "needs a tuple of sizes");
  return {items.data(), items.size()};
}

int64_t* copy_ints(std::span<const Value> items, int64_t* to) {
  for (const Value& item : items) *to++ = item.to_int();
  return to;
}

// The offset counts from where the flat tensor begins.
Tensor geometry(const Args& args, DType dtype) {
  const Tensor& flat = args[0].to_tensor();
  int64_t from = 0;
  if (__builtin_add_overflow(args[1].to_int(), flat.storage_offset(), &from))
    fail(ErrorKind::runtime, "the offset {} is too large", {args[1].to_int()});
  const std::span<const Value> sizes = items_of(args[2]), strides = items_of(args[3]);
  std::vector<int64_t> ints(sizes.size() + strides.size());
  int64_t* const behind = copy_ints(sizes, ints.data());
  copy_ints(strides, behind);
  return make_tensor(Ref<Storage>::share(flat.storage()), dtype, IntList(ints.data(), sizes.size()),
                     IntList(behind, strides.size()), from);
}

}  // namespace

std::vector<int64_t> ints_of(const Value& v) {
  const std::span<const Value> items = items_of(v);
  std::vector<int64_t> ints(items.size());
  copy_ints(items, ints.data());
  return ints;
}

SCONCE_WEAK Tensor with_math_bits(Tensor t, const Dict& bits) {
  bits.for_each([&](const Value& key, const Value& on) {
    if (!on.to_bool()) return;
    const std::string_view bit = key.to_string_ref();
    if (bit != "conj" && bit != "neg")
      fail(ErrorKind::not_implemented, "a tensor has the bit '{}', for which there is no operator", {bit});
#ifdef SCONCE_SMALL  // which computes at once
    SCONCE_CHECK(static_cast<size_t>(t.numel()) <= t.storage()->nbytes / t.item_size(),
                 "a tensor that is not conjugated yet has more elements than its storage");
    t = bit == "conj" ? sconce::conj_physical(t) : sconce::neg(t);
#else
    SCONCE_CHECK(bit == "neg" || is_complex(t.dtype()), "a tensor of dtype {} has the conjugate bit",
                 dtype_name(t.dtype()));
    set_math_bits(*t.impl(), bit == "conj" || has_conj_bit(t), bit == "neg" || has_neg_bit(t));
#endif
  });
  return t;
}

Tensor strided(const Args& args, DType dtype, size_t bits) {
  Tensor t = geometry(args, dtype);
  if (args.size() <= bits || args[bits].is_none()) return t;
  return with_math_bits(std::move(t), args[bits].to_dict());
}

void set_grad(Tensor& t, const Value& requires_grad) {
#ifdef SCONCE_SMALL  // which has no gradients
  static_cast<void>(t), static_cast<void>(requires_grad);
#else
  if (requires_grad.to_bool()) autograd::make_leaf(t);
#endif
}
Tensor with_grad(Tensor t, const Value& requires_grad) {
  set_grad(t, requires_grad);
  return t;
}

// (storage, offset, size, stride[, requires_grad, hooks[, bits]])
Value rebuild_tensor(const Args& args) {
  need_args(args, 4, 7);
  Tensor t = strided(args, args[0].to_tensor().dtype(), 6);
  if (args.size() > 4) set_grad(t, args[4]);
  return t;
}

namespace {

// (scheme, scale, zero_point), or (scheme, scales, zero_points, axis)
QuantizerPtr quantizer_from(const Args& parts) {
  SCONCE_CHECK(parts.size() >= 3, "a quantizer needs a scheme, a scale and a zero point");
  const std::string& scheme = parts[0].to_string_ref();
  if (scheme == "per_tensor_affine") return per_tensor_quantizer(parts[1].to_double(), parts[2].to_int());
  const bool floats = scheme == "per_channel_affine_float_qparams";
  SCONCE_CHECK(floats || scheme == "per_channel_affine", "the quantizer '{}' is not supported", scheme);
  SCONCE_CHECK(parts.size() == 4, "the quantizer '{}' needs scales, zero points and an axis", scheme);
  QuantizerPtr made = per_channel_quantizer(parts[1].to_tensor(), parts[2].to_tensor(), parts[3].to_int());
  SCONCE_CHECK((made->scheme == QScheme::per_channel_affine_float_qparams) == floats,
               "the quantizer '{}' has zero points of {}", scheme, dtype_name(parts[2].to_tensor().dtype()));
  return made;
}

}  // namespace

// (storage, offset, size, stride, quantizer, requires_grad, hooks)
SCONCE_WEAK Value rebuild_quantized(const Args& args) {
  need_args(args, 6, 7);
  const Tensor& flat = args[0].to_tensor();
  return make_quantized(geometry(args, flat.dtype()), quantizer_from(args[4].to_tuple().items));
}

// torch.save: (layout, (indices, values, size[, is_coalesced])), and the same with two index tensors; archives:
// (1, size, requires_grad, indices, values[, hooks]) and (2, size, requires_grad, crow, col, values[, hooks]).
SCONCE_WEAK Value rebuild_sparse(const Args& args) {
  need_args(args, 2, 7);
  if (args[0].is_int()) {
    const bool coo = args[0].to_int() == 1;
    SCONCE_CHECK(coo || args[0].to_int() == 2, "has the unknown layout {}", args[0].to_int());
    const size_t parts = coo ? 5 : 6;
    need_args(args, parts, parts + 1);
    const std::vector<int64_t> sizes = ints_of(need_tuple(args[1]));
    if (coo) return with_grad(checked_coo_tensor(args[3].to_tensor(), args[4].to_tensor(), sizes, false), args[2]);
    return with_grad(checked_compressed_tensor(Layout::sparse_csr, args[3].to_tensor(), args[4].to_tensor(),
                                               args[5].to_tensor(), sizes),
                     args[2]);
  }
  const std::string& layout = args[0].to_string_ref();
  const Args& parts = args[1].to_tuple().items;
  if (layout == "sparse_coo") {
    SCONCE_CHECK(parts.size() == 3 || parts.size() == 4, "a sparse_coo tensor has 3 or 4 parts, got {}", parts.size());
    const bool coalesced = parts.size() == 4 && parts[3].is_bool() && parts[3].to_bool();
    return checked_coo_tensor(parts[0].to_tensor(), parts[1].to_tensor(), ints_of(need_tuple(parts[2])), coalesced);
  }
  SCONCE_CHECK(parts.size() == 4, "a {} tensor has 4 parts, got {}", layout, parts.size());
  for (const Layout l : {Layout::sparse_csr, Layout::sparse_csc, Layout::sparse_bsr, Layout::sparse_bsc}) {
    if (sconce::layout_name(l) != layout) continue;
    return checked_compressed_tensor(l, parts[0].to_tensor(), parts[1].to_tensor(), parts[2].to_tensor(),
                                     ints_of(need_tuple(parts[3])));
  }
  fail("has the unknown layout '{}'", layout);
}

namespace {

struct QuantizedStorage {
  char name[9];  // without "Storage"
  DType dtype;
};
constexpr QuantizedStorage kQuantizedStorages[] = {{"QInt8", DType::int8},
                                                   {"QUInt8", DType::uint8},
                                                   {"QInt32", DType::int32},
                                                   {"QUInt4x2", DType::uint8},
                                                   {"QUInt2x4", DType::uint8}};

}  // namespace

std::optional<DType> storage_dtype(std::string_view class_name) {
  constexpr std::string_view kStorage = "Storage";
  if (!class_name.ends_with(kStorage)) return std::nullopt;
  class_name.remove_suffix(kStorage.size());
  for (DType dtype : kAllDTypes) {
    if (class_name == dtype_legacy_name(dtype)) return dtype;
  }
  for (const QuantizedStorage& q : kQuantizedStorages) {
    if (class_name == q.name) return q.dtype;
  }
  return std::nullopt;
}

}  // namespace sconce
