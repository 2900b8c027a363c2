#include "capture/graph/graph_recorder.h"

#include "capture/graph/compiled_graph.h"
#include "sconce/autograd/autocast_mode.h"
#include "sconce/autograd/graph/inference_saves.h"
#include "sconce/autograd/variable.h"
#include "sconce/base/error.h"
#include "sconce/dispatch/registry.h"
#include "sconce/sconce.hpp"
#include "sconce/tensor/grad_mode.h"
#include "sconce/tensor/math_bits.h"
#include "small_objects.h"
#include "tensor_object.h"
#include "values.h"

namespace sconce::python::capture {
namespace {

const Device kMeta{DeviceType::meta};

bool holds_tensor(TypePtr type) {
  if (type->is(TypeKind::optional) || type->is(TypeKind::list)) return holds_tensor(type->element());
  return type->is(TypeKind::tensor);
}

const Op& op_named(const char* name) {
  const Op* op = find_op(name);
  SCONCE_ASSERT(op);
  return *op;
}

// What the operators of a graph cannot be, and why.
const char* refusal(const Op& op) {
  if (op.has(Trait::runs_backward)) return "gradients are computed inside of the function";
  return nullptr;
}

// The class of fakes for PyTorch's tensors of a class; null: of torch.Tensor itself.
PyTypeObject* torch_class(PyObject* helper, PyTypeObject* type) {
  static PyTypeObject* plain = nullptr;
  if (type == nullptr && plain != nullptr) return plain;
  Owned of;
  if (type == nullptr) {
    const Owned torch = Owned::take(PyImport_ImportModule("torch"));
    of = Owned::take(PyObject_GetAttrString(torch.get(), "Tensor"));
  } else {
    of = Owned::share(reinterpret_cast<PyObject*>(type));
  }
  const Owned made = Owned::take(PyObject_CallMethod(helper, "fake_class", "O", of.get()));
  auto* found = reinterpret_cast<PyTypeObject*>(made.get());  // lives on, in the helper's table
  if (type == nullptr) plain = found;
  return found;
}

// sconce::set_autocast: of graphs alone, so it is made where they are.
const Op& set_autocast_op() {
  static const Op& made = [&]() -> const Op& {
    Op& op = define_op("sconce::set_autocast(bool enabled, ScalarType dtype, bool cache) -> ()");
    op.set_kernel(Key::cpu, SCONCE_BOXED_KERNEL([](const Op&, KeySet, Value* args, Value*) {
                    autograd::set_autocast(args[0].to_bool(), static_cast<DType>(args[1].to_int()));
                    autograd::set_autocast_cache(args[2].to_bool());
                  }));
    return op;
  }();
  return made;
}

// The same for torch.set_default_dtype.
const Op& set_default_dtype_op() {
  static const Op& made = []() -> const Op& {
    Op& op = define_op("sconce::set_default_dtype(ScalarType dtype) -> ()");
    op.set_kernel(Key::cpu, SCONCE_BOXED_KERNEL([](const Op&, KeySet, Value* args, Value*) {
                    set_default_dtype(static_cast<DType>(args[0].to_int()));
                  }));
    return op;
  }();
  return made;
}

// Graphs that begin in inference mode: a transform of functions keeps inference tensors in them.
const Op& save_inference_op() {
  static const Op& made = []() -> const Op& {
    Op& op = define_op("sconce::set_saves_inference_tensors(bool allowed) -> ()");
    op.set_kernel(Key::cpu, SCONCE_BOXED_KERNEL([](const Op&, KeySet, Value* args, Value*) {
                    autograd::set_saves_inference_tensors(args[0].to_bool());
                  }));
    return op;
  }();
  return made;
}

const Op& clear_autocast_cache_op() {
  static const Op& made = []() -> const Op& {
    Op& op = define_op("sconce::clear_autocast_cache() -> ()");
    op.set_kernel(Key::cpu,
                  SCONCE_BOXED_KERNEL([](const Op&, KeySet, Value*, Value*) { autograd::clear_autocast_cache(); }));
    return op;
  }();
  return made;
}

// The same order of dimensions in memory with other sizes; strides with gaps stay.
std::vector<int64_t> strides_for(const Tensor& t, IntList sizes) {
  std::vector<int64_t> strides(t.strides().begin(), t.strides().end());
  if (!t.is_dense()) return strides;
  std::vector<size_t> order(sizes.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return t.strides()[a] != t.strides()[b] ? t.strides()[a] < t.strides()[b] : a > b;
  });
  int64_t step = 1;
  for (const size_t i : order) {
    strides[i] = step;
    step *= sizes[i];
  }
  return strides;
}

void add_twins(const Tensor& original, const std::vector<Witnesses>& sizes, std::array<Tensor, kWitnesses>& twins) {
  const tracing::Paused unrecorded;
  for (size_t w = 0; w < kWitnesses; ++w) {
    std::vector<int64_t> of_witness;
    for (const Witnesses& dim : sizes) of_witness.push_back(dim[w]);
    if (IntList(of_witness) == original.sizes()) continue;
    twins[w] = empty_strided_tensor(of_witness, strides_for(original, of_witness), original.dtype(), kMeta);
    take_math_bits(*twins[w].impl(), *original.impl());
  }
}

bool same_geometry(const Tensor& a, const Tensor& b) { return a.sizes() == b.sizes() && a.strides() == b.strides(); }

// Answers of a query, compared: numbers and lists of numbers.
bool same_answer(const Value& a, const Value& b) {
  if (a.is_list() && b.is_list()) {
    if (a.to_list().size() != b.to_list().size()) return false;
    for (size_t i = 0; i < a.to_list().size(); ++i)
      if (!same_answer(a.to_list().get(i), b.to_list().get(i))) return false;
    return true;
  }
  if (a.is_int() && b.is_int()) return a.to_int() == b.to_int();
  if (a.is_bool() && b.is_bool()) return a.to_bool() == b.to_bool();
  return a.repr() == b.repr();
}

}  // namespace

GraphRecorder::GraphRecorder(PyObject* backend, PyObject* options)
    : backend_(Owned::share(backend ? backend : Py_None)), options_(Owned::share(options ? options : Py_None)) {
  scope_.emplace(static_cast<tracing::CallHook&>(*this));
  symbols_.claim = [this](int comparison, const SymNumber& a, const SymNumber& b, bool holds) {
    SizeClaim made{SizeClaim::Kind::compare};
    for (const SymNumber* n : {&a, &b})
      made.inputs.push_back(n->value ? n->value : constant(n->hint.is_float ? Value(n->hint.d) : Value(n->hint.i)));
    made.comparison = comparison;
    made.answers.emplace_back(int64_t{holds});
    claims_.push_back(std::move(made));
  };
}
GraphRecorder::~GraphRecorder() {
  modes_at_start_.restore();
  if (!modes_at_start_.autocast) autograd::clear_autocast_cache();
}

std::unique_ptr<Recorder> make_recorder(PyObject* backend, PyObject* options) {
  return std::make_unique<GraphRecorder>(backend, options);
}

// ---- fakes ----

const GraphRecorder::Known* GraphRecorder::known(PyObject* object) const {
  if (!is_tensor(object)) return nullptr;
  const auto found = known_.find(tensor_of(object).impl());
  return found == known_.end() ? nullptr : &found->second;
}
bool GraphRecorder::is_fake(PyObject* object) const { return known(object) || sym_number(object); }
SourceId GraphRecorder::source_of(PyObject* fake) const {
  const Known* found = known(fake);
  return found ? found->source : kNoSource;
}
PyObject* GraphRecorder::original(PyObject* fake) const {
  const Known* found = known(fake);
  return found ? found->original.get() : nullptr;
}

// A Meta tensor that looks as the program's does.
GraphRecorder::Known& GraphRecorder::add_fake(const Tensor& original, ir::Value* value, std::optional<Look> look) {
  if (original.layout() != Layout::strided || is_quantized(original.dtype()))
    throw NotRecordable{"a sparse or quantised tensor cannot be an input of a graph"};
  const tracing::Paused unrecorded;
  const InferenceMode normal(false);
  const bool is_leaf = look ? look->is_leaf : autograd::is_leaf(original);
  Tensor fake = empty_strided_tensor(original.sizes(), original.strides(), original.dtype(), kMeta);
  if (look ? look->requires_grad : original.requires_grad()) {
    autograd::set_requires_grad(fake, true);
    if (!is_leaf) {
      const EnableGrad recorded;
      fake = fake.clone();
    }
  }
  take_math_bits(*fake.impl(), *original.impl());
  if (original.is_wrapped_number()) fake.set_wrapped_number();
  Known& made = known_[fake.impl()];
  made.kept = fake;
  made.value = value;
  made.device = original.device();
  if (original.is_meta())
    meta_is_real_ = true;
  else if (known_.size() == 1)
    home_ = original.device();
  made.is_leaf = is_leaf;
  return made;
}

PyObject* GraphRecorder::input(PyObject* tensor, SourceId source, const std::string& name, uint64_t free_dims) {
  if (const auto found = fakes_.find(tensor); found != fakes_.end()) return found->second;
  const bool of_torch = !is_tensor(tensor);
  Look look{};
  const Tensor original = of_torch ? borrow(tensor, look) : tensor_of(tensor);
  ir::Value* value = graph_->block()->insert_input(sources_.size(), sconce::tensor_type());
  Known& made = add_fake(original, value, of_torch ? std::optional(look) : std::nullopt);
  made.source = source;
  made.original = Owned::share(tensor);
  made.object = wrap_as(of_torch ? torch_class(torch_.get(), Py_TYPE(tensor)) : Py_TYPE(tensor), made.kept);
  made.free_dims = free_dims;
  for (const Tensor& t : cleared_) made.grad_is_known = made.grad_is_known || (!of_torch && t.is_same(original));
  if (free_dims != 0) add_twins(original, symbols_.add_input(original, source, free_dims), made.twins);
  sources_.push_back(source);
  fakes_[tensor] = made.object.get();
  log_.add_input(name, made.object.get(), tensor);
  return made.object.get();
}

PyObject* GraphRecorder::input_number(PyObject* number, SourceId source, const std::string& name) {
  if (const auto found = numbers_.find(source); found != numbers_.end()) return found->second.get();
  if (numbers_.size() >= Symbols::kMostNumbers || !Symbols::can_be_free(number)) return nullptr;
  ir::Value* value = graph_->block()->insert_input(sources_.size(), PyFloat_Check(number) ? float_type() : int_type());
  sources_.push_back(source);
  Owned& made = numbers_[source] = symbols_.add_number(number, source, value);
  log_.add_number(name, made.get(), number);
  return made.get();
}

const GraphRecorder::Known& GraphRecorder::known_or_held(const Tensor& t) {
  if (const auto found = known_.find(t.impl()); found != known_.end()) return found->second;
  Owned object = wrap(t);
  if (const auto found = fakes_.find(object.get()); found != fakes_.end()) return *known(found->second);
  if (t.is_meta()) throw NotRecordable{"a tensor without memory that no recorded call made"};
  Known& made = add_fake(t, graph_->add_input(sconce::tensor_type()));
  made.original = std::move(object);
  made.object = wrap(made.kept);
  held_values_.push_back(made.value);
  held_.push_back(t);
  fakes_[made.original.get()] = made.object.get();
  log_.add_held(made.object.get(), made.original.get());
  return made;
}

// ---- values of the graph ----

ir::Value* GraphRecorder::constant(Value v) { return graph_->insert(graph_->create_constant(std::move(v)))->output(); }

ir::Value* GraphRecorder::list_of(TypePtr element, const std::vector<ir::Value*>& items) {
  ir::Node* node = graph_->create(ir::kind::ListConstruct, items, 1);
  node->output()->set_type(list_type(element));
  return graph_->insert(node)->output();
}

ir::Value* GraphRecorder::value_of(TypePtr type, const Value& v) {
  if (v.is_none()) return constant({});
  if (type->is(TypeKind::optional)) type = type->element();
  if (v.is_tensor()) {
    const Tensor& t = v.to_tensor();
    const auto found = known_.find(t.impl());
    if (found != known_.end()) return found->second.value;
    if (symbols_.has_stand_ins()) want_numbers();  // it may hold one
    return constant(v);                            // a number that became a tensor on its way
  }
  if (type->is(TypeKind::generator)) throw NotRecordable{"a generator of random numbers is given to an operator"};
  if (v.is_int() && symbols_.has_stand_ins()) {
    const SymNumber* n = symbols_.of_stand_in(v.to_int());
    return n ? n->value : constant(v);
  }
  if (v.is_double() && symbols_.has_stand_ins()) {
    const SymNumber* n = symbols_.of_stand_in(v.to_double());
    if (n == nullptr) return constant(v);
    static const Op& to_float = op_named("aten::Float.int");
    return n->hint.is_float ? n->value : graph_->insert(graph_->create(to_float, {n->value}))->output();
  }
  if (!v.is_list()) return constant(v);
  const List& list = v.to_list();
  const TypePtr element = type->is(TypeKind::list) ? plain_type(type->element()) : list.element_type();
  std::vector<ir::Value*> items;
  for (size_t i = 0; i < list.size(); ++i) items.push_back(value_of(element, list.get(i)));
  return list_of(element, items);
}

// The arguments for the run: fakes in place of tensors that are none.
Value GraphRecorder::with_fakes(const Value& v) {
  if (v.is_tensor()) {
    const Tensor& t = v.to_tensor();
    return t.is_wrapped_number() && !t.is_meta() ? v : Value(known_or_held(t).kept);
  }
  if (!v.is_list()) return v;
  const List& list = v.to_list();
  auto made = make_ref<List>(list.element_type());
  bool changed = false;
  for (size_t i = 0; i < list.size(); ++i) {
    const Value item = list.get(i);
    if (item.is_tensor()) {
      const Value fake = with_fakes(item);
      changed |= !fake.to_tensor().is_same(item.to_tensor());
      made->append(fake);
    } else {
      made->append(item);
    }
  }
  return changed ? Value(std::move(made)) : v;
}

// The same argument for other sizes; -1: for those of the program.
Value GraphRecorder::for_witness(const Value& v, int witness) const {
  const auto number = [&](const SymNumber& n) { return witness < 0 ? n.hint : n.others[static_cast<size_t>(witness)]; };
  if (v.is_int()) {
    const SymNumber* n = symbols_.of_stand_in(v.to_int());
    return n ? Value(number(*n).i) : v;
  }
  if (v.is_double()) {
    const SymNumber* n = symbols_.of_stand_in(v.to_double());
    return n ? Value(number(*n).real()) : v;
  }
  if (v.is_tensor()) {
    const auto found = known_.find(v.to_tensor().impl());
    if (witness < 0 || found == known_.end()) return v;
    const Tensor& twin = found->second.twins[static_cast<size_t>(witness)];
    return twin.defined() ? Value(twin) : v;
  }
  if (!v.is_list() || !is_free(v)) return v;
  auto made = make_ref<List>(v.to_list().element_type());
  for (size_t i = 0; i < v.to_list().size(); ++i) made->append(for_witness(v.to_list().get(i), witness));
  return Value(std::move(made));
}

const SymNumber* GraphRecorder::stand_in_of(const Value& v) const {
  return v.is_int() ? symbols_.of_stand_in(v.to_int()) : v.is_double() ? symbols_.of_stand_in(v.to_double()) : nullptr;
}

// Does the argument depend on symbols?
bool GraphRecorder::is_free(const Value& v) const {
  if (const SymNumber* n = stand_in_of(v)) return !n->unknown;
  if (v.is_tensor()) {
    const auto found = known_.find(v.to_tensor().impl());
    return found != known_.end() && std::any_of(found->second.twins.begin(), found->second.twins.end(),
                                                [](const Tensor& t) { return t.defined(); });
  }
  if (!v.is_list()) return false;
  for (size_t i = 0; i < v.to_list().size(); ++i)
    if (is_free(v.to_list().get(i))) return true;
  return false;
}

bool GraphRecorder::has_unknown(const Value& v) const {
  if (const SymNumber* n = stand_in_of(v)) return n->unknown;
  if (!v.is_list() || v.to_list().is_tensors()) return false;
  for (size_t i = 0; i < v.to_list().size(); ++i)
    if (has_unknown(v.to_list().get(i))) return true;
  return false;
}

// The same, or was it computed from what does?
bool GraphRecorder::depends(const Value& v) const {
  if (v.is_tensor()) {
    const auto found = known_.find(v.to_tensor().impl());
    if (found != known_.end() && found->second.depends) return true;
  } else if (v.is_list() && v.to_list().is_tensors()) {
    for (size_t i = 0; i < v.to_list().size(); ++i)
      if (depends(v.to_list().get(i))) return true;
  }
  return is_free(v);
}

// A call that needs the numbers themselves: call_logged() makes it again with them.
void GraphRecorder::want_numbers() { fail("the numbers of this call have to be known"); }

// A result with another number of dimensions says nothing of this one. The least sizes may be such a case (squeeze).
void GraphRecorder::agree_on_rank(const Value& other, const Tensor& t, size_t witness) {
  if (!other.is_tensor() || other.to_tensor().dim() == t.dim()) return;
  if (witness == 0)
    symbols_.kill(0);
  else
    symbols_.fix_all();
}

// `of_witnesses`: the same result for other sizes, None where it is not known; empty when it does not depend on symbols.
void GraphRecorder::set_result(const Value& v, ir::Value* value, Device device, std::span<const Value> of_witnesses) {
  if (v.is_tensor()) {
    Known& made = known_[v.to_tensor().impl()];
    made.kept = v.to_tensor();
    made.value = value;
    if (!made.object) made.device = device;
    if (torch_ && !made.object && !made.shown && made.kept.impl()->python == nullptr)
      made.shown = wrap_as(torch_class(torch_.get(), nullptr), made.kept);
    made.depends = made.depends || !of_witnesses.empty();
    for (size_t w = 0; w < of_witnesses.size(); ++w) {
      agree_on_rank(of_witnesses[w], made.kept, w);
      if (of_witnesses[w].is_tensor() && of_witnesses[w].to_tensor().dim() == made.kept.dim() &&
          !same_geometry(of_witnesses[w].to_tensor(), made.kept))
        made.twins[w] = of_witnesses[w].to_tensor();
    }
  } else if (v.is_list() && v.to_list().is_tensors()) {
    const List& list = v.to_list();
    ir::Node* unpack = graph_->insert(graph_->create(ir::kind::ListUnpack, {value}, list.size()));
    for (size_t w = 0; w < of_witnesses.size(); ++w) {
      if (!of_witnesses[w].is_list() || of_witnesses[w].to_list().size() == list.size()) continue;
      if (w == 0)
        symbols_.kill(0);
      else
        symbols_.fix_all();
    }
    if (!of_witnesses.empty() && symbols_.any())
      claim(SizeClaim::Kind::count, value, 0, Owned::take(PyLong_FromSize_t(list.size())).get());
    for (size_t i = 0; i < list.size(); ++i) {
      unpack->output(i)->set_type(sconce::tensor_type());
      std::vector<Value> items;
      for (const Value& other : of_witnesses)
        items.push_back(other.is_list() && i < other.to_list().size() ? other.to_list().get(i) : Value());
      set_result(list.get(i), unpack->output(i), device, items);
    }
  }
}

// The graph changes modes where the program did. Only when an operator follows: what the program does with modes and
// nothing between leaves no node.
void GraphRecorder::match_modes() {
  static const Op& set_grad = op_named("aten::set_grad_enabled");
  static const Op& state = op_named("sconce::inference_mode_state");
  static const Op& set_inference = op_named("sconce::set_inference_mode");
  static const Op& restore_inference = op_named("sconce::restore_inference_mode");
  const Modes now = Modes::current();
  const auto insert = [&](const Op& op, std::vector<ir::Value*> inputs) {
    return graph_->insert(graph_->create(op, inputs));
  };
  const auto log = [&](const char* name, std::vector<PyObject*> args) {
    const Owned module = Owned::take(PyImport_ImportModule("sconce._sconce"));
    const Owned function = Owned::take(PyObject_GetAttrString(module.get(), name));
    log_.add_call(function.get(), args, nullptr, Py_None);
  };
  const auto truth = [](bool v) { return v ? Py_True : Py_False; };
  bool grad_is_known = true;
  if (now.inference != modes_.inference) {
    if (!inference_at_start_) inference_at_start_ = insert(state, {})->output();
    const bool is_on = inference_mode_enabled();
    if (now.inference == modes_at_start_.inference)
      insert(restore_inference, {inference_at_start_});
    else
      insert(set_inference, {constant(is_on)});
    log("_set_inference_mode", {truth(is_on)});
    changes_modes_ = true;
    grad_is_known = false;
  }
  if (!grad_is_known || now.grad != modes_.grad) {
    insert(set_grad, {constant(now.grad)});
    log("_set_grad_enabled", {truth(now.grad)});
  }
  if (now.clears != modes_.clears) {  // weights that change from here on are converted again
    insert(clear_autocast_cache_op(), {});
    log("clear_autocast_cache", {});
    changes_modes_ = true;
  }
  if (!now.same_autocast(modes_)) {
    insert(set_autocast_op(),
           {constant(now.autocast), constant(Value(now.autocast_dtype)), constant(now.autocast_cache)});
    log("_set_autocast", {truth(now.autocast), dtype_object(now.autocast_dtype), truth(now.autocast_cache)});
    changes_modes_ = true;
  }
  if (now.saves_inference != modes_.saves_inference && (modes_at_start_.inference & 1)) {
    insert(save_inference_op(), {constant(now.saves_inference)});
    log("_set_saves_inference_tensors", {truth(now.saves_inference)});
    changes_modes_ = true;
  }
  if (now.default_dtype != modes_.default_dtype) {
    insert(set_default_dtype_op(), {constant(Value(now.default_dtype))});
    log("set_default_dtype", {dtype_object(now.default_dtype)});
    changes_modes_ = true;
  }
  modes_ = now;
}

// ---- operators ----

void GraphRecorder::call(const Op& op, KeySet keys, Value* args, Value* returns) {
  const Schema& schema = op.schema();
  const std::vector<Argument>& types = schema.arguments;
  try {
    if (const char* why = refusal(op)) throw NotRecordable{op.qualified_name() + ": " + why};
    const bool is_query = !schema.is_mutable() && std::none_of(schema.returns.begin(), schema.returns.end(),
                                                               [](const Argument& r) { return holds_tensor(r.type); });
    std::vector<Value> given(types.size());
    std::vector<ir::Value*> inputs;
    Device device;
    bool has_device = false, has_tensor = false;
    for (size_t i = 0; i < types.size(); ++i) {
      args[i] = with_fakes(args[i]);
      given[i] = args[i];
      const Value first = args[i].is_list() && args[i].to_list().is_tensors() && args[i].to_list().size()
                              ? args[i].to_list().get(0)
                              : args[i];
      if (first.is_tensor() && !has_tensor) {
        const auto found = known_.find(first.to_tensor().impl());
        if (found == known_.end()) continue;
        has_tensor = true;
        if (!has_device) device = found->second.device;
      }
    }
    for (size_t i = 0; i < types.size(); ++i) {
      const TypePtr type = types[i].type->is(TypeKind::optional) ? types[i].type->element() : types[i].type;
      if (!type->is(TypeKind::device) || (args[i].is_none() && has_tensor)) continue;
      // Code of C that asks a fake for its device is told meta.
      if (!args[i].is_none() && args[i].to_device() == kMeta && !meta_is_real_) given[i] = args[i] = Value(home_);
      if (!args[i].is_none()) device = args[i].to_device();
      args[i] = Value(kMeta);
    }
    // A schema says SymInt where a number may stay open.
    for (size_t i = 0; i < types.size() && symbols_.has_stand_ins(); ++i) {
      TypePtr type = types[i].type->is(TypeKind::optional) ? types[i].type->element() : types[i].type;
      if (type->is(TypeKind::list)) type = type->element();
      if (type->is(TypeKind::int_) && is_free(given[i])) want_numbers();
      // A number that nobody knows must have no say in sizes.
      const bool sizes = !op.has(Trait::pointwise) || !(type->is(TypeKind::number) || type->is(TypeKind::float_));
      if (sizes && has_unknown(given[i])) want_numbers();
    }
    if (!is_query) {
      match_modes();
      for (size_t i = 0; i < types.size(); ++i) inputs.push_back(value_of(types[i].type, given[i]));
    }
    const bool free =
        symbols_.any() && std::any_of(given.begin(), given.end(), [&](const Value& v) { return depends(v); });
    std::array<std::vector<Value>, kWitnesses> others;
    struct Twin {
      Tensor of, made;
      size_t witness;
    };
    std::vector<Twin> twins;  // of tensors that are written: x.t_() must turn the fake once
    if (free || symbols_.has_stand_ins()) {
      const std::vector<Value> run(args, args + types.size());
      for (size_t i = 0; i < types.size(); ++i) args[i] = for_witness(run[i], -1);
      const tracing::Paused unrecorded;
      for (size_t w = 0; w < kWitnesses && free; ++w) {
        for (const Value& v : run) {
          Value other = for_witness(v, static_cast<int>(w));
          if (schema.is_mutable() && other.is_tensor() && known_.contains(other.to_tensor().impl())) {
            const Tensor& t = other.to_tensor();
            twins.push_back({t, empty_strided_tensor(t.sizes(), t.strides(), t.dtype(), kMeta), w});
            take_math_bits(*twins.back().made.impl(), *t.impl());
            other = Value(twins.back().made);
          }
          others[w].push_back(std::move(other));
        }
      }
    }
    struct Before {
      Tensor tensor;
      std::vector<int64_t> sizes, strides;
      bool requires_grad;
    };
    std::vector<Before> before;
    for (size_t i = 0; i < types.size() && schema.is_mutable(); ++i) {
      if (!args[i].is_tensor()) continue;
      const Tensor& t = args[i].to_tensor();
      const auto found = known_.find(t.impl());
      if (found != known_.end() && found->second.original)
        before.push_back({t, t.sizes().vec(), t.strides().vec(), t.requires_grad()});
    }
    {
      const tracing::Paused unrecorded;
      KeySet below = keys & KeySet::below(Key::tracer);
      if (below.has(Key::cpu)) below = (below - kBackendKeys) | KeySet(Key::meta);
      try {
        op.redispatch_boxed(below, args, returns);
      } catch (const Error&) {
        // x[indices] depends on values only where the indices are a mask: the kernel knows.
        if (!op.has(Trait::data_dependent)) throw;
        throw NotRecordable{op.qualified_name() + ": the size of the result depends on values", true};
      }
      const NoGrad unneeded;
      for (size_t w = 0; w < kWitnesses && free; ++w) {
        std::vector<Value> made(schema.returns.size());
        try {
          if (symbols_.is_alive(w)) op.call_boxed(others[w].data(), made.data());
        } catch (const Error&) {
          if (w > 0 && symbols_.has_stand_ins()) want_numbers();
          symbols_.kill(w);
          made.assign(schema.returns.size(), {});
        }
        others[w] = std::move(made);
      }
    }
    for (const Twin& twin : twins) {
      agree_on_rank(Value(twin.made), twin.of, twin.witness);
      if (twin.made.dim() == twin.of.dim() && !same_geometry(twin.made, twin.of))
        known_.at(twin.of.impl()).twins[twin.witness] = twin.made;
    }
    for (const Before& b : before)
      reshapes_inputs_ = reshapes_inputs_ || b.tensor.sizes() != IntList(b.sizes) ||
                         b.tensor.strides() != IntList(b.strides) || b.tensor.requires_grad() != b.requires_grad;
    if (is_query) {
      for (size_t w = 0; w < kWitnesses && free; ++w)
        for (size_t i = 0; i < schema.returns.size(); ++i)
          if (symbols_.is_alive(w) && !same_answer(returns[i], others[w][i])) symbols_.fix_all();
      if (free && symbols_.any()) {
        SizeClaim query{SizeClaim::Kind::query};
        query.op = &op;
        for (size_t i = 0; i < types.size(); ++i) query.inputs.push_back(value_of(types[i].type, given[i]));
        query.answers.assign(returns, returns + schema.returns.size());
        claims_.push_back(std::move(query));
      }
      return;
    }
    ir::Node* node = graph_->insert(graph_->create(op, inputs));
    ++nodes_;
    for (size_t i = 0; i < schema.returns.size() && !op.has(Trait::view); ++i)
      if (returns[i].is_tensor()) elements_ += static_cast<size_t>(returns[i].to_tensor().numel());
    for (size_t i = 0; i < schema.returns.size(); ++i) {
      std::vector<Value> of_witnesses;
      for (size_t w = 0; w < kWitnesses && free; ++w) of_witnesses.push_back(others[w][i]);
      set_result(returns[i], node->output(i), device, of_witnesses);
    }
    if (depth_ == 0)
      log_.add_operator(op, std::move(given), std::vector<Value>(returns, returns + schema.returns.size()));
  } catch (const NotRecordable& why) {
    failure_ = why;
    fail("{}", why.reason);
  }
}

Owned GraphRecorder::finish(std::span<PyObject* const> outputs) {
  modes_at_start_.restore();
  match_modes();
  scope_.reset();
  std::vector<ir::Value*> items;
  std::vector<TypePtr> types;
  for (PyObject* output : outputs) {
    if (const SymNumber* number = sym_number(output)) {
      items.push_back(number->value);
      types.push_back(number->hint.is_float ? float_type() : int_type());
      continue;
    }
    const Known* found = known(output);
    SCONCE_CHECK_AS(internal, found, "an output of a graph is a {} that the graph does not know", class_name(output));
    items.push_back(found->value);
    types.push_back(sconce::tensor_type());
  }
  ir::Node* tuple = graph_->create(ir::kind::TupleConstruct, items, 1);
  tuple->output()->set_type(tuple_type(types));
  graph_->add_output(graph_->insert(tuple)->output());
  make_size_check();
  drop_unused_numbers();
  drop_unused_tensors();
  return make_compiled_graph({graph_, std::move(held_), outputs, std::move(log_), backend_.get(), options_.get(),
                              changes_modes_ || modes_at_start_.autocast, torch_.get(), std::move(python_calls_)});
}

}  // namespace sconce::python::capture
