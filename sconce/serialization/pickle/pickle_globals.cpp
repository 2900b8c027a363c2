#include "sconce/serialization/pickle/pickle_globals.h"

#include <algorithm>
#include <iterator>

#include "sconce/autograd/variable.h"
#include "sconce/base/weak.h"
#include "sconce/dispatch/registry.h"
#include "sconce/serialization/pickle/opaque_objects.h"
#include "sconce/serialization/pickle/special_tensors.h"
#include "sconce/tensor/quantized_tensor.h"
#include "sconce/tensor/sparse/sparse_parts.h"

namespace sconce {
namespace {

using Args = std::vector<Value>;

void need(const Args& args, size_t from, size_t to) {
  if (args.size() < from || args.size() > to)
    fail(ErrorKind::runtime, "takes {} to {} arguments, got {}", {from, to, args.size()});
}

const Value& need_tuple(const Value& v) {
  SCONCE_CHECK(v.is_tuple(), "needs a tuple of sizes");
  return v;  // NOLINT(bugprone-return-const-ref-from-parameter): the caller's, which outlives the call
}

std::vector<int64_t> ints_of(const Value& v) {
  std::vector<Value> listed;
  if (v.is_list()) listed = v.to_list().values();
  const std::vector<Value>& items = v.is_list() ? listed : v.to_tuple().items;
  std::vector<int64_t> result(items.size());
  for (size_t i = 0; i < items.size(); ++i) result[i] = items[i].to_int();
  return result;
}

// A tensor of the given geometry over the storage that `flat` lies in; the offset counts from where `flat` begins.
Tensor geometry(const Tensor& flat, DType dtype, const Value& offset, const Value& sizes, const Value& strides) {
  int64_t from = 0;
  if (__builtin_add_overflow(offset.to_int(), flat.storage_offset(), &from))
    fail(ErrorKind::runtime, "the offset {} is too large", {offset.to_int()});
  return make_tensor(Ref<Storage>::share(flat.storage()), dtype, ints_of(sizes), ints_of(strides), from);
}

// The flag that parameters have; it means nothing for numbers that have no derivative.
Tensor with_grad(Tensor t, const Value& requires_grad) {
#ifdef SCONCE_SMALL  // which has no gradients
  static_cast<void>(requires_grad);
#else
  if (requires_grad.to_bool()) autograd::make_leaf(t);
#endif
  return t;
}

}  // namespace

SCONCE_WEAK Tensor with_math_bits(Tensor t, const Args& args, size_t at) {
  if (args.size() <= at || args[at].is_none()) return t;
  args[at].to_dict().for_each([&](const Value& key, const Value& on) {
    const std::string& bit = key.to_string_ref();
    const bool is_conj = bit == "conj";
    if (!is_conj && bit != "neg") fail(ErrorKind::runtime, "a tensor has the unknown bit '{}'", {bit});
    if (!on.to_bool()) return;
    SCONCE_CHECK(static_cast<size_t>(t.numel()) <= t.storage()->nbytes / t.item_size(),
                 "a tensor that is not conjugated yet has more elements than its storage");
    // By its record: a call by name would bring the matching of overloads along.
    const char* name = is_conj ? "aten::conj_physical" : "aten::neg";
    const Op* op = find_op(name);
    if (!op) fail(ErrorKind::not_implemented, "a tensor has the bit '{}', which needs the operator {}", {bit, name});
    Value argument = t, result;
    op->call_boxed(&argument, &result);
    t = result.to_tensor();
  });
  return t;
}

// (storage, offset, size, stride[, requires_grad, hooks[, bits]])
Value rebuild_tensor(const Args& args) {
  need(args, 4, 7);
  const Tensor& flat = args[0].to_tensor();
  const Tensor t = with_math_bits(geometry(flat, flat.dtype(), args[1], args[2], args[3]), args, 6);
  return args.size() > 4 ? with_grad(t, args[4]) : t;
}

namespace {

// With the dtype named, over bytes.
Value rebuild_tensor_v3(const Args& args, PickleContext&) {
  need(args, 7, 8);
#ifdef SCONCE_SMALL
  SCONCE_CHECK_AS(not_implemented, !args[6].is_string(), "tensors of {} are not supported", args[6].to_string_ref());
#else
  if (args[6].is_string()) return make_foreign(args[6].to_string_ref(), need_tuple(args[2]));
#endif
  const DType dtype = dtype_from_number(args[6].to_int());
  SCONCE_CHECK(dtype != DType::bool_, "a tensor of bools needs a BoolStorage");
  return with_grad(with_math_bits(geometry(args[0].to_tensor(), dtype, args[1], args[2], args[3]), args, 7), args[4]);
}

#ifndef SCONCE_SMALL
// (dtype, size, stride, requires_grad)
Value rebuild_meta_tensor(const Args& args, PickleContext&) {
  need(args, 4, 4);
  return empty_strided_tensor(ints_of(args[1]), ints_of(args[2]), dtype_from_number(args[0].to_int()),
                              parse_device("meta"));
}
#endif

// (tensor, requires_grad, hooks[, state])
Value rebuild_parameter(const Args& args, PickleContext&) {
  need(args, 3, 4);
  return is_special_tensor(args[0]) || is_opaque(args[0]) ? args[0] : with_grad(args[0].to_tensor(), args[1]);
}

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
  need(args, 6, 7);
  const Tensor& flat = args[0].to_tensor();
  return make_quantized(geometry(flat, flat.dtype(), args[1], args[2], args[3]),
                        quantizer_from(args[4].to_tuple().items));
}

// torch.save: (layout, (indices, values, size[, is_coalesced])), and the same with two index tensors; archives:
// (1, size, requires_grad, indices, values[, hooks]) and (2, size, requires_grad, crow, col, values[, hooks]).
SCONCE_WEAK Value rebuild_sparse(const Args& args) {
  need(args, 2, 7);
  if (args[0].is_int()) {
    const bool coo = args[0].to_int() == 1;
    SCONCE_CHECK(coo || args[0].to_int() == 2, "has the unknown layout {}", args[0].to_int());
    const size_t parts = coo ? 5 : 6;
    need(args, parts, parts + 1);
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

// torch.serialization._get_layout("torch.sparse_coo")
Value named_layout(const Args& args, PickleContext&) {
  need(args, 1, 1);
  std::string_view name = args[0].to_string_ref();
  if (name.starts_with("torch.")) name.remove_prefix(6);
  constexpr std::string_view kLayouts[] = {"strided",    "sparse_coo", "sparse_csr",
                                           "sparse_csc", "sparse_bsr", "sparse_bsc"};
  SCONCE_CHECK(std::find(std::begin(kLayouts), std::end(kLayouts), name) != std::end(kLayouts),
               "there is no layout '{}'", name);
  return name;
}

#ifndef SCONCE_SMALL
// (constructor, class, args, state): a tensor of a class of its own, or one with attributes, which are not kept.
Value rebuild_from_type(const Args& args, PickleContext& context) {
  need(args, 4, 4);
  if (is_opaque(args[0])) return make_opaque(opaque_class_name(args[0]), args[2]);  // of a class that we do not know
  SCONCE_CHECK(args[0].tag() == Tag::capsule, "needs a constructor");
  const auto* inner = static_cast<const PickleConstructor*>(args[0].to_capsule().object);
  SCONCE_CHECK(inner->make && inner->make != rebuild_from_type, "'{}.{}' cannot be called here", inner->module,
               inner->name);
  return inner->make(args[2].to_tuple().items, context);
}
#endif

// A list of `element` from a pickled one.
Value typed_list(const Value& plain, TypePtr element) {
  Ref<List> list = make_ref<List>(element);
  const List& from = plain.to_list();
  list->reserve(from.size());
  for (size_t i = 0; i < from.size(); ++i) list->append(from.get(i));
  return list;
}

template <TypePtr (*element)()>
Value build_list(const Args& args, PickleContext&) {
  need(args, 1, 1);
  return typed_list(args[0], element());
}

// (container, "Dict[str, List[int]]")
Value restore_type_tag(const Args& args, PickleContext& context) {
  need(args, 2, 2);
  const TypePtr type = context.find_type(args[1].to_string_ref());
  SCONCE_CHECK(type->is(TypeKind::list) || type->is(TypeKind::dict), "tags '{}' where a list or a dict is meant",
               args[1].to_string_ref());
  return context.fit(args[0], type);
}

Value ordered_dict(const Args& args, PickleContext&) {
  need(args, 0, 1);
  Ref<Dict> dict = make_ref<Dict>(any_type(), any_type());
  if (args.empty()) return dict;
  for (const Value& pair : args[0].to_list().values()) {
    const std::vector<Value> items = pair.is_list() ? pair.to_list().values() : pair.to_tuple().items;
    SCONCE_CHECK(items.size() == 2, "needs pairs");
    SCONCE_CHECK(items[0].is_string() || items[0].is_int(), "needs texts or numbers as keys");
    dict->set(items[0], items[1]);
  }
  return dict;
}

#ifndef SCONCE_SMALL
// collections.Counter({key: count})
Value counter(const Args& args, PickleContext&) {
  need(args, 0, 1);
  if (args.empty()) return make_ref<Dict>(any_type(), any_type());
  return args[0].to_dict().copy();
}

// A set is a list of its items.
Value set(const Args& args, PickleContext&) {
  need(args, 0, 1);
  return args.empty() ? Value(make_ref<List>(any_type())) : typed_list(args[0], any_type());
}
#endif

Value complex_number(const Args& args, PickleContext&) {
  need(args, 2, 2);
  return std::complex<double>(args[0].to_double(), args[1].to_double());
}

// Bytes are strings whose characters are the bytes: _codecs.encode(text, "latin1"), bytearray(text, "latin1").
Value encoded(const Args& args, PickleContext&) {
  need(args, 0, 2);
  if (args.empty()) return "";
  const std::string& text = args[0].to_string_ref();
  if (args.size() == 1) return text;
  const std::string& encoding = args[1].to_string_ref();
  SCONCE_CHECK(encoding == "latin1" || encoding == "latin-1", "the encoding '{}' is not supported", encoding);
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<uint8_t>(text[i]);
    if (c < 0x80) {
      bytes += text[i];
      continue;
    }
    SCONCE_CHECK((c == 0xc2 || c == 0xc3) && i + 1 < text.size(), "a text is not made of latin1 characters");
    bytes += static_cast<char>((c & 3) << 6 | (static_cast<uint8_t>(text[++i]) & 0x3f));
  }
  return bytes;
}

Value device(const Args& args, PickleContext&) {
  need(args, 1, 2);
  std::string text = args[0].to_string_ref();
  if (args.size() == 2 && !args[1].is_none()) text += ":" + std::to_string(args[1].to_int());
  return parse_device(text);
}

Value size(const Args& args, PickleContext&) {
  need(args, 1, 1);
  return need_tuple(args[0]);
}

template <Value (*make)(const Args&)>
Value plain(const Args& args, PickleContext&) {
  return make(args);
}

constexpr PickleConstructor kConstructors[] = {
    {"torch._utils", "_rebuild_tensor_v2", plain<rebuild_tensor>},
    {"torch._utils", "_rebuild_tensor", plain<rebuild_tensor>},
    {"torch._utils", "_rebuild_tensor_v3", rebuild_tensor_v3},
    {"torch._utils", "_rebuild_parameter", rebuild_parameter},
    {"torch._utils", "_rebuild_parameter_with_state", rebuild_parameter},
    {"torch._utils", "_rebuild_qtensor", plain<rebuild_quantized>},
    {"torch._utils", "_rebuild_sparse_tensor", plain<rebuild_sparse>},
    {"torch._utils", "_rebuild_sparse_csr_tensor", plain<rebuild_sparse>},
    {"torch.serialization", "_get_layout", named_layout},
    {"torch.jit._pickle", "build_intlist", build_list<int_type>},
    {"torch.jit._pickle", "build_doublelist", build_list<float_type>},
    {"torch.jit._pickle", "build_boollist", build_list<bool_type>},
    {"torch.jit._pickle", "build_tensorlist", build_list<tensor_type>},
    {"torch.jit._pickle", "restore_type_tag", restore_type_tag},
    {"collections", "OrderedDict", ordered_dict},
    {"builtins", "complex", complex_number},
    {"builtins", "bytearray", encoded},
    {"builtins", "bytes", encoded},
    {"_codecs", "encode", encoded},
    {"torch", "device", device},
    {"torch", "Size", size},
    {"torch", "Tensor", nullptr},
    {"torch.nn.parameter", "Parameter", nullptr},
    {"torch.nn.parameter", "Buffer", nullptr},
#ifndef SCONCE_SMALL  // what only torch.save writes
    {"torch._utils", "_rebuild_meta_tensor_no_storage", rebuild_meta_tensor},
    {"torch._tensor", "_rebuild_from_type_v2", rebuild_from_type},
    {"collections", "Counter", counter},
    {"builtins", "set", set},
    {"builtins", "frozenset", set},
#endif
};

struct QuantizedStorage {
  const char* name;  // without "Storage"
  DType dtype;
};
constexpr QuantizedStorage kQuantizedStorages[] = {{"QInt8", DType::int8},
                                                   {"QUInt8", DType::uint8},
                                                   {"QInt32", DType::int32},
                                                   {"QUInt4x2", DType::uint8},
                                                   {"QUInt2x4", DType::uint8}};
// Globals of torch that stand for their names: schemes of quantisation, and dtypes that PyTorch has and Sconce has not,
// of which tensors are recognised.
constexpr const char* kNames[] = {"per_tensor_affine",
                                  "per_channel_affine",
                                  "per_tensor_symmetric",
                                  "per_channel_symmetric",
                                  "per_channel_affine_float_qparams",
                                  "float8_e4m3fnuz",
                                  "float8_e5m2fnuz",
                                  "float8_e8m0fnu",
                                  "float4_e2m1fn_x2",
                                  "complex32"};

}  // namespace

const PickleConstructor* find_pickle_constructor(std::string_view module, std::string_view name) {
  if (module == "__builtin__") module = "builtins";
  const auto* found = std::find_if(std::begin(kConstructors), std::end(kConstructors),
                                   [&](const PickleConstructor& c) { return module == c.module && name == c.name; });
  return found == std::end(kConstructors) ? nullptr : found;
}

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

std::optional<Value> pickle_constant(std::string_view module, std::string_view name) {
  // Storages that have no dtype here are refused by name where one is used.
  if ((module == "torch" || module == "torch.storage") && name.ends_with("Storage")) return Value(name);
  if (module == "torch") {
    DType dtype;
    if (dtype_from_name(name, &dtype)) return Value(dtype);
    for (const char* known : kNames) {
      if (name == known) return Value(name);
    }
  }
  return std::nullopt;
}

}  // namespace sconce
