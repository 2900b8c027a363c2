#include "sconce/passes/analysis/constant_values.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <new>

namespace sconce::passes {
namespace {

constexpr int64_t kMaxCompared = 1 << 16;  // bytes of tensors that are compared
constexpr size_t kMaxText = 1 << 20;       // a longer string stays a computation

bool is_same_tensor(const Tensor& a, const Tensor& b) {
  if (a.impl() == b.impl()) return true;
  if (a.dtype() != b.dtype() || a.device() != b.device() || a.sizes() != b.sizes() || a.strides() != b.strides())
    return false;
  if (a.device().type != DeviceType::cpu || !a.is_contiguous() || a.requires_grad() || b.requires_grad()) return false;
  const int64_t bytes = a.numel() * static_cast<int64_t>(item_size(a.dtype()));
  return bytes <= kMaxCompared && (bytes == 0 || std::memcmp(a.data(), b.data(), static_cast<size_t>(bytes)) == 0);
}

template <class Items>
bool is_same_sequence(const Items& a, const Items& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), is_same_value);
}

size_t mix(size_t a, size_t b) { return (a ^ b) * 0x9E3779B97F4A7C15u + (a >> 7); }

size_t value_hash(const sconce::Value& v) {
  const size_t tag = static_cast<size_t>(v.tag());
  switch (v.tag()) {
    case Tag::none:
    case Tag::boolean:
    case Tag::integer:
    case Tag::real:
    case Tag::device:
      return mix(tag, v.bits());
    case Tag::string:
      return mix(tag, std::hash<std::string>()(v.to_string_ref()));
    case Tag::list:
      return mix(tag, v.to_list().size());
    case Tag::tuple: {
      size_t hash = tag;
      for (const sconce::Value& item : v.to_tuple().items) hash = mix(hash, value_hash(item));
      return hash;
    }
    default:
      return tag;
  }
}

}  // namespace

bool is_same_value(const sconce::Value& a, const sconce::Value& b) {
  if (a.tag() != b.tag()) return false;
  switch (a.tag()) {
    case Tag::none:
      return true;
    case Tag::boolean:
    case Tag::integer:
    case Tag::real:
      return a.bits() == b.bits();
    case Tag::device:
      return a.to_device() == b.to_device();
    case Tag::tensor:
      return is_same_tensor(a.to_tensor(), b.to_tensor());
    case Tag::string:
      return a.to_string_ref() == b.to_string_ref();
    case Tag::complex: {
      const auto bits = [](double part) { return std::bit_cast<uint64_t>(part); };
      const std::complex<double> x = a.to_complex(), y = b.to_complex();
      return bits(x.real()) == bits(y.real()) && bits(x.imag()) == bits(y.imag());
    }
    case Tag::list:
      return a.type() == b.type() && is_same_sequence(a.to_list().values(), b.to_list().values());
    case Tag::tuple:
      return a.to_tuple().named_type == b.to_tuple().named_type &&
             is_same_sequence(a.to_tuple().items, b.to_tuple().items);
    case Tag::enum_:
      return a.to_enum().type == b.to_enum().type && a.to_enum().name == b.to_enum().name;
    default:
      return a.bits() == b.bits();
  }
}

bool is_same_constant(const ir::Node& a, const ir::Node& b) {
  if (a.output()->type() != b.output()->type() || a.attributes().size() != b.attributes().size()) return false;
  for (const auto& [name, v] : a.attributes()) {
    const ir::AttributeValue* other = b.attribute(name);
    const auto *x = std::get_if<sconce::Value>(&v), *y = other ? std::get_if<sconce::Value>(other) : nullptr;
    if (!x || !y || !is_same_value(*x, *y)) return false;
  }
  return a.callee() == b.callee();
}

size_t constant_hash(const ir::Node& node) {
  size_t hash = std::hash<const void*>()(node.output()->type());
  for (const auto& [name, v] : node.attributes()) {
    if (const auto* value = std::get_if<sconce::Value>(&v)) hash = mix(hash, value_hash(*value));
  }
  return hash;
}

bool can_be_constant(const sconce::Value& v) {
  switch (v.tag()) {
    case Tag::none:
    case Tag::boolean:
    case Tag::integer:
    case Tag::real:
    case Tag::device:
    case Tag::complex:
    case Tag::enum_:
      return true;
    case Tag::string:
      return v.to_string_ref().size() <= kMaxText;
    case Tag::tensor:
      return !v.to_tensor().requires_grad();
    case Tag::list: {
      const List& list = v.to_list();
      if (list.is_ints() || list.is_doubles() || list.is_bools()) return true;
      const std::vector<sconce::Value> items = list.values();
      return std::all_of(items.begin(), items.end(), can_be_constant);
    }
    case Tag::tuple:
      return std::all_of(v.to_tuple().items.begin(), v.to_tuple().items.end(), can_be_constant);
    case Tag::dict: {
      const auto items = v.to_dict().items();
      return std::all_of(items.begin(), items.end(),
                         [](const auto& item) { return can_be_constant(item.first) && can_be_constant(item.second); });
    }
    default:
      return false;
  }
}

namespace {

using Values = std::vector<sconce::Value>;

sconce::Value make_list(TypePtr type, const Values& items) {
  auto list = make_ref<List>(type->element());
  list->reserve(items.size());
  for (const sconce::Value& v : items) list->append(v);
  return sconce::Value(std::move(list));
}

sconce::Value make_dict(TypePtr type, const Values& items) {
  auto dict = make_ref<Dict>(type->contained()[0], type->contained()[1]);
  for (size_t i = 0; i + 1 < items.size(); i += 2) dict->set(items[i], items[i + 1]);
  return sconce::Value(std::move(dict));
}

std::optional<Values> tuple_part(const ir::Node& node, const Values& inputs) {
  const Values& items = inputs[0].to_tuple().items;
  const auto size = static_cast<int64_t>(items.size());
  if (node.is(ir::kind::TupleUnpack)) {
    return items.size() == node.outputs().size() ? std::optional(items) : std::nullopt;
  }
  if (node.is(ir::kind::TupleIndex)) {
    const int64_t index = inputs[1].to_int();
    if (index < -size || index >= size) return std::nullopt;
    return Values{items[static_cast<size_t>(index < 0 ? index + size : index)]};
  }
  const auto bound = [&](const char* name) {
    const int64_t v = node.value_attribute(name).to_int();
    return std::clamp<int64_t>(v < 0 ? v + size : v, 0, size);
  };
  const int64_t begin = bound("beg"), end = std::max(bound("end"), begin);
  return Values{sconce::Value(make_ref<Tuple>(Values(items.begin() + begin, items.begin() + end)))};
}

std::optional<Values> call(const Op& op, Values inputs) {
  const Schema& schema = op.schema();
  if (schema.is_varret) return std::nullopt;
  if (schema.is_vararg) {
    // The rest is passed as a tuple.
    const auto from = inputs.begin() + static_cast<ptrdiff_t>(std::min(schema.arguments.size(), inputs.size()));
    Values rest(std::make_move_iterator(from), std::make_move_iterator(inputs.end()));
    inputs.erase(from, inputs.end());
    inputs.emplace_back(make_ref<Tuple>(std::move(rest)));
  } else if (inputs.size() != schema.arguments.size()) {
    return std::nullopt;
  }
  Values returns(schema.returns.size());
  op.call_boxed(inputs.data(), returns.data());
  return returns;
}

std::optional<Values> run(const ir::Node& node, Values inputs) {
  const TypePtr type = node.outputs().size() == 1 ? node.output()->type() : nullptr;
  switch (node.kind().id()) {
    case ir::kind::ListConstruct_id:
      return Values{make_list(type, inputs)};
    case ir::kind::DictConstruct_id:
      return Values{make_dict(type, inputs)};
    case ir::kind::TupleConstruct_id: {
      const TypePtr named = type->fields().empty() ? nullptr : type;
      return Values{sconce::Value(make_ref<Tuple>(std::move(inputs), named))};
    }
    case ir::kind::TupleUnpack_id:
    case ir::kind::TupleIndex_id:
    case ir::kind::TupleSlice_id:
      return tuple_part(node, inputs);
    case ir::kind::ListUnpack_id: {
      Values items = inputs[0].to_list().values();
      return items.size() == node.outputs().size() ? std::optional(std::move(items)) : std::nullopt;
    }
    case ir::kind::isinstance_id: {
      const std::vector<TypePtr>& types = node.types_attribute("types");
      const TypePtr own = inputs[0].type();
      return Values{
          sconce::Value(std::any_of(types.begin(), types.end(), [&](TypePtr t) { return is_subtype(own, t); }))};
    }
    default:
      return node.op() ? call(*node.op(), std::move(inputs)) : std::nullopt;
  }
}

}  // namespace

std::optional<std::vector<sconce::Value>> evaluate(const ir::Node& node, std::vector<sconce::Value> inputs) {
  try {
    return run(node, std::move(inputs));
  } catch (const Error&) {
    return std::nullopt;  // the run of the graph shall show it
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
}

}  // namespace sconce::passes
