#include "sconce/tracing/tracer.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "sconce/base/error.h"
#include "sconce/dispatch/registry.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/tracing/cells.h"
#include "sconce/tracing/scopes.h"
#include "sconce/types/class_info.h"
#include "sconce/types/tensor_facts.h"

namespace sconce::tracing {
namespace {

thread_local Tracer* current_tracer = nullptr;
thread_local CallHook* current_hook = nullptr;

constexpr const char* kStrictMessage =
    " might cause the trace to be incorrect, this is only valid if the container structure does not change based on "
    "the "
    "module's inputs. Consider using a constant container instead (e.g. for `list`, use a `tuple` instead. for `dict`, "
    "use a `NamedTuple` instead). If you absolutely need this and know the side effects, pass strict=False to trace() "
    "to allow this behavior.";

// Where a function's graph keeps the one with facts: on its return node, which copies leave behind.
constexpr const char* kTracedGraph = "traced";

// What PyTorch's tracer sees through: their parts are recorded.
constexpr std::array<std::string_view, 7> kOpened = {
    "aten::conv1d",           "aten::conv2d",           "aten::conv3d",    "aten::conv_transpose1d",
    "aten::conv_transpose2d", "aten::conv_transpose3d", "aten::_coalesced"};

bool holds_tensor(TypePtr type) {
  if (type->is(TypeKind::optional) || type->is(TypeKind::list)) return holds_tensor(type->element());
  return type->is(TypeKind::tensor);
}

TypePtr refined(const Tensor& t) { return refined_tensor_type(facts_of(t)); }

void run_below(const Op& op, KeySet keys, Value* args, Value* returns) {
  op.redispatch_boxed(keys & KeySet::below(Key::tracer), args, returns);
}

void trace_kernel(const Op& op, KeySet keys, Value* args, Value* returns) {
  if (current_hook) return current_hook->call(op, keys, args, returns);
  if (Tracer* tracer = Tracer::current()) return tracer->record(op, keys, args, returns);
  run_below(op, keys, args, returns);
}

void set_kernel() {
  static const bool is_set = (set_fallback(Key::tracer, trace_kernel), true);
  static_cast<void>(is_set);
}

// Calls of this thread have Key::tracer, or not.
void set_seen(bool on) {
  const uint16_t bit = KeySet(Key::tracer).bits();
  thread_modes.include = static_cast<uint16_t>(on ? thread_modes.include | bit : thread_modes.include & ~bit);
}

const void* identity(const Value& v) {
  if (v.is_tensor()) return v.to_tensor().impl();
  if (v.is_object()) return &v.to_object();
  return nullptr;
}

// Is it, or does it contain, a tensor or an object: something that a trace must not keep as a constant?
bool holds_traced(const Value& v) {
  if (v.is_tensor() || v.is_object()) return true;
  if (v.is_list()) {
    if (v.to_list().is_tensors()) return true;
    const std::vector<Value> items = v.to_list().values();
    return std::any_of(items.begin(), items.end(), holds_traced);
  }
  if (v.is_tuple()) return std::any_of(v.to_tuple().items.begin(), v.to_tuple().items.end(), holds_traced);
  if (!v.is_dict()) return false;
  const auto items = v.to_dict().items();
  return std::any_of(items.begin(), items.end(),
                     [](const auto& item) { return holds_traced(item.first) || holds_traced(item.second); });
}

const Op& op_named(const char* name) {
  const Op* op = find_op(name);
  SCONCE_ASSERT(op);
  return *op;
}

}  // namespace

Tracer* Tracer::current() { return current_tracer; }

Tracer::Tracer(const TraceOptions& options)
    : graph_(std::make_shared<ir::Graph>()), strict_(options.strict), host_(options.host) {}
Tracer::~Tracer() = default;

void Tracer::warn(const std::string& text) const {
  if (host_.warn) return host_.warn(text);
  std::fprintf(stderr, "TracerWarning: %s\n", text.c_str());
}

// ---- nodes ----

ir::Node* Tracer::insert(ir::Node* node, bool with_place) {
  node->set_scope(scope_);
  if (with_place && host_.place) node->set_range(host_.place());
  return graph_->insert(node);
}

ir::Value* Tracer::constant(Value v) { return insert(graph_->create_constant(std::move(v)), true)->output(); }
ir::Value* Tracer::none() { return insert(graph_->create_constant({}), false)->output(); }

ir::Value* Tracer::list_of(TypePtr element, const std::vector<ir::Value*>& items) {
  ir::Node* node = graph_->create(ir::kind::ListConstruct, items, 1);
  node->output()->set_type(list_type(element));
  return insert(node, false)->output();
}

ir::Value* Tracer::known(const void* identity) {
  const auto found = known_.find(identity);
  return found == known_.end() ? nullptr : found->second.value;
}

ir::Value* Tracer::value_of(const Value& v) {
  if (v.is_list() && holds_traced(v)) {
    std::vector<ir::Value*> items;
    for (const Value& item : v.to_list().values()) items.push_back(value_of(item));
    return list_of(v.to_list().element_type(), items);
  }
  if (v.is_dict() && holds_traced(v)) {
    std::vector<ir::Value*> items;
    for (const auto& [key, item] : v.to_dict().items()) {
      items.push_back(value_of(key));
      items.push_back(value_of(item));
    }
    ir::Node* node = graph_->create(ir::kind::DictConstruct, items, 1);
    node->output()->set_type(v.type());
    return insert(node, false)->output();
  }
  if (v.is_tuple()) {
    std::vector<ir::Value*> items;
    std::vector<TypePtr> types;
    for (const Value& item : v.to_tuple().items) {
      items.push_back(value_of(item));
      types.push_back(items.back()->type());
    }
    ir::Node* node = graph_->create(ir::kind::TupleConstruct, items, 1);
    const TypePtr named = v.to_tuple().named_type;
    node->output()->set_type(named ? named : tuple_type(types));
    return insert(node, false)->output();
  }
  if (v.is_object()) {
    ir::Value* found = known(identity(v));
    SCONCE_CHECK(
        found,
        "Tried to trace {} but it is not part of the active trace. Modules that are called during a trace must "
        "be registered as submodules of the thing being traced.",
        v.repr());
    return found;
  }
  if (!v.is_tensor()) return v.is_none() ? none() : constant(v);
  const Tensor& t = v.to_tensor();
  if (ir::Value* found = known(t.impl())) {
    if (!found->has_name() && host_.name) {
      if (const std::string name = host_.name(t); !name.empty()) found->set_name(name);
    }
    return found;
  }
  if (t.requires_grad()) {
    const Paused unrecorded;
    fail(
        "Cannot insert a Tensor that requires grad as a constant. Consider making it a parameter or input, or "
        "detaching "
        "the gradient\nTensor:\n{}",
        t.to_string());
  }
  ir::Value* made = constant(v);
  made->set_type(refined(t));
  known_[t.impl()] = {v, made};
  return made;
}

void Tracer::set_value(const Value& v, ir::Value* value) {
  if (const void* id = identity(v)) {
    known_[id] = {v, value};
    const TensorFacts* facts = value->type()->tensor_facts();
    if (v.is_tensor() && value->type()->is(TypeKind::tensor) && !(facts && facts->sizes))
      value->set_type(refined(v.to_tensor()));
  } else if (v.is_tuple() || v.is_list()) {
    const std::vector<Value> items = v.is_tuple() ? v.to_tuple().items : v.to_list().values();
    ir::Node* unpack =
        graph_->create(v.is_tuple() ? ir::kind::TupleUnpack : ir::kind::ListUnpack, {value}, items.size());
    insert(unpack, false);
    for (size_t i = 0; i < items.size(); ++i) {
      unpack->output(i)->set_type(items[i].type());
      set_value(items[i], unpack->output(i));
    }
  } else if (v.is_dict()) {
    const auto items = v.to_dict().items();
    const Op* op = ir::resolve_op(ir::Symbol("aten::values"), {value->type()});
    SCONCE_CHECK(op, "a dict with keys of type {} cannot be a result in a trace", v.to_dict().key_type()->annotation());
    ir::Node* values = graph_->create(*op, {value});
    values->output()->set_type(list_type(v.to_dict().value_type()));
    insert(values, false);
    ir::Node* unpack = graph_->create(ir::kind::ListUnpack, {values->output()}, items.size());
    insert(unpack, false);
    for (size_t i = 0; i < items.size(); ++i) {
      unpack->output(i)->set_type(items[i].second.type());
      set_value(items[i].second, unpack->output(i));
    }
  } else {
    fail("Tracer cannot set value trace for type {}. Supported types are tensor, tensor list, and tuple of tensors.",
         v.type()->annotation());
  }
}

ir::Value* Tracer::result(const Value& v) {
  const auto parts = [&](const std::vector<Value>& items) {
    std::vector<ir::Value*> values;
    for (const Value& item : items) values.push_back(result(item));
    return values;
  };
  if (v.is_none()) return none();
  if (v.is_tensor()) {
    if (ir::Value* found = known(identity(v))) return found;
    const Paused unrecorded;
    fail(
        "output 1 ({}) of traced region did not have observable data dependence with trace inputs; this probably "
        "indicates your program cannot be understood by the tracer.",
        v.to_tensor().to_string());
  }
  if (v.is_list() && v.to_list().is_tensors()) {
    if (strict_) warn(std::string("Encountering a list at the output of the tracer") + kStrictMessage);
    return list_of(tensor_type(), parts(v.to_list().values()));
  }
  if (v.is_tuple()) {
    const std::vector<ir::Value*> items = parts(v.to_tuple().items);
    std::vector<TypePtr> types;
    for (const ir::Value* item : items) types.push_back(item->type());
    ir::Node* node = graph_->create(ir::kind::TupleConstruct, items, 1);
    const TypePtr named = v.to_tuple().named_type;
    node->output()->set_type(named ? named : tuple_type(types));
    return insert(node, false)->output();
  }
  if (v.is_dict()) {
    SCONCE_CHECK(!strict_, "Encountering a dict at the output of the tracer{}", kStrictMessage);
    const Dict& dict = v.to_dict();
    SCONCE_CHECK(dict.value_type()->is(TypeKind::tensor) &&
                     (dict.key_type()->is(TypeKind::string) || dict.key_type()->is(TypeKind::tensor)),
                 "output 1 ({}) of traced region cannot be understood by the tracer, only dict[str, Tensor] or "
                 "dict[Tensor, Tensor] can be a dictionary output of a traced function",
                 v.repr());
    std::vector<ir::Value*> items;
    for (const auto& [key, item] : dict.items()) {
      items.push_back(value_of(key));
      items.push_back(result(item));
    }
    ir::Node* node = graph_->create(ir::kind::DictConstruct, items, 1);
    node->output()->set_type(v.type());
    return insert(node, false)->output();
  }
  fail("Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced functions");
}

// ---- inputs ----

namespace {

// The type of an input, with all that is known of its tensors outside of lists and dicts.
TypePtr input_type(const Value& v) {
  if (v.is_tensor()) return refined(v.to_tensor());
  if (!v.is_tuple() || v.to_tuple().named_type) return v.type();
  std::vector<TypePtr> types;
  for (const Value& item : v.to_tuple().items) types.push_back(input_type(item));
  return tuple_type(types);
}

}  // namespace

Value Tracer::add_input(const Value& v, ir::Value* value) {
  if (v.is_tensor()) {
    Tensor t = v.to_tensor();
    if (known(t.impl())) {
      const Paused unrecorded;
      t = shallow_copy(t);
    }
    value->set_type(refined(t));
    set_value(t, value);
    return t;
  }
  value->set_type(input_type(v));
  if (v.is_tuple()) {
    std::vector<Value> items = v.to_tuple().items;
    ir::Node* unpack = insert(graph_->create(ir::kind::TupleUnpack, {value}, items.size()), false);
    for (size_t i = 0; i < items.size(); ++i) items[i] = add_input(items[i], unpack->output(i));
    return Value(make_ref<Tuple>(std::move(items), v.to_tuple().named_type));
  }
  if (v.is_list()) {
    const List& list = v.to_list();
    ir::Node* unpack = insert(graph_->create(ir::kind::ListUnpack, {value}, list.size()), false);
    auto made = make_ref<List>(list.element_type());
    for (size_t i = 0; i < list.size(); ++i) {
      unpack->output(i)->set_type(list.element_type());
      made->append(add_input(list.get(i), unpack->output(i)));
    }
    return Value(std::move(made));
  }
  if (v.is_dict()) {
    const TypePtr item_type = v.to_dict().value_type();
    auto made = make_ref<Dict>(v.to_dict().key_type(), item_type);
    for (const auto& [key, item] : v.to_dict().items()) {
      ir::Value* key_value = value_of(key);
      const Op* get = ir::resolve_op(ir::Symbol("aten::__getitem__"), {value->type(), key_value->type()});
      SCONCE_CHECK(get, "a dict with keys of type {} cannot be an input of a trace",
                   v.to_dict().key_type()->annotation());
      ir::Node* node = graph_->create(*get, {value, key_value});
      node->output()->set_type(item_type);
      made->set(key, add_input(item, insert(node, true)->output()));
    }
    return Value(std::move(made));
  }
  fail_as(ErrorKind::runtime,
          "Type '{}' cannot be traced. Only Tensors and (possibly nested) Lists, Dicts, and Tuples of Tensors can be "
          "traced",
          v.type()->annotation());
}

void Tracer::add_self(const Value& object) {
  ir::Value* self = graph_->add_input(object.type(), "self");
  known_[identity(object)] = {object, self};
  add_attributes(object, "__module");
}

void Tracer::add_attributes(const Value& object, const std::string& path) {
  const Object& module = object.to_object();
  const auto& attributes = module.type()->class_info()->attributes;
  for (size_t i = 0; i < attributes.size(); ++i) {
    const Value& v = module.slot(i);
    const bool is_module = v.is_object() && v.to_object().type()->class_info()->is_module;
    if (!v.is_tensor() && !is_module) continue;
    const std::string name = path + "." + attributes[i].name;
    ir::Node* node = graph_->create(kTracedAttribute, {}, 1);
    node->set_attribute("scope", Value(name));
    graph_->insert(node);
    if (v.is_tensor()) {
      if (!known(v.to_tensor().impl())) set_value(v, node->output());
      continue;
    }
    node->output()->set_type(v.type());
    known_.try_emplace(identity(v), Known{v, node->output()});
    add_attributes(v, name);
  }
}

// ---- sizes and numbers ----

Tensor Tracer::number_tensor(int64_t v, ir::Value* number) {
  ir::Node* node = graph_->create(op_named("prim::NumToTensor.Scalar"), {number});
  insert(node, false);
  TensorFacts facts;
  facts.dtype = DType::int64;
  facts.device = Device{};
  facts.sizes.emplace();
  facts.strides.emplace();
  node->output()->set_type(refined_tensor_type(facts));
  const Paused unrecorded;
  Tensor t = scalar_tensor_of(v, DType::int64);
  known_[t.impl()] = {t, node->output()};
  return t;
}

Tensor Tracer::size_of(const Tensor& t, int64_t dim) {
  const int64_t size = t.size(dim);
  ir::Value* of = value_of(t);
  ir::Value* which = constant(dim);
  ir::Node* node = insert(graph_->create(op_named("aten::size.int"), {of, which}), true);
  return number_tensor(size, node->output());
}

Tensor Tracer::numel_of(const Tensor& t) {
  ir::Node* node = insert(graph_->create(op_named("aten::numel"), {value_of(t)}), true);
  return number_tensor(t.numel(), node->output());
}

ir::Value* Tracer::insert_after_maker(const char* op, ir::Value* of, TypePtr type) {
  ir::Node* maker = of->node();
  ir::Node* node = graph_->create(op_named(op), {of});
  node->output()->set_type(type);
  node->set_scope(scope_);
  node->insert_after(maker);
  return node->output();
}

void Tracer::stash(const std::string& argument, const Tensor& t, TypePtr type) {
  ir::Value* of = value_of(t);
  if (type->is(TypeKind::int_)) {
    numbers_[argument] = insert_after_maker("aten::Int.Tensor", of, int_type());
  } else if (type->is(TypeKind::float_)) {
    numbers_[argument] = insert_after_maker("aten::Float.Tensor", of, float_type());
  } else {
    numbers_[argument] = insert_after_maker("aten::ScalarImplicit", of, number_type());
  }
}

void Tracer::stash(const std::string& argument, size_t size, size_t index, const Tensor& t) {
  std::vector<ir::Value*>& list = lists_[argument];
  list.resize(size);
  list[index] = insert_after_maker("aten::Int.Tensor", value_of(t), int_type());
}

void Tracer::clear_stash() {
  numbers_.clear();
  lists_.clear();
}

// ---- modules ----

void Tracer::enter_module(const std::string& path) {
  ir::Node* call = graph_->create(kTracedCall);
  call->set_attribute("scope", Value(path));
  scopes_.push_back(scope_);
  scope_ += (scope_.empty() ? "" : "/") + path;
  insert(call, false);
  graph_->set_insert_point(call->add_block());
}

void Tracer::leave_module() {
  scope_ = scopes_.back();
  scopes_.pop_back();
  graph_->set_insert_point(graph_->insert_point()->block()->owner()->next());
}

// ---- calls ----

ir::Value* Tracer::stashed(const Argument& a) {
  const auto found = numbers_.find(a.name);
  if (found == numbers_.end()) return nullptr;
  ir::Value* v = found->second;
  numbers_.erase(found);
  return v;
}

ir::Value* Tracer::list_argument(const Argument& a, TypePtr type, const Value& v) {
  const TypePtr element = plain_type(type->element());
  const List& list = v.to_list();
  std::vector<ir::Value*> items(list.size());
  if (const auto found = lists_.find(a.name); found != lists_.end()) {
    if (found->second.size() == items.size()) items = found->second;
    lists_.erase(found);
  }
  for (size_t i = 0; i < items.size(); ++i) {
    if (!items[i]) items[i] = value_of(list.get(i));
  }
  return list_of(element, items);
}

ir::Value* Tracer::argument(const Argument& a, const Value& v) {
  TypePtr type = a.type->is(TypeKind::optional) ? a.type->element() : a.type;
  if (v.is_none()) return none();
  switch (type->kind()) {
    case TypeKind::generator:
      fail("Found an unsupported argument type in the JIT tracer: at::Generator. File a bug report.");
    case TypeKind::list:
      return list_argument(a, type, v);
    case TypeKind::int_:
    case TypeKind::sym_int:
    case TypeKind::number:
    case TypeKind::float_:
    case TypeKind::sym_float:
      if (ir::Value* found = stashed(a)) return found;
      return constant(v);
    default:
      return value_of(v);
  }
}

void Tracer::set_results(ir::Node* node, const Op& op, const Value* returns, bool differentiated) {
  const std::vector<Argument>& types = op.schema().returns;
  for (size_t i = 0; i < types.size(); ++i) {
    ir::Value* out = node->output(i);
    if (returns[i].is_tensor()) {
      TensorFacts facts = facts_of(returns[i].to_tensor());
      if (!differentiated) facts.requires_grad = false;
      out->set_type(refined_tensor_type(facts));
      known_[returns[i].to_tensor().impl()] = {returns[i], out};
    } else if (returns[i].is_list()) {
      const List& list = returns[i].to_list();
      ir::Node* unpack = insert(graph_->create(ir::kind::ListUnpack, {out}, list.size()), false);
      for (size_t k = 0; k < list.size(); ++k) {
        const Value item = list.get(k);
        if (!item.is_tensor()) continue;
        unpack->output(k)->set_type(refined(item.to_tensor()));
        known_[item.to_tensor().impl()] = {item, unpack->output(k)};
      }
    }
  }
}

void Tracer::record(const Op& called, KeySet keys, Value* args, Value* returns) {
  static const Op& convolution = op_named("aten::convolution");
  static const Op& recorded_convolution = op_named("aten::_convolution");
  const std::vector<Argument>& results = called.schema().returns;
  if (std::find(kOpened.begin(), kOpened.end(), called.info.name) != kOpened.end())
    return run_below(called, keys, args, returns);
  if (run_cell(called, args, returns)) return;
  if (std::none_of(results.begin(), results.end(), [](const Argument& r) { return holds_tensor(r.type); })) {
    const Paused unrecorded;
    return run_below(called, keys, args, returns);
  }
  const bool is_convolution = &called == &convolution;
  const Op& op = is_convolution ? recorded_convolution : called;
  // One that fails is not part of the graph: the node is placed first, as its arguments are, and taken out again.
  std::vector<ir::Value*> inputs;
  for (size_t i = 0; i < called.schema().arguments.size(); ++i)
    inputs.push_back(argument(called.schema().arguments[i], args[i]));
  if (is_convolution) {
    // benchmark, deterministic, cudnn_enabled, allow_tf32
    for (const bool flag : {false, false, true, true}) inputs.push_back(constant(flag));
  }
  ir::Node* node = insert(graph_->create(op, inputs), true);
  // broadcast_tensors gives PyTorch the tensor itself where nothing is broadcast: it has the new value from then on.
  static const Op& broadcast = op_named("aten::broadcast_tensors");
  const Value given = &called == &broadcast ? args[0] : Value();
  {
    const Paused unrecorded;
    run_below(called, keys, args, returns);
  }
  set_results(node, op, returns, !is_convolution);
  if (given.is_none()) return;
  const TensorList before = given.to_list().tensors(), after = returns[0].to_list().tensors();
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i].sizes() == after[i].sizes()) known_[before[i].impl()] = {before[i], known(after[i].impl())};
  }
}

Value Tracer::record_call(ir::Function& f, const std::vector<Value>& args, const std::function<Value()>& run) {
  std::vector<ir::Value*> inputs;
  const bool is_method = f.self_type() != nullptr;
  if (!is_method) {
    ir::Node* callee = graph_->create(ir::kind::Constant, {}, 1);
    callee->output()->set_type(function_type(f.name()));
    callee->set_attribute("name", Value(f.short_name()));
    callee->set_callee(&f);
    inputs.push_back(insert(callee, false)->output());
  }
  for (const Value& v : args) inputs.push_back(value_of(v));
  ir::Node* call = graph_->create(is_method ? ir::kind::CallMethod : ir::kind::CallFunction, inputs, 1);
  if (is_method) call->set_attribute("name", Value(f.short_name()));
  call->set_callee(&f);
  call->output()->set_type(plain_type(f.schema().returns.at(0).type));
  insert(call, true);
  Value result;
  {
    const Paused unrecorded;
    result = run();
  }
  if (!result.is_none()) set_value(result, call->output());
  return result;
}

// ---- traces ----

CallHook::~CallHook() = default;

HookScope::HookScope(CallHook& hook)
    : outer_(std::exchange(current_hook, &hook)), was_on_(thread_modes.include & KeySet(Key::tracer).bits()) {
  set_kernel();
  set_seen(true);
}
bool HookScope::is_active() { return current_hook != nullptr; }
HookScope::~HookScope() {
  current_hook = outer_;
  set_seen(was_on_);
}

Paused::Paused() : tracer_(std::exchange(current_tracer, nullptr)), hook_(std::exchange(current_hook, nullptr)) {
  if (tracer_ || hook_) set_seen(false);
}
Paused::~Paused() {
  current_tracer = tracer_;
  current_hook = hook_;
  if (tracer_ || hook_) set_seen(true);
}

namespace {

class Recording {
 public:
  explicit Recording(Tracer& tracer) : modes_(KeySet(Key::tracer), {}) { current_tracer = &tracer; }
  ~Recording() { current_tracer = nullptr; }

 private:
  ModeGuard modes_;
};

TypePtr without_facts(TypePtr type) {
  if (type->is(TypeKind::tensor)) return tensor_type();
  std::vector<TypePtr> parts;
  for (TypePtr part : type->contained()) parts.push_back(without_facts(part));
  switch (type->kind()) {
    case TypeKind::tuple:
      return type->name().empty() ? tuple_type(parts) : named_tuple_type(type->name(), parts, type->fields());
    case TypeKind::list:
      return list_type(parts[0]);
    case TypeKind::optional:
      return optional_type(parts[0]);
    case TypeKind::dict:
      return dict_type(parts[0], parts[1]);
    default:
      return type;
  }
}

void erase_facts(const ir::Block& block) {
  for (ir::Value* v : block.inputs()) v->set_type(without_facts(v->type()));
  for (ir::Node* node : block.nodes()) {
    for (ir::Value* v : node->outputs()) v->set_type(without_facts(v->type()));
    for (const ir::Block* inner : node->blocks()) erase_facts(*inner);
  }
}

}  // namespace

Trace trace(const TracedFunction& f, std::vector<Value> inputs, const TraceOptions& options, const Value& self,
            ir::CompilationUnit* unit) {
  SCONCE_CHECK(!Tracer::current(), "Tracing can't be nested");
  set_kernel();
  Tracer tracer(options);
  Trace made;
  {
    const Recording recording(tracer);
    if (!self.is_none()) tracer.add_self(self);
    const bool named = options.argument_names.size() >= inputs.size();
    for (size_t i = 0; i < inputs.size(); ++i) {
      ir::Value* value =
          tracer.graph().add_input(tensor_type(), named ? std::string_view(options.argument_names[i]) : "");
      inputs[i] = tracer.add_input(inputs[i], value);
    }
    made.result = f(std::move(inputs));
    tracer.graph().add_output(tracer.result(made.result));
  }
  made.graph = tracer.shared_graph();
  scopes_to_methods(made.graph, self.is_none() ? nullptr : unit);
  return made;
}

ir::Function& define_traced(ir::CompilationUnit& unit, std::string name, std::shared_ptr<ir::Graph> graph,
                            TypePtr self_type) {
  Schema schema;
  ir::Function& f = unit.add_function(std::move(name));
  schema.name = std::string(f.short_name());
  for (size_t i = 0; i < graph->inputs().size(); ++i) {
    const ir::Value* v = graph->inputs()[i];
    Argument a;
    a.name = v->has_name() ? std::string(v->base_name()) : "argument_" + std::to_string(i);
    a.type = without_facts(v->type());
    schema.arguments.push_back(std::move(a));
  }
  Argument result;
  result.type = without_facts(graph->outputs().at(0)->type());
  schema.returns.push_back(std::move(result));
  f.set_schema(std::move(schema));
  const std::shared_ptr<ir::Graph> runs = graph->copy();
  erase_facts(*runs->block());
  runs->block()->return_node()->set_attribute(kTracedGraph, std::move(graph));
  f.set_graph(runs);
  if (self_type) {
    f.set_self_type(self_type);
    self_type->class_info()->methods.emplace_back(std::string(f.short_name()), &f);
  }
  return f;
}

std::shared_ptr<ir::Graph> traced_graph(ir::Function& f) {
  const ir::AttributeValue* held = f.has_graph() ? f.graph()->block()->return_node()->attribute(kTracedGraph) : nullptr;
  return held ? std::get<std::shared_ptr<ir::Graph>>(*held) : nullptr;
}

}  // namespace sconce::tracing
