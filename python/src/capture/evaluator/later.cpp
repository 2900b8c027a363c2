#include "capture/evaluator/later.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "capture/evaluator/arrays.h"
#include "capture/evaluator/evaluator.h"
#include "capture/graph/sym_int.h"
#include "capture/guards/number.h"
#include "tensor_object.h"

namespace sconce::python::capture {
namespace {

struct LaterObject {
  PyObject_HEAD Later* later;  // owned
};

void dealloc(PyObject* self) {
  delete reinterpret_cast<LaterObject*>(self)->later;
  PyObject_Free(self);
}

// Code of C that looks at one (str under map, an element that is compared) gets an exception, which is a break: Note
// [Breaks through code of C].
void refuse() {
  if (Evaluator* e = Evaluator::current())
    e->interrupt = Break{Reason::data_dependent, "a value that is known when the graph has run"};
  PyErr_SetString(PyExc_RuntimeError, "a value that is known when the graph has run");
}
PyObject* refuse_one(PyObject*) { return refuse(), nullptr; }
PyObject* refuse_two(PyObject*, PyObject*) { return refuse(), nullptr; }
PyObject* refuse_three(PyObject*, PyObject*, PyObject*) { return refuse(), nullptr; }
// Addresses are keys: one is equal to itself, and to no number that the program has otherwise.
bool is_address_object(PyObject* o);
PyObject* refuse_comparison(PyObject* a, PyObject* b, int how) {
  const bool keys = (is_address_object(a) || PyLong_CheckExact(a) || PyUnicode_CheckExact(a)) &&
                    (is_address_object(b) || PyLong_CheckExact(b) || PyUnicode_CheckExact(b));
  if (keys && (how == Py_EQ || how == Py_NE)) return Py_NewRef((a == b) == (how == Py_EQ) ? Py_True : Py_False);
  return refuse(), nullptr;
}
int refuse_truth(PyObject*) { return refuse(), -1; }
Py_ssize_t refuse_length(PyObject*) { return refuse(), -1; }
Py_hash_t refuse_hash(PyObject* self) {
  if (is_address_object(self)) return _Py_HashPointer(self);
  return refuse(), -1;
}

PyNumberMethods later_numbers = [] {
  PyNumberMethods n = {};
  n.nb_add = n.nb_subtract = n.nb_multiply = n.nb_remainder = n.nb_divmod = n.nb_floor_divide = refuse_two;
  n.nb_true_divide = n.nb_lshift = n.nb_rshift = n.nb_and = n.nb_or = n.nb_xor = n.nb_matrix_multiply = refuse_two;
  n.nb_power = refuse_three;
  n.nb_negative = n.nb_positive = n.nb_absolute = n.nb_invert = n.nb_int = n.nb_float = n.nb_index = refuse_one;
  n.nb_bool = refuse_truth;
  return n;
}();
PyMappingMethods later_items = {refuse_length, refuse_two, nullptr};

PyTypeObject later_type = [] {
  PyTypeObject t = {PyVarObject_HEAD_INIT(nullptr, 0)};
  t.tp_name = "sconce.Later";
  t.tp_basicsize = sizeof(LaterObject);
  t.tp_repr = t.tp_str = refuse_one;
  t.tp_hash = refuse_hash;
  t.tp_richcompare = refuse_comparison;
  t.tp_iter = refuse_one;
  t.tp_as_number = &later_numbers;
  t.tp_as_mapping = &later_items;
  t.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  t.tp_dealloc = dealloc;
  return t;
}();

bool is_address_object(PyObject* o) {
  return Py_IS_TYPE(o, &later_type) && reinterpret_cast<LaterObject*>(o)->later->is_address;
}

PyObject* member(const char* module, const char* name) {
  const Owned m = Owned::take(PyImport_ImportModule(module));
  return Owned::take(PyObject_GetAttrString(m.get(), name)).give();
}
PyObject* member_of(PyTypeObject* type, const char* name) {
  return Owned::take(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), name)).give();
}

// What a callable takes.
enum class Takes : uint8_t {
  numbers,   // numbers that come later, and others
  division,  // the same, but what it divides by is known, and not zero
  same,      // numbers, or texts all of them
  anything,  // numbers and texts
  texts,     // anything, and tensors whose text is asked for
  truth,     // numbers, texts, and tensors of one element
  element,   // numbers, and tensors of one element
  whole,     // the same, ints alone: others may be infinite
};

const std::unordered_map<PyObject*, Takes>& callables() {
  static const auto& all = *[] {
    auto* t = new std::unordered_map<PyObject*, Takes>;
    for (const char* name : {"sub", "mul", "neg", "pos", "abs"}) t->emplace(member("_operator", name), Takes::numbers);
    for (const char* name : {"lt", "le", "gt", "ge", "add"}) t->emplace(member("_operator", name), Takes::same);
    for (const char* name : {"eq", "ne"}) t->emplace(member("_operator", name), Takes::anything);
    t->emplace(member("_operator", "truediv"), Takes::division);
    t->emplace(member("_operator", "not_"), Takes::truth);
    t->emplace(member("_operator", "mod"), Takes::texts);  // of a text
    for (const char* name : {"round", "abs"}) t->emplace(member("builtins", name), Takes::numbers);
    t->emplace(member("builtins", "float"), Takes::element);
    t->emplace(member("builtins", "int"), Takes::whole);
    for (const char* name : {"str", "repr", "format"}) t->emplace(member("builtins", name), Takes::texts);
    for (const char* name : {"format", "join"}) t->emplace(member_of(&PyUnicode_Type, name), Takes::texts);
    return t;
  }();
  return all;
}

bool is_number(PyObject* o) { return PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyBool_Check(o); }

// The number of elements, where that is fixed; -1: it is not.
int64_t elements(Evaluator& e, PyObject* fake) {
  static PyObject* const name = interned("shape");
  const Owned shape = e.recorder.attribute(fake, name);
  if (!shape || !PyTuple_Check(shape.get())) return -1;
  int64_t count = 1;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shape.get()); ++i) {
    PyObject* size = PyTuple_GET_ITEM(shape.get(), i);
    if (!PyLong_CheckExact(size)) return -1;
    count *= PyLong_AsLongLong(size);
  }
  return count;
}

// A number as an element of the tensor might be.
Owned element_sample(PyObject* fake) {
  const DType dtype = tensor_of(fake).dtype();
  if (dtype == DType::bool_) return Owned::share(Py_True);
  if (is_floating(dtype)) return Owned::take(PyFloat_FromDouble(1.5));
  if (is_complex(dtype)) return Owned::take(PyComplex_FromDoubles(1.5, 1));
  return Owned::take(PyLong_FromLong(2));
}

bool is_plain_fake(Evaluator& e, PyObject* o) { return e.recorder.is_fake(o) && is_tensor(o); }

class Sampler {
 public:
  Sampler(Evaluator& e, Takes takes) : e_(e), takes_(takes) {}

  // Empty: no such argument is taken.
  Owned sample(PyObject* o, int depth = 0) {
    if (const Later* l = later_of(o)) {
      some_ = true;
      PyObject* s = l->sample.get();
      const bool text = PyUnicode_Check(s);
      if (is_numpy(s) && (takes_ == Takes::element || takes_ == Takes::texts)) return Owned::share(s);
      if (!is_number(s) && !text) return {};
      if (text && takes_ != Takes::same && takes_ != Takes::anything && takes_ != Takes::texts) return {};
      return Owned::share(s);
    }
    if (const SymNumber* n = sym_number(o)) return object_of_number(n->hint);
    if (is_plain_fake(e_, o)) {
      const bool element = takes_ == Takes::truth || takes_ == Takes::element || takes_ == Takes::whole;
      if (takes_ != Takes::texts && !element) return {};
      some_ = true;
      if (elements(e_, o) == 1 && (element || tensor_of(o).dim() == 0)) return element_sample(o);
      return takes_ == Takes::texts ? text("tensor") : Owned();  // with a specification it fails, as it should
    }
    if (is_constant(o)) return Owned::share(o);
    const bool inside = takes_ == Takes::texts && depth < 3 && !e_.origins.outside(o);
    if (!inside || !(PyTuple_CheckExact(o) || PyList_CheckExact(o))) return {};
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    Owned made = Owned::take(PyList_New(0));
    for (Py_ssize_t i = 0; i < n; ++i) {
      const Owned item = sample(PySequence_Fast_GET_ITEM(o, i), depth + 1);
      if (!item) return {};
      check(PyList_Append(made.get(), item.get()));
    }
    return PyList_CheckExact(o) ? std::move(made) : Owned::take(PyList_AsTuple(made.get()));
  }
  bool some() const { return some_; }  // was one of them later, or a tensor?

 private:
  Evaluator& e_;
  Takes takes_;
  bool some_ = false;
};

void add_tensors(Evaluator& e, PyObject* o, Later& to) {
  if (is_plain_fake(e, o)) {
    to.tensors.emplace_back(Owned::share(o), e.recorder.stamp(o));
  } else if (const Later* l = later_of(o)) {
    for (const auto& [tensor, stamp] : l->tensors) to.tensors.emplace_back(Owned::share(tensor.get()), stamp);
  } else if (PyTuple_CheckExact(o) || PyList_CheckExact(o)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) add_tensors(e, PySequence_Fast_GET_ITEM(o, i), to);
  }
}

// Lists of the program may change: the value has its own.
Owned frozen(PyObject* o) {
  if (!PyTuple_CheckExact(o) && !PyList_CheckExact(o)) return Owned::share(o);
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
  Owned made = Owned::take(PyList_New(0));
  for (Py_ssize_t i = 0; i < n; ++i) check(PyList_Append(made.get(), frozen(PySequence_Fast_GET_ITEM(o, i)).get()));
  return PyList_CheckExact(o) ? std::move(made) : Owned::take(PyList_AsTuple(made.get()));
}

// Are the arguments of the kinds that this callable never fails for?
bool fits(Takes takes, PyObject* callable, std::span<PyObject* const> args, const std::vector<PyObject*>& samples) {
  static PyObject* const round = member("builtins", "round");
  static PyObject* const mod = member("_operator", "mod");
  switch (takes) {
    case Takes::numbers:
      if (callable == round && (samples.size() != 2 || !PyLong_Check(samples[1]) || later_of(args[1]))) return false;
      return std::all_of(samples.begin(), samples.end(), is_number);
    case Takes::division:
      return samples.size() == 2 && is_number(samples[0]) && is_number(samples[1]) && !later_of(args[1]) &&
             !sym_number(args[1]) && is_true(args[1]);
    case Takes::same:
      return std::all_of(samples.begin(), samples.end(), is_number) ||
             std::all_of(samples.begin(), samples.end(), [](PyObject* s) { return PyUnicode_CheckExact(s) != 0; });
    case Takes::whole:
      return samples.size() == 1 && (PyLong_CheckExact(samples[0]) || PyBool_Check(samples[0]));
    case Takes::element:
      return samples.size() == 1 && (is_number(samples[0]) || is_numpy(samples[0]));
    case Takes::texts:
      return callable != mod || PyUnicode_CheckExact(args[0]);
    default:
      return true;
  }
}

}  // namespace

Owned make_later(Evaluator& e, PyObject* callable, std::span<PyObject* const> args, Owned sample) {
  static const int ready = PyType_Ready(&later_type);
  check(ready);
  auto* object = PyObject_New(LaterObject, &later_type);
  Owned made = Owned::take(reinterpret_cast<PyObject*>(object));
  object->later = new Later{Owned::share(callable), {}, std::move(sample), {}, false, false};
  for (PyObject* arg : args) {
    object->later->args.push_back(frozen(arg));
    add_tensors(e, arg, *object->later);
  }
  e.born(made.get());
  return made;
}

Owned make_address(Evaluator& e, PyObject* id, PyObject* object) {
  const auto at = e.addresses.find(object);
  if (at != e.addresses.end()) return Owned::share(at->second.get());
  Owned made = make_later(e, id, {}, Owned::take(PyLong_FromVoidPtr(object)));
  Later& later = *reinterpret_cast<LaterObject*>(made.get())->later;
  later.args.push_back(Owned::share(object));
  later.is_address = true;
  e.addresses.emplace(object, Owned::share(made.get()));
  return made;
}

const Later* later_of(PyObject* object) {
  return Py_IS_TYPE(object, &later_type) ? reinterpret_cast<LaterObject*>(object)->later : nullptr;
}

bool holds_still(const Recorder& recorder, const Later& later) {
  return std::all_of(later.tensors.begin(), later.tensors.end(),
                     [&](const auto& t) { return recorder.stamp(t.first.get()) == t.second; });
}

Owned call_later(Evaluator& e, PyObject* callable, std::span<PyObject* const> args) {
  const auto row = callables().find(callable);
  if (row == callables().end()) return {};
  Sampler sampler(e, row->second);
  std::vector<Owned> samples;
  std::vector<PyObject*> pointers;
  for (PyObject* arg : args) {
    Owned sample = sampler.sample(arg);
    if (!sample) return {};
    pointers.push_back(sample.get());
    samples.push_back(std::move(sample));
  }
  if (!sampler.some() || !fits(row->second, callable, args, pointers)) return {};
  PyObject* tried = PyObject_Vectorcall(callable, pointers.data(), pointers.size(), nullptr);
  if (tried == nullptr) {  // as it would for the values themselves, perhaps: Python finds out
    PyErr_Clear();
    return {};
  }
  Owned sample = Owned::take(tried);
  if (!is_number(tried) && !PyUnicode_CheckExact(tried)) return {};
  return make_later(e, callable, args, std::move(sample));
}

Owned call_later(Evaluator& e, PyObject* callable, const Arguments& args) {
  if (args.named() != 0) return {};
  const std::vector<PyObject*> all = args.pointers();
  return call_later(e, callable, all);
}

Owned ask_later(Evaluator& e, PyObject* method, const Arguments& args) {
  if (args.named() != 0 || args.values.size() != 1 || !is_plain_fake(e, args[0])) return {};
  if (e.recorder.is_over_pytorch()) return {};  // the method is that of our tensors
  const std::string_view name = text_of(PyDescr_NAME(method));
  PyObject* const given[] = {args[0]};
  if (name == "numpy") return array_of(e, method, args[0]);
  if (name == "data_ptr") return make_later(e, method, given, Owned::take(PyLong_FromLong(1)));
  if (name == "tolist" && tensor_of(args[0]).dim() > 0)
    return make_later(e, method, given, Owned::take(PyList_New(0)));  // a list is known to be one, no more
  if ((name != "item" && name != "tolist") || elements(e, args[0]) != 1) return {};
  return make_later(e, method, given, element_sample(args[0]));
}

namespace {

Owned as_number(Evaluator& e, PyObject* object) {
  const Later* l = later_of(object);
  if (l == nullptr) return Owned::share(object);
  if (!PyFloat_CheckExact(l->sample.get()) && !PyLong_CheckExact(l->sample.get())) return {};
  if (!holds_still(e.recorder, *l)) return {};
  if (l->args.size() == 1 && is_plain_fake(e, l->args[0].get())) {
    if (Py_IS_TYPE(l->callable.get(), &PyMethodDescr_Type) && text_of(PyDescr_NAME(l->callable.get())) == "data_ptr")
      return {};  // where it lies, not what it holds
    const bool same = PyFloat_CheckExact(l->sample.get()) == is_floating(tensor_of(l->args[0].get()).dtype());
    return same ? e.recorder.element(l->args[0].get()) : Owned();
  }
  using Binary = PyObject* (*)(PyObject*, PyObject*);
  static const std::pair<PyObject*, Binary> known[] = {{member("_operator", "add"), PyNumber_Add},
                                                       {member("_operator", "sub"), PyNumber_Subtract},
                                                       {member("_operator", "mul"), PyNumber_Multiply},
                                                       {member("_operator", "truediv"), PyNumber_TrueDivide}};
  for (const auto& [callable, compute] : known) {
    if (l->callable.get() != callable) continue;
    const Owned a = as_number(e, l->args[0].get()), b = as_number(e, l->args[1].get());
    if (!a || !b) return {};
    PyObject* made = compute(a.get(), b.get());
    if (made == nullptr) {
      PyErr_Clear();
      e.interrupt.reset();
      return {};
    }
    return Owned::take(made);
  }
  return {};
}

}  // namespace

Owned number_for_graph(Evaluator& e, PyObject* object) {
  if (later_of(object) == nullptr) return Owned::share(object);
  Owned made = as_number(e, object);
  if (!made) want_now(object);
  return made;
}

namespace {

// Behind the functions of module random.
PyObject* shared_generator() {
  static PyObject* const found = member("random", "_inst");
  return found;
}

// A number that a function of `random` gives for these arguments; the generator is then as it was. Empty: it fails.
Owned drawn_sample(PyObject* callable, std::span<PyObject* const> args) {
  const Owned state = Owned::take(PyObject_CallMethod(shared_generator(), "getstate", nullptr));
  PyObject* made = PyObject_Vectorcall(callable, args.data(), args.size(), nullptr);
  if (made == nullptr) PyErr_Clear();
  const Owned nothing = Owned::take(PyObject_CallMethod(shared_generator(), "setstate", "(O)", state.get()));
  if (made == nullptr) return {};
  return Owned::take(made);
}

// The call in its turn, as a number that comes later.
Owned draw_number(Evaluator& e, PyObject* callable, std::span<PyObject* const> args) {
  Owned sample = drawn_sample(callable, args);
  if (!sample || (!PyFloat_CheckExact(sample.get()) && !PyLong_CheckExact(sample.get()))) return {};
  static PyObject* const draw = member("sconce._polyfills.of_numbers", "draw");
  static PyObject* const like = member("sconce._polyfills.of_numbers", "number_like");
  static PyObject* const item = member_of(&tensor_type, "item");
  PyObject* const type[] = {reinterpret_cast<PyObject*>(Py_TYPE(sample.get()))};
  const Owned fake = e.recorder.pending(like, type);
  std::vector<PyObject*> all{type[0], callable};
  all.insert(all.end(), args.begin(), args.end());
  e.recorder.call_in_turn(draw, all, nullptr, fake.get());
  PyObject* const given[] = {fake.get()};
  return make_later(e, item, given, std::move(sample));
}

}  // namespace

Owned draw_later(Evaluator& e, PyObject* callable, const Arguments& args) {
  const bool of_c = PyCFunction_Check(callable);
  if (!of_c && !PyMethod_Check(callable)) return {};
  PyObject* self = of_c ? PyCFunction_GET_SELF(callable) : PyMethod_GET_SELF(callable);
  if (self == nullptr || std::string_view(Py_TYPE(self)->tp_name) != "Random" || self != shared_generator()) return {};
  const Owned name = Owned::take(PyObject_GetAttrString(callable, "__name__"));
  const std::string_view what = text_of(name.get());
  static constexpr std::string_view kDraws[] = {"random",      "uniform",        "randint",         "randrange",
                                                "gauss",       "normalvariate",  "triangular",      "betavariate",
                                                "expovariate", "lognormvariate", "vonmisesvariate", "gammavariate",
                                                "choice",      "paretovariate",  "weibullvariate"};
  if (args.named() != 0 || std::find(std::begin(kDraws), std::end(kDraws), what) == std::end(kDraws)) return {};
  std::vector<Owned> fixed;
  std::vector<PyObject*> all;
  for (const Owned& value : args.values) {
    if (later_of(value.get())) return {};
    all.push_back(fixed.emplace_back(fixed_number(value.get())).get());
  }
  if (what != "choice") {
    if (!std::all_of(all.begin(), all.end(), is_number)) return {};
    return draw_number(e, callable, all);
  }
  // Which of them; they are constants all.
  if (all.size() != 1 || (!PyList_CheckExact(all[0]) && !PyTuple_CheckExact(all[0]))) return {};
  const Owned items = Owned::take(PySequence_Tuple(e.origins.absorb(all[0])));
  if (!is_constant(items.get()) || PyTuple_GET_SIZE(items.get()) == 0) return {};
  static PyObject* const below = member("sconce._polyfills.of_numbers", "random_below");
  static PyObject* const getitem = member("_operator", "getitem");
  const Owned count = Owned::take(PyLong_FromSsize_t(PyTuple_GET_SIZE(items.get())));
  PyObject* const counts[] = {count.get()};
  const Owned index = draw_number(e, below, counts);
  if (!index) return {};
  PyObject* const parts[] = {items.get(), index.get()};
  return make_later(e, getitem, parts, Owned::share(PyTuple_GET_ITEM(items.get(), 0)));
}

void want_now(PyObject* object) {
  if (later_of(object)) break_here(Reason::data_dependent, "a value that is known when the graph has run");
}

}  // namespace sconce::python::capture
