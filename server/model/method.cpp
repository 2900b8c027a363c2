#include "server/model/method.h"

#include <algorithm>
#include <map>
#include <optional>

#include "sconce/api/asks_for_gradients.h"
#include "sconce/dispatch/op.h"
#include "sconce/dispatch/schema.h"
#include "sconce/ir/function.h"
#include "sconce/ir/graph.h"
#include "sconce/ops.h"
#include "sconce/passes/passes.h"
#include "sconce/tensor/grad_mode.h"
#include "server/protocol/datatype.h"
#include "server/protocol/failure.h"

namespace sconce::server {
namespace {

using Kind = TypeKind;

bool is_number(TypePtr t) {
  return t->is(Kind::int_) || t->is(Kind::float_) || t->is(Kind::bool_) || t->is(Kind::number);
}

// Inputs by name, each used once.
class Inputs {
 public:
  explicit Inputs(InferRequest& request) : request_(request) {
    for (WireTensor& t : request.inputs) by_name_[t.name] = &t;
  }
  WireTensor* take(const std::string& name) {
    const auto at = by_name_.find(name);
    if (at == by_name_.end()) return nullptr;
    WireTensor* t = at->second;
    by_name_.erase(at);
    return t;
  }
  bool has(const std::string& name) const { return by_name_.contains(name); }
  // Whether there is "name." with something behind it.
  bool has_parts(const std::string& name) const {
    const auto at = by_name_.lower_bound(name + ".");
    return at != by_name_.end() && at->first.starts_with(name + ".");
  }
  // What stands behind "name.", up to the next dot.
  std::vector<std::string> parts(const std::string& name) const {
    std::vector<std::string> out;
    for (auto at = by_name_.lower_bound(name + "."); at != by_name_.end() && at->first.starts_with(name + "."); ++at) {
      const std::string rest = at->first.substr(name.size() + 1);
      const std::string part = rest.substr(0, rest.find('.'));
      if (out.empty() || out.back() != part) out.push_back(part);
    }
    return out;
  }
  std::optional<Parameter> take_parameter(const std::string& name) {
    const auto at = request_.parameters.find(name);
    if (at == request_.parameters.end()) return {};
    Parameter p = std::move(at->second);
    request_.parameters.erase(at);
    return p;
  }
  const std::string* left() const { return by_name_.empty() ? nullptr : &by_name_.begin()->first; }
  bool has_parameter(const std::string& name) const { return request_.parameters.contains(name); }

 private:
  InferRequest& request_;
  std::map<std::string, WireTensor*> by_name_;
};

bool is_there(const Inputs& in, const std::string& name) {
  return in.has(name) || in.has_parts(name) || in.has_parameter(name);
}

Value element_value(const WireTensor& t, int64_t i, TypePtr type) {
  if (type->is(Kind::string)) {
    if (t.datatype != kBytes) refuse("input '{}' has to be BYTES, got {}", t.name, t.datatype);
    return Value(t.strings[static_cast<size_t>(i)]);
  }
  if (t.datatype == kBytes) refuse("input '{}' has to be of numbers, got BYTES", t.name);
  const Scalar s = item_of(t.tensor.reshape({-1}).select(0, i));
  if (type->is(Kind::bool_)) {
    if (!s.is_bool()) refuse("input '{}' has to be BOOL, got {}", t.name, t.datatype);
    return Value(s.integer() != 0);
  }
  if (type->is(Kind::int_)) {
    if (s.is_real() || s.is_bool()) refuse("input '{}' has to be an integer, got {}", t.name, t.datatype);
    return Value(s.integer());
  }
  if (type->is(Kind::float_)) return Value(s.to_double());
  return Value(s);
}

Value parameter_value(const std::string& name, const Parameter& p, TypePtr type) {
  if (const auto* v = std::get_if<bool>(&p); v && (type->is(Kind::bool_) || type->is(Kind::number))) return Value(*v);
  if (const auto* v = std::get_if<int64_t>(&p)) {
    if (type->is(Kind::int_) || type->is(Kind::number)) return Value(*v);
    if (type->is(Kind::float_)) return Value(static_cast<double>(*v));
  }
  if (const auto* v = std::get_if<double>(&p); v && (type->is(Kind::float_) || type->is(Kind::number)))
    return Value(*v);
  if (const auto* v = std::get_if<std::string>(&p); v && type->is(Kind::string)) return Value(*v);
  refuse("parameter '{}' has to be a {}", name, type->annotation());
}

Value bind_one(Inputs& in, const std::string& name, TypePtr type);

Value bind_list(Inputs& in, const std::string& name, TypePtr type) {
  const TypePtr element = type->element();
  auto list = make_ref<List>(element);
  if (is_number(element) || element->is(Kind::string)) {
    const WireTensor* t = in.take(name);
    if (!t) refuse("input '{}' is missing", name);
    if (t->shape.size() != 1)
      refuse("input '{}' is a {}: it has one dimension, got {}", name, type->annotation(), t->shape.size());
    for (int64_t i = 0; i < t->shape[0]; ++i) list->append(element_value(*t, i, element));
    return Value(std::move(list));
  }
  if (in.has(name)) refuse("input '{}' is a {}: its elements are '{}.0', ...", name, type->annotation(), name);
  for (size_t i = 0; is_there(in, fmt::format("{}.{}", name, i)); ++i)
    list->append(bind_one(in, fmt::format("{}.{}", name, i), element));
  return Value(std::move(list));
}

Value bind_one(Inputs& in, const std::string& name, TypePtr type) {
  switch (type->kind()) {
    case Kind::tensor: {
      WireTensor* t = in.take(name);
      if (!t) refuse("input '{}' is missing", name);
      if (t->datatype == kBytes) refuse("input '{}' is a tensor, which cannot be BYTES", name);
      return Value(std::move(t->tensor));
    }
    case Kind::optional:
      return is_there(in, name) ? bind_one(in, name, type->element()) : Value();
    case Kind::int_:
    case Kind::float_:
    case Kind::bool_:
    case Kind::number:
    case Kind::string:
      if (const WireTensor* t = in.take(name)) {
        if (element_count(name, t->shape) != 1)
          refuse("input '{}' is a {}: it has one element, got shape [{}]", name, type->annotation(),
                 fmt::join(t->shape, ", "));
        return element_value(*t, 0, type);
      }
      if (const auto p = in.take_parameter(name)) return parameter_value(name, *p, type);
      refuse("input '{}' is missing", name);
    case Kind::list:
      return bind_list(in, name, type);
    case Kind::tuple: {
      std::vector<Value> items;
      for (size_t i = 0; i < type->contained().size(); ++i) {
        const std::string part = type->fields().empty() ? std::to_string(i) : type->fields()[i];
        items.push_back(bind_one(in, fmt::format("{}.{}", name, part), type->contained()[i]));
      }
      if (!type->fields().empty())
        refuse(Code::unimplemented, "input '{}' is a {}: named tuples cannot be sent", name, type->annotation());
      return Value(make_ref<Tuple>(std::move(items)));
    }
    case Kind::dict: {
      if (!type->contained()[0]->is(Kind::string)) break;
      auto dict = make_ref<Dict>(type->contained()[0], type->contained()[1]);
      for (const std::string& key : in.parts(name))
        dict->set(Value(key), bind_one(in, fmt::format("{}.{}", name, key), type->contained()[1]));
      return Value(std::move(dict));
    }
    default:
      break;
  }
  refuse(Code::unimplemented, "input '{}' is a {}, which cannot be sent", name, type->annotation());
}

void describe(std::vector<TensorInfo>& out, const std::string& name, TypePtr type) {
  switch (type->kind()) {
    case Kind::optional:
      return describe(out, name, type->element());
    case Kind::int_:
      return out.push_back({name, "INT64", {1}});
    case Kind::float_:
    case Kind::number:
      return out.push_back({name, "FP64", {1}});
    case Kind::bool_:
      return out.push_back({name, "BOOL", {1}});
    case Kind::string:
      return out.push_back({name, std::string(kBytes), {1}});
    case Kind::list:
      if (is_number(type->element()) || type->element()->is(Kind::string)) {
        std::vector<TensorInfo> one;
        describe(one, name, type->element());
        one[0].shape = {-1};
        return out.push_back(one[0]);
      }
      return out.push_back({name + ".*", "ANY", {}});
    case Kind::dict:
      return out.push_back({name + ".*", "ANY", {}});
    case Kind::tuple:
      for (size_t i = 0; i < type->contained().size(); ++i)
        describe(out, fmt::format("{}.{}", name, type->fields().empty() ? std::to_string(i) : type->fields()[i]),
                 type->contained()[i]);
      return;
    default:
      return out.push_back({name, "ANY", {}});
  }
}

void flatten(std::vector<WireTensor>& out, const std::string& name, const Value& v, bool top);

// "output_0" at the top, "name.0" below.
std::string part_name(const std::string& name, const std::string& part, bool top, bool named) {
  if (!top) return name + "." + part;
  return named ? part : name + "_" + part;
}

void flatten_list(std::vector<WireTensor>& out, const std::string& name, const Value& v, bool top) {
  const List& list = v.to_list();
  const auto count = static_cast<int64_t>(list.size());
  if (list.element_type()->is(Kind::string)) {
    std::vector<std::string> strings;
    for (size_t i = 0; i < list.size(); ++i) strings.push_back(list.get(i).to_string_ref());
    out.push_back(make_wire_strings(name, std::move(strings)));
  } else if (list.is_ints() || list.is_doubles() || list.is_bools()) {
    const Tensor t = empty_tensor({count}, list.is_ints()      ? DType::int64
                                           : list.is_doubles() ? DType::float64
                                                               : DType::bool_);
    for (int64_t i = 0; i < count; ++i) {
      const Value item = list.get(static_cast<size_t>(i));
      if (list.is_ints())
        t.data<int64_t>()[i] = item.to_int();
      else if (list.is_doubles())
        t.data<double>()[i] = item.to_double();
      else
        t.data<bool>()[i] = item.to_bool();
    }
    out.push_back(make_wire_tensor(name, t));
  } else {
    for (size_t i = 0; i < list.size(); ++i)
      flatten(out, part_name(name, std::to_string(i), top, false), list.get(i), false);
  }
}

void flatten(std::vector<WireTensor>& out, const std::string& name, const Value& v, bool top) {
  switch (v.tag()) {
    case Tag::none:
      return;
    case Tag::tensor:
      out.push_back(make_wire_tensor(name, v.to_tensor()));
      return;
    case Tag::boolean:
    case Tag::integer:
    case Tag::real: {
      const DType dtype = v.is_bool() ? DType::bool_ : v.is_int() ? DType::int64 : DType::float64;
      out.push_back(make_wire_tensor(name, scalar_tensor_of(v.to_scalar(), dtype).reshape({1})));
      return;
    }
    case Tag::string:
      out.push_back(make_wire_strings(name, {v.to_string_ref()}));
      return;
    case Tag::list:
      return flatten_list(out, name, v, top);
    case Tag::tuple: {
      const Tuple& tuple = v.to_tuple();
      const TypePtr type = v.type();
      const bool named = type->is(Kind::tuple) && !type->fields().empty();
      for (size_t i = 0; i < tuple.items.size(); ++i) {
        const std::string part = named ? type->fields()[i] : std::to_string(i);
        flatten(out, part_name(name, part, top, named), tuple.items[i], false);
      }
      return;
    }
    case Tag::dict:
      v.to_dict().for_each([&](const Value& key, const Value& item) {
        const std::string part = key.is_string() ? key.to_string_ref() : key.repr();
        flatten(out, part_name(name, part, top, true), item, false);
      });
      return;
    default:
      refuse(Code::unimplemented, "output '{}' is a {}, which the protocol has no words for", name,
             v.type()->annotation());
  }
}

// "INPUT__3" with its number; nothing for other names.
std::optional<size_t> numbered(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix) || name.size() == prefix.size() || name.size() > prefix.size() + 4) return {};
  size_t n = 0;
  for (const char c : name.substr(prefix.size())) {
    if (c < '0' || c > '9') return {};
    n = 10 * n + static_cast<size_t>(c - '0');
  }
  return n;
}

// Whether a block has nothing that could last, or be seen from outside.
bool is_straight(const ir::Block& block) {
  for (const ir::Node* n : block.nodes()) {
    const std::string& kind = n->kind().text();
    for (const char* other : {"prim::Loop", "prim::SetAttr", "prim::CallMethod", "prim::CallFunction", "prim::Print",
                              "prim::fork", "aten::wait"}) {
      if (kind == other) return false;
    }
    if (n->op() && n->op()->schema().is_mutable()) return false;
    for (const ir::Block* b : n->blocks()) {
      if (!is_straight(*b)) return false;
    }
  }
  return true;
}
bool is_straight(ir::Function& f) {
  f.ensure_defined();
  if (!f.has_graph()) return false;
  const std::shared_ptr<ir::Graph> graph = f.graph()->copy();
  passes::inline_calls(*graph);
  return is_straight(*graph->block());
}

// A number for dtypes and sizes of tensors and for other arguments; 0 where there is none.
uint64_t kind_of_arguments(const std::vector<Value>& args) {
  uint64_t h = 0xcbf29ce484222325;
  const auto mix = [&](uint64_t v) { h = (h ^ v) * 0x100000001b3 + (h >> 29); };
  for (const Value& v : args) {
    mix(static_cast<uint64_t>(v.tag()));
    if (v.is_tensor()) {
      const Tensor& t = v.to_tensor();
      mix(static_cast<uint64_t>(t.dtype()));
      for (const int64_t n : t.sizes()) mix(static_cast<uint64_t>(n));
    } else if (v.is_bool() || v.is_int() || v.is_double()) {
      mix(v.bits());
    } else if (!v.is_none()) {
      return 0;
    }
  }
  return h | 1;
}

}  // namespace

bool Method::is_short(const std::vector<Value>& args) const {
  const uint64_t last = short_.load(std::memory_order_relaxed);
  return last != 0 && last == kind_of_arguments(args);
}
void Method::remember(const std::vector<Value>& args, std::chrono::nanoseconds time) const {
  if (is_straight_) short_.store(time < kShort ? kind_of_arguments(args) : 0, std::memory_order_relaxed);
}

Method::Method(const jit::Module& module, const std::string& name)
    : name_(name),
      module_(module),
      function_(module.method(name)),
      is_forward_(name == "forward"),
      asks_for_gradients_(jit::asks_for_gradients(function_)),
      is_straight_(is_straight(function_.function())) {
  const Schema& schema = function_.schema();
  for (size_t i = 1; i < schema.arguments.size(); ++i) argument_names_.push_back(schema.arguments[i].name);
}

std::vector<TensorInfo> Method::inputs() const {
  std::vector<TensorInfo> out;
  const Schema& schema = function_.schema();
  for (size_t i = 1; i < schema.arguments.size(); ++i)
    describe(out, schema.arguments[i].name, schema.arguments[i].type);
  return out;
}

std::vector<TensorInfo> Method::outputs() const {
  std::vector<TensorInfo> out;
  const Schema& schema = function_.schema();
  if (schema.returns.empty()) return out;
  if (schema.returns.size() > 1) {
    for (size_t i = 0; i < schema.returns.size(); ++i)
      describe(out, fmt::format("output_{}", i), schema.returns[i].type);
    return out;
  }
  const TypePtr type = schema.returns[0].type;
  if (!type->is(Kind::tuple)) {
    if (!type->is(Kind::none)) describe(out, "output", type);
    return out;
  }
  for (size_t i = 0; i < type->contained().size(); ++i)
    describe(out, type->fields().empty() ? fmt::format("output_{}", i) : type->fields()[i], type->contained()[i]);
  return out;
}

std::vector<Value> Method::bind(InferRequest& request) const {
  for (WireTensor& t : request.inputs) {
    const auto n = numbered(t.name, "INPUT__");
    if (!n || std::find(argument_names_.begin(), argument_names_.end(), t.name) != argument_names_.end()) continue;
    if (*n >= argument_names_.size()) refuse("input '{}': the method has {} arguments", t.name, argument_names_.size());
    t.name = argument_names_[*n];
  }
  Inputs in(request);
  std::vector<Value> out;
  const Schema& schema = function_.schema();
  out.reserve(argument_names_.size());
  for (size_t i = 1; i < schema.arguments.size(); ++i) {
    const Argument& a = schema.arguments[i];
    if (a.default_value && !is_there(in, a.name)) {
      out.push_back(*a.default_value);
    } else {
      out.push_back(bind_one(in, a.name, a.type));
    }
  }
  if (const std::string* left = in.left())
    refuse("there is no input '{}': the method takes {}", left->substr(0, 100), fmt::join(argument_names_, ", "));
  return out;
}

Value Method::run(const std::vector<Value>& a) const {
  std::optional<InferenceMode> mode;
  if (!asks_for_gradients_) mode.emplace();
  // By number of arguments, so that calls that were planned are found at once.
  const auto call = [&](const auto& f) -> Value {
    switch (a.size()) {
      case 0:
        return f();
      case 1:
        return f(a[0]);
      case 2:
        return f(a[0], a[1]);
      case 3:
        return f(a[0], a[1], a[2]);
      case 4:
        return f(a[0], a[1], a[2], a[3]);
      default:
        return f.call(a);
    }
  };
  return is_forward_ ? call(module_) : call(function_);
}

std::vector<WireTensor> flatten_result(const Value& result) {
  std::vector<WireTensor> out;
  flatten(out, "output", result, true);
  return out;
}

std::vector<WireTensor> choose_outputs(std::vector<WireTensor> outputs, const std::vector<RequestedOutput>& wanted) {
  if (wanted.empty()) return outputs;
  std::vector<WireTensor> out;
  for (const RequestedOutput& w : wanted) {
    auto at = std::find_if(outputs.begin(), outputs.end(), [&](const WireTensor& t) { return t.name == w.name; });
    if (at == outputs.end()) {
      if (const auto n = numbered(w.name, "OUTPUT__"); n && *n < outputs.size())
        at = outputs.begin() + static_cast<std::ptrdiff_t>(*n);
    }
    if (at == outputs.end()) {
      std::vector<std::string_view> names;
      for (const WireTensor& t : outputs) names.push_back(t.name);
      refuse("there is no output '{}': the method gives {}", w.name.substr(0, 100), fmt::join(names, ", "));
    }
    out.push_back(*at);
    out.back().name = w.name;
  }
  return out;
}

}  // namespace sconce::server
