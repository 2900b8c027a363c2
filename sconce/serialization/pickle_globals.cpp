#include "sconce/serialization/pickle_globals.h"

#include <algorithm>
#include <iterator>

namespace sconce {
namespace {

using Make = Value (*)(const std::vector<Value>& args, PickleContext& context);

void need(const std::vector<Value>& args, size_t from, size_t to) {
  SCONCE_CHECK(args.size() >= from && args.size() <= to, "takes {} arguments, got {}", from, args.size());
}

std::vector<int64_t> ints_of(const Value& v) {
  std::vector<int64_t> result;
  const std::vector<Value> items = v.is_list() ? v.to_list().values() : v.to_tuple().items;
  for (const Value& item : items) result.push_back(item.to_int());
  return result;
}

// The flag that parameters have; it means nothing for numbers that have no derivative.
Value with_grad(Tensor t, const Value& requires_grad) {
  if (requires_grad.to_bool() && (is_floating(t.dtype()) || is_complex(t.dtype()))) {
    t.impl()->meta |= TensorImpl::requires_grad;
  }
  return t;
}

Value rebuild_tensor(const std::vector<Value>& args, PickleContext&) {
  need(args, 4, 7);
  const Tensor& flat = args[0].to_tensor();
  return with_grad(make_tensor(Ref<Storage>::share(flat.storage()), flat.dtype(), ints_of(args[2]), ints_of(args[3]),
                               args[1].to_int()),
                   args.size() > 4 ? args[4] : Value(false));
}

// With the dtype named, over bytes.
Value rebuild_tensor_v3(const std::vector<Value>& args, PickleContext&) {
  need(args, 7, 8);
  const Tensor& flat = args[0].to_tensor();
  const auto dtype = dtype_from_number(args[6].to_int());
  return with_grad(
      make_tensor(Ref<Storage>::share(flat.storage()), dtype, ints_of(args[2]), ints_of(args[3]), args[1].to_int()),
      args[4]);
}

Value rebuild_parameter(const std::vector<Value>& args, PickleContext&) {
  need(args, 3, 4);
  return with_grad(args[0].to_tensor(), args[1]);
}

// A list of `element` from a pickled one.
Value typed_list(const Value& plain, TypePtr element) {
  Ref<List> list = make_ref<List>(element);
  const List& from = plain.to_list();
  list->reserve(from.size());
  for (size_t i = 0; i < from.size(); ++i) list->append(from.get(i));
  return list;
}

template <TypePtr (*element)()>
Value build_list(const std::vector<Value>& args, PickleContext&) {
  need(args, 1, 1);
  return typed_list(args[0], element());
}

Value restore_type_tag(const std::vector<Value>& args, PickleContext& context) {
  need(args, 2, 2);
  const TypePtr type = context.find_type(args[1].to_string_ref());
  if (type->is(TypeKind::list)) return typed_list(args[0], type->element());
  SCONCE_CHECK(type->is(TypeKind::dict), "tags '{}' where a list or a dict is meant", args[1].to_string_ref());
  Ref<Dict> dict = make_ref<Dict>(type->contained()[0], type->contained()[1]);
  args[0].to_dict().for_each([&](const Value& key, const Value& value) { dict->set(key, value); });
  return dict;
}

Value ordered_dict(const std::vector<Value>& args, PickleContext&) {
  need(args, 0, 1);
  Ref<Dict> dict = make_ref<Dict>(any_type(), any_type());
  if (args.empty()) return dict;
  for (const Value& pair : args[0].to_list().values()) {
    const std::vector<Value> items = pair.is_list() ? pair.to_list().values() : pair.to_tuple().items;
    SCONCE_CHECK(items.size() == 2, "needs pairs");
    dict->set(items[0], items[1]);
  }
  return dict;
}

Value complex_number(const std::vector<Value>& args, PickleContext&) {
  need(args, 2, 2);
  return std::complex<double>(args[0].to_double(), args[1].to_double());
}

Value device(const std::vector<Value>& args, PickleContext&) {
  need(args, 1, 2);
  std::string text = args[0].to_string_ref();
  if (args.size() == 2 && !args[1].is_none()) text += ":" + std::to_string(args[1].to_int());
  return parse_device(text);
}

Value size(const std::vector<Value>& args, PickleContext&) {
  need(args, 1, 1);
  return args[0];
}

struct Constructor {
  const char* module;
  const char* name;
  Make make;
};
constexpr Constructor kConstructors[] = {
    {"torch._utils", "_rebuild_tensor_v2", rebuild_tensor},
    {"torch._utils", "_rebuild_tensor", rebuild_tensor},
    {"torch._utils", "_rebuild_tensor_v3", rebuild_tensor_v3},
    {"torch._utils", "_rebuild_parameter", rebuild_parameter},
    {"torch.jit._pickle", "build_intlist", build_list<int_type>},
    {"torch.jit._pickle", "build_doublelist", build_list<float_type>},
    {"torch.jit._pickle", "build_boollist", build_list<bool_type>},
    {"torch.jit._pickle", "build_tensorlist", build_list<tensor_type>},
    {"torch.jit._pickle", "restore_type_tag", restore_type_tag},
    {"collections", "OrderedDict", ordered_dict},
    {"builtins", "complex", complex_number},
    {"torch", "device", device},
    {"torch", "Size", size},
};

const Constructor* find_constructor(const PickleGlobal& g) {
  const auto* found = std::find_if(std::begin(kConstructors), std::end(kConstructors),
                                   [&](const Constructor& c) { return g.module == c.module && g.name == c.name; });
  return found == std::end(kConstructors) ? nullptr : found;
}

}  // namespace

std::optional<DType> storage_dtype(std::string_view class_name) {
  for (DType dtype : kAllDTypes) {
    if (class_name == std::string(dtype_legacy_name(dtype)) + "Storage") return dtype;
  }
  return std::nullopt;
}

std::optional<Value> global_constant(const PickleGlobal& g) {
  if ((g.module == "torch" && storage_dtype(g.name)) || (g.module == "torch.storage" && g.name == "UntypedStorage")) {
    return Value(g.name);
  }
  if (g.module == "torch") {
    DType dtype;
    if (dtype_from_name(g.name, &dtype)) return Value(dtype);
  }
  return std::nullopt;
}

bool is_known_global(const PickleGlobal& g) {
  if (find_constructor(g) || global_constant(g)) return true;
  // Storages that are recognised, to be refused by name where one is used.
  return g.module == "torch" && g.name.ends_with("Storage");
}

Value call_global(const PickleGlobal& g, const std::vector<Value>& args, PickleContext& context) {
  const Constructor* c = find_constructor(g);
  SCONCE_CHECK(c, "'{}.{}' cannot be called", g.module, g.name);
  return c->make(args, context);
}

}  // namespace sconce
