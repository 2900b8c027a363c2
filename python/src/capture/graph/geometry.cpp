// GraphRecorder's answers on sizes and strides of fakes: ints, or SymInts where they depend on symbols.
#include "capture/graph/graph_recorder.h"
#include "sconce/base/error.h"
#include "sconce/dispatch/registry.h"
#include "size_object.h"
#include "tensor_object.h"

namespace sconce::python::capture {
namespace {

int64_t dim_of(const Tensor& t, int64_t dim) {
  const int64_t rank = t.dim();
  SCONCE_CHECK_AS(index, dim >= -rank && dim < rank,
                  "Dimension out of range (expected to be in range of [{}, {}], but got {})", -rank, rank - 1, dim);
  return dim < 0 ? dim + rank : dim;
}

const Op& op_named(const char* name) {
  const Op* op = find_op(name);
  SCONCE_ASSERT(op);
  return *op;
}

// The method of Tensor by which a program asks, for readers of the graph.
Owned method(const char* name) {
  return Owned::take(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&tensor_type), name));
}

}  // namespace

Owned GraphRecorder::size(PyObject* fake, int64_t dim) {
  const Known& of = *known(fake);
  dim = dim_of(of.kept, dim);
  Witnesses others;
  for (size_t w = 0; w < kWitnesses; ++w) others[w] = (of.twins[w].defined() ? of.twins[w] : of.kept).size(dim);
  Owned expression;
  if (of.source != kNoSource && of.free_dims >> dim & 1) expression = Symbols::size_expression(of.source, dim);
  bool guessed = of.depends && !expression;
  Owned result = symbols_.size(of.kept.size(dim), others, std::move(expression), guessed, [&] {
    static const Op& op = op_named("aten::size.int");
    return graph_->insert(graph_->create(op, {of.value, constant(dim)}))->output();
  });
  if (sym_number(result.get())) {
    const Owned which = Owned::take(PyLong_FromLongLong(dim));
    PyObject* const args[] = {fake, which.get()};
    log_.add_call(method("size").get(), args, nullptr, result.get());
  }
  if (guessed) claim(SizeClaim::Kind::size, of.value, dim, result.get());
  return result;
}

Owned GraphRecorder::stride(PyObject* fake, int64_t dim) {
  const Known& of = *known(fake);
  dim = dim_of(of.kept, dim);
  Witnesses others;
  for (size_t w = 0; w < kWitnesses; ++w) others[w] = (of.twins[w].defined() ? of.twins[w] : of.kept).stride(dim);
  Owned expression;
  if (of.source != kNoSource && of.free_dims != 0)
    expression =
        Owned::take(Py_BuildValue("(siL)", "stride", static_cast<int>(of.source), static_cast<long long>(dim)));
  bool guessed = of.depends && !expression;
  Owned result = symbols_.size(of.kept.stride(dim), others, std::move(expression), guessed, [&] {
    static const Op& op = op_named("aten::stride.int");
    return graph_->insert(graph_->create(op, {of.value, constant(dim)}))->output();
  });
  if (sym_number(result.get())) {
    const Owned which = Owned::take(PyLong_FromLongLong(dim));
    PyObject* const args[] = {fake, which.get()};
    log_.add_call(method("stride").get(), args, nullptr, result.get());
  }
  if (guessed) claim(SizeClaim::Kind::stride, of.value, dim, result.get());
  return result;
}

// The product of all sizes, so that it is known as an expression where they are.
Owned GraphRecorder::numel(PyObject* fake) {
  const Tensor& t = known(fake)->kept;
  Owned product = Owned::take(PyLong_FromLong(1));
  for (int64_t dim = 0; dim < t.dim(); ++dim)
    product = Owned::take(PyNumber_Multiply(product.get(), size(fake, dim).get()));
  return product;
}

Owned GraphRecorder::element(PyObject* fake) {
  const Known& of = *known(fake);
  const bool is_float = is_floating(of.kept.dtype());
  static const Op& to_float = op_named("aten::Float.Tensor");
  static const Op& to_int = op_named("aten::Int.Tensor");
  match_modes();
  ir::Value* value = graph_->insert(graph_->create(is_float ? to_float : to_int, {of.value}))->output();
  ++nodes_;
  Owned result = symbols_.add_unknown(is_float ? Number(1.5) : Number(int64_t{2}), value);
  PyObject* const args[] = {fake};
  log_.add_call(method("item").get(), args, nullptr, result.get());
  return result;
}

Owned GraphRecorder::shape(PyObject* fake) {
  const Known& of = *known(fake);
  if (!depends(Value(of.kept))) return make_size(of.kept.sizes());
  claim_rank(of);
  const Owned sizes = Owned::take(PyTuple_New(of.kept.dim()));
  for (int64_t i = 0; i < of.kept.dim(); ++i) PyTuple_SET_ITEM(sizes.get(), i, size(fake, i).give());
  return make_size_of(sizes.get());
}

// Methods of Tensor that ask for sizes. Empty for others.
Owned GraphRecorder::ask_geometry(const std::string& name, std::span<PyObject* const> args) {
  const bool is_size = name == "size", is_stride = name == "stride";
  if (args.empty() || !known(args[0])) return {};
  if (args.size() == 1) {
    if (is_size) return shape(args[0]);
    if (name == "numel" || name == "nelement") return numel(args[0]);
    if (name == "__len__" && known(args[0])->kept.dim() > 0) return size(args[0], 0);
    if (!is_stride) return {};
    claim_rank(*known(args[0]));
    const int64_t rank = known(args[0])->kept.dim();
    Owned strides = Owned::take(PyTuple_New(rank));
    for (int64_t i = 0; i < rank; ++i) PyTuple_SET_ITEM(strides.get(), i, stride(args[0], i).give());
    return strides;
  }
  if (args.size() != 2 || !(is_size || is_stride) || !PyLong_Check(args[1])) return {};
  const int64_t dim = PyLong_AsLongLong(args[1]);
  if (dim == -1 && PyErr_Occurred()) throw PythonError();
  try {
    return is_size ? size(args[0], dim) : stride(args[0], dim);
  } catch (const Error&) {
    raise_current();
    throw PythonError();
  }
}

// The same object with numbers in place of SymInts, through tuples, lists, dicts and slices.
Owned GraphRecorder::with_stand_ins(PyObject* object) {
  if (const SymNumber* n = sym_number(object))
    return symbols_.is_fixed(*n) ? object_of_number(n->hint) : symbols_.stand_in(object);
  if (PyTuple_Check(object)) {
    const Py_ssize_t n = PyTuple_GET_SIZE(object);
    std::vector<Owned> items;
    bool changed = false;
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* item = PyTuple_GET_ITEM(object, i);
      changed |= items.emplace_back(with_stand_ins(item)).get() != item;
    }
    if (!changed) return Owned::share(object);
    Owned made = Owned::take(PyTuple_New(n));
    for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(made.get(), i, items[static_cast<size_t>(i)].give());
    return made;
  }
  if (PyList_CheckExact(object)) {
    const Py_ssize_t n = PyList_GET_SIZE(object);
    Owned made = Owned::take(PyList_New(n));
    bool changed = false;
    for (Py_ssize_t i = 0; i < n; ++i) {
      Owned item = with_stand_ins(PyList_GET_ITEM(object, i));
      changed |= item.get() != PyList_GET_ITEM(object, i);
      PyList_SET_ITEM(made.get(), i, item.give());
    }
    return changed ? std::move(made) : Owned::share(object);
  }
  if (PySlice_Check(object)) {
    const auto& slice = *reinterpret_cast<PySliceObject*>(object);
    const Owned start = with_stand_ins(slice.start), stop = with_stand_ins(slice.stop),
                step = with_stand_ins(slice.step);
    if (start.get() == slice.start && stop.get() == slice.stop && step.get() == slice.step) return Owned::share(object);
    return Owned::take(PySlice_New(start.get(), stop.get(), step.get()));
  }
  return Owned::share(object);
}

void GraphRecorder::fix_numbers(PyObject* object) {
  if (sym_number(object)) {
    symbols_.fix(object);
  } else if (PyTuple_Check(object) || PyList_CheckExact(object)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) fix_numbers(PySequence_Fast_GET_ITEM(object, i));
  } else if (PySlice_Check(object)) {
    const auto& slice = *reinterpret_cast<PySliceObject*>(object);
    for (PyObject* part : {slice.start, slice.stop, slice.step}) fix_numbers(part);
  }
}

// ---- claims ----

void GraphRecorder::claim(SizeClaim::Kind kind, ir::Value* value, int64_t dim, PyObject* expected) {
  if (!symbols_.any()) return;
  SizeClaim made{kind};
  made.value = value;
  made.dim = dim;
  if (const SymNumber* n = sym_number(expected)) {
    if (!n->expression) return;  // the graph computes it, and nobody has guessed
    made.expected = Owned::share(n->expression.get());
  } else {
    made.expected = Owned::share(expected);
  }
  const bool known = std::any_of(claims_.begin(), claims_.end(), [&](const SizeClaim& c) {
    return c.kind == kind && c.value == value && c.dim == dim;
  });
  if (!known) claims_.push_back(std::move(made));
}

void GraphRecorder::claim_rank(const Known& of) {
  if (of.depends) claim(SizeClaim::Kind::rank, of.value, 0, Owned::take(PyLong_FromLongLong(of.kept.dim())).get());
}

// Claims are checked by running shapes in front of each call with new sizes. Where that cannot be done, or does not give
// what recording gave, sizes are fixed.
void GraphRecorder::make_size_check() {
  if (claims_.empty() || !symbols_.any()) return;
  std::shared_ptr<SizeReplay> replay;
  if (!torch_ && !changes_modes_ && !meta_is_real_) replay = SizeReplay::make(*graph_, sources_, held_, claims_);
  if (replay) {
    std::vector<PyObject*> objects;
    std::vector<Owned> kept;
    for (const SourceId source : replay->sources()) {
      if (const auto number = numbers_.find(source); number != numbers_.end()) {
        objects.push_back(kept.emplace_back(object_of_number(sym_number(number->second.get())->hint)).get());
        continue;
      }
      for (const auto& [impl, of] : known_)
        if (of.source == source && of.original) objects.push_back(of.original.get());
    }
    if (objects.size() == replay->sources().size() && replay->holds(objects)) {
      size_check_ = size_check_object(std::move(replay));
      return;
    }
  }
  symbols_.fix_all();
}

// Numbers that the program computed and the graph does not use; inputs for which no other use is left go, too.
// Parameters of which only the shape was asked: guards know them, the graph need not be given them.
void GraphRecorder::drop_unused_tensors() {
  if (torch_ || symbols_.any()) return;
  std::unordered_map<const ir::Value*, const Known*> unused;
  for (const auto& [impl, k] : known_)
    if (k.original && k.object && k.value != nullptr && !k.value->has_uses()) unused.emplace(k.value, &k);
  if (unused.empty()) return;
  const std::unordered_set<const TensorImpl*> logged = log_.used_tensors();
  for (size_t i = sources_.size(); i-- > 0;) {
    const auto found = unused.find(graph_->inputs()[i]);
    if (found == unused.end() || logged.contains(found->second->kept.impl())) continue;
    graph_->block()->remove_input(i);
    log_.drop_input(found->second->object.get());
    sources_.erase(sources_.begin() + static_cast<ptrdiff_t>(i));
  }
}

void GraphRecorder::drop_unused_numbers() {
  if (numbers_.empty()) return;
  const auto is_number = [](const ir::Value* v) {
    return v->type()->is(TypeKind::int_) || v->type()->is(TypeKind::float_);
  };
  std::vector<ir::Node*> nodes;
  for (ir::Node* n : graph_->nodes()) nodes.push_back(n);
  for (size_t i = nodes.size(); i-- > 0;) {
    ir::Node* n = nodes[i];
    if (n->op() && n->outputs().size() == 1 && is_number(n->output()) && !n->output()->has_uses() &&
        !n->op()->schema().is_mutable())
      n->destroy();
  }
  for (size_t i = sources_.size(); i-- > 0;) {
    const ir::Value* v = graph_->inputs()[i];
    if (!is_number(v) || v->has_uses()) continue;
    graph_->block()->remove_input(i);
    log_.drop_input(numbers_.at(sources_[i]).get());
    sources_.erase(sources_.begin() + static_cast<ptrdiff_t>(i));
  }
}

}  // namespace sconce::python::capture
