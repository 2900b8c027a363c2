#include "sconce/serialization/pickle/pickle_globals.h"

#include <algorithm>
#include <iterator>

#include "sconce/serialization/pickle/opaque_objects.h"
#include "sconce/serialization/pickle/pickle_tensors.h"
#include "sconce/serialization/pickle/special_tensors.h"

namespace sconce {
namespace {

using Args = std::vector<Value>;

// With the dtype named, over bytes.
Value rebuild_tensor_v3(const Args& args, PickleContext&) {
  need_args(args, 7, 8);
#ifdef SCONCE_SMALL
  SCONCE_CHECK_AS(not_implemented, !args[6].is_string(), "tensors of {} are not supported", args[6].to_string_ref());
#else
  if (args[6].is_string()) return make_foreign(args[6].to_string_ref(), need_tuple(args[2]));
#endif
  const DType dtype = dtype_from_number(args[6].to_int());
  SCONCE_CHECK(dtype != DType::bool_, "a tensor of bools needs a BoolStorage");
  return with_grad(strided(args, dtype, 7), args[4]);
}

#ifndef SCONCE_SMALL
// (dtype, size, stride, requires_grad)
Value rebuild_meta_tensor(const Args& args, PickleContext&) {
  need_args(args, 4, 4);
  return empty_strided_tensor(ints_of(args[1]), ints_of(args[2]), dtype_from_number(args[0].to_int()),
                              parse_device("meta"));
}
#endif

// (tensor, requires_grad, hooks[, state])
Value rebuild_parameter(const Args& args, PickleContext&) {
  need_args(args, 3, 4);
  return is_special_tensor(args[0]) || is_opaque(args[0]) ? args[0] : with_grad(args[0].to_tensor(), args[1]);
}

// torch.serialization._get_layout("torch.sparse_coo")
Value named_layout(const Args& args, PickleContext&) {
  need_args(args, 1, 1);
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
  need_args(args, 4, 4);
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
  need_args(args, 1, 1);
  return typed_list(args[0], element());
}

// (container, "Dict[str, List[int]]")
Value restore_type_tag(const Args& args, PickleContext& context) {
  need_args(args, 2, 2);
  const TypePtr type = context.find_type(args[1].to_string_ref());
  SCONCE_CHECK(type->is(TypeKind::list) || type->is(TypeKind::dict), "tags '{}' where a list or a dict is meant",
               args[1].to_string_ref());
  return context.fit(args[0], type);
}

Value ordered_dict(const Args& args, PickleContext&) {
  need_args(args, 0, 1);
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
  need_args(args, 0, 1);
  if (args.empty()) return make_ref<Dict>(any_type(), any_type());
  return args[0].to_dict().copy();
}

// A set is a list of its items.
Value set(const Args& args, PickleContext&) {
  need_args(args, 0, 1);
  return args.empty() ? Value(make_ref<List>(any_type())) : typed_list(args[0], any_type());
}
#endif

Value complex_number(const Args& args, PickleContext&) {
  need_args(args, 2, 2);
  return std::complex<double>(args[0].to_double(), args[1].to_double());
}

// Bytes are strings whose characters are the bytes: _codecs.encode(text, "latin1"), bytearray(text, "latin1").
Value encoded(const Args& args, PickleContext&) {
  need_args(args, 0, 2);
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
  need_args(args, 1, 2);
  std::string text = args[0].to_string_ref();
  if (args.size() == 2 && !args[1].is_none()) text += ":" + std::to_string(args[1].to_int());
  return parse_device(text);
}

Value size(const Args& args, PickleContext&) {
  need_args(args, 1, 1);
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
