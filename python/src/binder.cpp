#include "binder.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <unordered_map>

#include <structmember.h>

#include "interop/torch_function.h"
#include "long_call.h"
#include "programs/tracing.h"
#include "quick_call.h"
#include "sconce/autograd/variable.h"
#include "sconce/base/error.h"
#include "sconce/base/inline_vector.h"
#include "sconce/dispatch/registry.h"
#include "tensor_object.h"
#include "values.h"

namespace sconce::python {

struct Overloads {
  std::string name;  // "add"
  std::vector<const Op*> ops;
  bool takes_numbers = false;  // for tensors, as torch.ops does
  std::vector<QuickOverload> quick;

  Overloads(std::string name, std::vector<const Op*> ops, bool takes_numbers = false)
      : name(std::move(name)), ops(std::move(ops)), takes_numbers(takes_numbers) {
    for (const Op* op : this->ops) quick.emplace_back(*op);
  }
  Face face() const { return takes_numbers ? Face::operator_ : Face::function; }
};

namespace {

bool is_out(const Argument& a) { return a.keyword_only && a.alias && a.alias->write; }

// Tries to fit a call to one overload.
class Fit {
 public:
  // `takes_numbers`: for tensors. `explains`: `reason` is wanted, which costs more than the attempt.
  Fit(const Schema& schema, const Given& given, bool takes_numbers, bool explains)
      : schema_(schema),
        given_(given),
        takes_numbers_(takes_numbers),
        explains_(explains),
        used_(given.keywords(), false) {}

  // Fills one Value per argument of the schema; false when the call does not fit, and `reason` then says why.
  bool run(Value* values) {
    size_t position = 0;
    for (size_t i = 0; i < schema_.arguments.size(); ++i) {
      const Argument& a = schema_.arguments[i];
      if (!a.keyword_only && position < given_.positional.size()) {
        if (takes_rest(i, position)) {
          if (!rest(a, position, values[i])) return false;
          position = given_.positional.size();
          continue;
        }
        PyObject* o = given_.positional[position++];
        if (!fits(o, a, values[i])) return wrong(a, o, position);
        if (traced_) objects_.emplace_back(&a, o);
        continue;
      }
      PyObject* o = is_out(a) ? out(i) : keyword(a);
      if (o != nullptr) {
        if (!fits(o, a, values[i])) return wrong(a, o, 0);
        if (traced_) objects_.emplace_back(&a, o);
      } else if (a.default_value) {
        values[i] = *a.default_value;
      } else {
        return because([&] { return "missing a required argument: '" + shown_name(a) + "'"; });
      }
    }
    if (position < given_.positional.size()) {
      return because([&] {
        return "takes " + std::to_string(position) + " positional arguments but " +
               std::to_string(given_.positional.size()) + " were given";
      });
    }
    for (size_t k = 0; k < used_.size(); ++k) {
      if (used_[k] || takes_requires_grad(k)) continue;
      return because(
          [&] { return "got an unexpected keyword argument '" + std::string(text_of(given_.name(k))) + "'"; });
    }
    return true;
  }

  // While tracing, after run(): numbers of the graph are named for the recorder, and options that PyTorch's functions fill
  // in are filled in.
  void prepare_trace(Value* values) const {
    for (const auto& [a, o] : objects_) stash_argument(*a, o);
    for (size_t i = rest_from_; rest_ && i < given_.positional.size(); ++i)
      stash_element(*rest_, given_.positional.size() - rest_from_, i - rest_from_, given_.positional[i]);
    const std::optional<size_t> pinned = schema_.find_argument("pin_memory");
    if (!pinned || schema_.name == "aten::to" || schema_.name == "aten::_to_copy") return;
    if (values[*pinned].is_none()) values[*pinned] = false;
    const std::optional<size_t> device = schema_.find_argument("device");
    const auto is_tensor_argument = [](const Argument& a) { return a.type->is(TypeKind::tensor); };
    if (device && values[*device].is_none() &&
        std::none_of(schema_.arguments.begin(), schema_.arguments.end(), is_tensor_argument))
      values[*device] = Device{};
  }

  std::string reason;
  bool requires_grad = false;  // of the result

 private:
  // Functions that make tensors take requires_grad=, which no schema has.
  bool takes_requires_grad(size_t k) {
    Value wanted;
    if (text_of(given_.name(k)) != "requires_grad" || !schema_.find_argument("pin_memory")) return false;
    if (!convert(given_.named[k], bool_type(), std::nullopt, wanted)) return false;
    requires_grad = wanted.to_bool();
    return true;
  }

  bool fits(PyObject* o, const Argument& a, Value& out) const {
    if (convert(o, a.type, a.fixed_size, out)) return true;
    if (!takes_numbers_ || !a.type->is(TypeKind::tensor) || !convert(o, number_type(), std::nullopt, out)) return false;
    const Scalar v = out.to_scalar();
    const DType dtype = v.is_bool()       ? DType::bool_
                        : v.is_integral() ? DType::int64
                        : v.is_real()     ? DType::float64
                                          : DType::complex128;
    const Tensor t = scalar_tensor_of(v, dtype);
    t.set_wrapped_number();
    out = Value(t);
    return true;
  }

  static std::string shown_name(const Argument& a) { return a.name == "self" ? "input" : a.name; }

  // view(2, 3), meshgrid(a, b): a list of integers or tensors that is the last positional argument may be written without
  // brackets.
  bool takes_rest(size_t i, size_t position) const {
    const Argument& a = schema_.arguments[i];
    if (!a.type->is(TypeKind::list)) return false;
    PyObject* first = given_.positional[position];
    if (PyTuple_Check(first) || PyList_Check(first)) return false;
    if (i + 1 < schema_.arguments.size() && !schema_.arguments[i + 1].keyword_only) return false;
    const TypeKind element = a.type->element()->kind();
    if (element == TypeKind::tensor) return i == 0 && is_tensor(first);
    if (element != TypeKind::int_ && element != TypeKind::sym_int) return false;
    // Only of methods and factories; one number for int[2] is another matter.
    return i <= 1 && (given_.positional.size() - position > 1 || !a.fixed_size);
  }
  bool rest(const Argument& a, size_t position, Value& out) {
    auto list = make_ref<List>(a.type->element());
    rest_ = &a;
    rest_from_ = position;
    for (; position < given_.positional.size(); ++position) {
      Value item;
      PyObject* o = given_.positional[position];
      if (!convert(o, a.type->element(), std::nullopt, item)) return wrong(a, o, position + 1);
      list->append(std::move(item));
    }
    out = Value(std::move(list));
    return true;
  }

  PyObject* keyword(const Argument& a) {
    for (size_t k = 0; k < used_.size(); ++k) {
      const std::string_view name = text_of(given_.name(k));
      if (used_[k] || (name != a.name && !(a.name == "self" && name == "input"))) continue;
      used_[k] = true;
      return given_.named[k];
    }
    return nullptr;
  }
  // out=t, or out=(values, indices) for several.
  PyObject* out(size_t i) {
    const auto& arguments = schema_.arguments;
    for (size_t k = 0; k < used_.size(); ++k) {
      if (text_of(given_.name(k)) != "out") continue;
      used_[k] = true;
      size_t count = 0, mine = 0;
      for (size_t j = 0; j < arguments.size(); ++j) {
        if (!is_out(arguments[j])) continue;
        if (j == i) mine = count;
        ++count;
      }
      if (count == 1) return given_.named[k];
      PyObject* several = given_.named[k];
      if (!PyTuple_Check(several) || PyTuple_GET_SIZE(several) != static_cast<Py_ssize_t>(count)) return several;
      return PyTuple_GET_ITEM(several, static_cast<Py_ssize_t>(mine));
    }
    return keyword(arguments[i]);
  }

  bool wrong(const Argument& a, PyObject* o, size_t position) {
    return because([&] {
      return "argument '" + shown_name(a) + "'" +
             (position ? " (position " + std::to_string(position) + ")" : std::string()) + " must be " +
             type_text(a.type) + ", not " + std::string(class_name(o));
    });
  }
  template <class F>
  bool because(F&& text) {
    if (explains_) reason = text();
    return false;
  }

  const Schema& schema_;
  const Given& given_;
  const bool takes_numbers_, explains_, traced_ = is_tracing();
  std::vector<bool> used_;
  std::vector<std::pair<const Argument*, PyObject*>> objects_;  // what was given, while tracing
  const Argument* rest_ = nullptr;                              // the list that was given without brackets
  size_t rest_from_ = 0;
};

// ---- named results: sort() gives return_types.sort(values=..., indices=...) ----

// As PyTorch shows them: a line for each field.
PyObject* show_results(PyObject* self) {
  return guarded([&]() -> PyObject* {
    const std::string_view name = Py_TYPE(self)->tp_name;
    std::string shown = "torch" + std::string(name.substr(name.find('.'))) + "(\n";
    const PyMemberDef* field = Py_TYPE(self)->tp_members;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i, ++field) {
      const Owned item = Owned::take(PyObject_Repr(PyTuple_GET_ITEM(self, i)));
      shown += (i > 0 ? ",\n" : "") + std::string(field->name) + "=" + std::string(text_of(item.get()));
    }
    return text(shown + ")").give();
  });
}

PyTypeObject* result_type(const Op& op) {
  static auto& known = *new std::unordered_map<std::string, PyTypeObject*>;
  const Schema& schema = op.schema();
  std::string key = schema.name;
  for (const Argument& r : schema.returns) {
    if (r.name.empty()) return nullptr;
    key += " " + r.name;
  }
  const auto [found, added] = known.try_emplace(key);
  if (!added) return found->second;
  auto* fields = new std::vector<PyStructSequence_Field>;  // lives as long as the type
  for (const Argument& r : schema.returns) fields->push_back({r.name.c_str(), nullptr});
  fields->push_back({nullptr, nullptr});
  const auto* name = new std::string("sconce.return_types." + schema.name.substr(schema.name.find("::") + 2));
  PyStructSequence_Desc description{name->c_str(), nullptr, fields->data(), static_cast<int>(schema.returns.size())};
  found->second = PyStructSequence_NewType(&description);
  if (found->second == nullptr) throw PythonError();
  found->second->tp_repr = show_results;
  return found->second;
}

// Functions and methods give tuples where operators give lists of tensors.
Owned result_of(const Value& v, TypePtr type, Face face) {
  Owned made = object_of(v, type);
  return face == Face::function && v.is_list() ? Owned::take(PyList_AsTuple(made.get())) : std::move(made);
}

Owned results_of(const Op& op, Value* returns, Face face) {
  const std::vector<Argument>& types = op.schema().returns;
  if (types.empty()) return Owned::share(Py_None);
  if (types.size() == 1) return result_of(returns[0], types[0].type, face);
  PyTypeObject* named = face == Face::function ? result_type(op) : nullptr;
  const auto n = static_cast<Py_ssize_t>(types.size());
  Owned made = Owned::take(named ? PyStructSequence_New(named) : PyTuple_New(n));
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = result_of(returns[i], types[static_cast<size_t>(i)].type, face).give();
    if (named)
      PyStructSequence_SetItem(made.get(), i, item);
    else
      PyTuple_SET_ITEM(made.get(), i, item);
  }
  return made;
}

// How much work a call is, as the table says; a guess for small ones. Of tensors in lists every one counts.
double work_of(const Op& op, const Value* values, size_t n) {
  int64_t elements = 0;
  bool other = false;  // what the elements do not say: lists, sizes of what is made
  for (size_t i = 0; i < n; ++i) {
    if (values[i].is_tensor())
      elements += values[i].to_tensor().numel();
    else
      other |= values[i].is_list();
  }
  if (elements < 512 && !other) [[likely]]
    return 0;
  const WorkFunction work = terms_of(op).work;
  return std::max(static_cast<double>(elements), work ? work_of_call(work, values, n) : 0.0);
}

std::string given_types(const Given& given) {
  std::string out;
  const auto add = [&](const std::string& part) { out += (out.empty() ? "" : ", ") + part; };
  for (PyObject* o : given.positional) add(std::string(class_name(o)));
  for (size_t k = 0; k < given.keywords(); ++k)
    add(std::string(text_of(given.name(k))) + "=" + std::string(class_name(given.named[k])));
  return "(" + out + ")";
}

std::string signature(const Schema& schema) {
  std::string out;
  bool keywords = false;
  for (const Argument& a : schema.arguments) {
    if (!out.empty()) out += ", ";
    if (a.keyword_only && !keywords) out += "*, ";
    keywords |= a.keyword_only;
    out += type_text(a.type) + " " + (a.name == "self" ? "input" : a.name);
    if (a.default_value) out += " = " + (a.default_text.empty() ? "None" : a.default_text);
  }
  return "(" + out + ")";
}

// While tracing, arithmetic with numbers is that with tensors: PyTorch's functions of these names have no signature with a
// number, so that graphs have a constant tensor there.
bool wraps_numbers(std::string_view name) {
  if (name.ends_with('_')) name.remove_suffix(1);
  for (const std::string_view known :
       {"add", "sub", "mul", "div", "subtract", "multiply", "divide", "true_divide", "floor_divide"}) {
    if (name == known) return true;
  }
  return false;
}

// Throws Error (type) in PyTorch's words; returns an empty reference when `quiet`.
Owned call_slowly(const Overloads& overloads, const Given& given, bool quiet) {
  for (const Op* op : overloads.ops) {
    const Schema& schema = op->schema();
    InlineVector<Value, 8> values(schema.arguments.size());
    Fit fit(schema, given, overloads.takes_numbers, false);
    if (!fit.run(values.data())) continue;
    Owned result = call_with_values(*op, values.data(), overloads.face());
    if (fit.requires_grad) autograd::set_requires_grad(tensor_of(result.get()), true);
    return result;
  }
  if (quiet) return {};
  const Op* only = nullptr;  // without out=
  for (const Op* op : overloads.ops) {
    if (op->has(Trait::out)) continue;
    if (only) {
      only = nullptr;
      break;
    }
    only = op;
  }
  if (only) {
    InlineVector<Value, 8> values(only->schema().arguments.size());
    Fit fit(only->schema(), given, overloads.takes_numbers, true);
    fit.run(values.data());
    fail_as(ErrorKind::type, "{}(): {}", overloads.name, fit.reason);
  }
  std::string message = overloads.name + "() received an invalid combination of arguments - got " + given_types(given) +
                        ", but expected one of:\n";
  for (const Op* op : overloads.ops) message += " * " + signature(op->schema()) + "\n";
  fail_as(ErrorKind::type, "{}", message);
}

// Where PyTorch's functions of Python try overloads in another order than the registry, with equal results but another
// node: those with lists of scales first, those that ask for unbiased= alone last.
std::vector<const Op*> in_order_of_python(std::vector<const Op*> ops) {
  std::stable_partition(ops.begin(), ops.end(),
                        [](const Op* op) { return op->info.overload == std::string_view("vec"); });
  std::stable_partition(ops.begin(), ops.end(), [](const Op* op) {
    const std::vector<Argument>& arguments = op->schema().arguments;
    return arguments.size() != 2 || arguments[1].name != "unbiased";
  });
  return ops;
}

// Empty when no overload fits.
Owned call_traced(const Overloads& overloads, const Given& given) {
  const bool wraps = wraps_numbers(overloads.name);
  for (const Op* op : in_order_of_python(overloads.ops)) {
    const Schema& schema = op->schema();
    const std::optional<size_t> other = schema.find_argument("other");
    if (wraps && other && schema.arguments[*other].type->is(TypeKind::number)) continue;
    InlineVector<Value, 8> values(schema.arguments.size());
    Fit fit(schema, given, overloads.takes_numbers || wraps, false);
    if (!fit.run(values.data())) continue;
    fit.prepare_trace(values.data());
    Owned result = call_with_values(*op, values.data(), overloads.face());
    if (tracing::Tracer* tracer = tracing::Tracer::current()) tracer->clear_stash();
    if (fit.requires_grad) autograd::set_requires_grad(tensor_of(result.get()), true);
    return result;
  }
  return {};
}

// See Note [Quick calls]. `function`: what classes with __torch_function__ are told; null for slots of Tensor, which
// tell the method of the name.
Owned call_overloads(const Overloads& overloads, const Given& given, bool quiet, PyObject* function) {
  const bool traced = is_tracing();
  const bool asked = traced || FunctionModes::any();
  if (given.positional.size() == 2 && given.names == nullptr && !overloads.quick.empty() &&
      overloads.quick[0].takes_pair() && is_plain_tensor(given.positional[0]) && is_plain_tensor(given.positional[1]) &&
      !asked)
    return overloads.quick[0].call_pair(given.positional[0], given.positional[1]);
  for (const QuickOverload& overload : overloads.quick) {
    if (asked) break;
    Owned result;
    const QuickOverload::Outcome outcome = overload.call(given, overloads.face(), result);
    if (outcome == QuickOverload::Outcome::done) return result;
    if (outcome == QuickOverload::Outcome::unusual) break;
  }
  if (const TorchFunction overriding(given); overriding) {
    Owned method;
    if (function == nullptr) {
      // 2 ** t: a method takes a tensor first.
      const bool of_tensor = !given.positional.empty() && is_tensor(given.positional[0]);
      method =
          of_tensor
              ? Owned::take(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&tensor_type), overloads.name.c_str()))
              : find_packet("aten::" + overloads.name);
      function = method.get();
    }
    return overriding.call(function, given);
  }
  if (traced) {
    if (Owned result = call_traced(overloads, given)) return result;
  }
  return call_slowly(overloads, given, quiet);
}

// ---- the function object ----

enum class Role : uint8_t { function, method, packet, overload };

// Functions of the module and methods of Tensor are made for all names when the module is; what they call is looked up
// on first use.
struct FunctionObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  const Overloads* overloads;  // its own; null until it is used
  PyObject* name;
  Role role;
};
extern PyTypeObject function_type;

FunctionObject& function_of(PyObject* self) { return *reinterpret_cast<FunctionObject*>(self); }

PyObject* call_function(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
  return guarded([&] {
    const auto n = static_cast<size_t>(PyVectorcall_NARGS(flags));
    const Given given{{args, n}, names, args + n};
    return call_overloads(*function_of(self).overloads, given, false, self).give();
  });
}

std::vector<const Op*> overloads_for(std::string_view name, Role role);

const Overloads& overloads_of(PyObject* self) {
  FunctionObject& object = function_of(self);
  if (object.overloads == nullptr) {
    const std::string name(text_of(object.name));
    std::vector<const Op*> ops = overloads_for(name, object.role);
    SCONCE_CHECK_AS(type, !ops.empty(), "{}() has no overload that Python can call", name);
    object.overloads = new Overloads(name, std::move(ops), object.role == Role::packet);
    object.vectorcall = call_function;
  }
  return *object.overloads;
}
PyObject* call_first(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
  const bool found = guarded([&] {
    overloads_of(self);
    return true;
  });
  return found ? call_function(self, args, flags, names) : nullptr;
}

void function_dealloc(PyObject* self) {
  delete function_of(self).overloads;
  Py_DECREF(function_of(self).name);
  PyObject_Free(self);
}
PyObject* function_repr(PyObject* self) {
  const Role role = function_of(self).role;
  return PyUnicode_FromFormat("<%s %U>", role == Role::packet ? "operator" : "function", function_of(self).name);
}
PyObject* function_get(PyObject* self, PyObject* object, PyObject*) {
  return object == nullptr ? Py_NewRef(self) : PyMethod_New(self, object);
}
// Written by sconce._documentation: signatures, what the table says, an example.
PyObject* function_doc(PyObject* self, void*) {
  return guarded([&] {
    const Owned schemas = Owned::take(PyList_New(0));
    Owned doc = Owned::share(Py_None);
    for (const Op* op : overloads_of(self).ops) {
      check(PyList_Append(schemas.get(), text(op->schema().to_string()).get()));
      if (op->info.texts.doc && doc.get() == Py_None) doc = text(op->texts().doc);
    }
    const Owned module = Owned::take(PyImport_ImportModule("sconce._documentation"));
    return PyObject_CallMethod(module.get(), "describe", "OOOi", function_of(self).name, schemas.get(), doc.get(),
                               function_of(self).role == Role::method ? 1 : 0);
  });
}
PyObject* function_name(PyObject* self, void*) { return Py_NewRef(function_of(self).name); }

Owned make_function(PyObject* name, Role role) {
  auto* object = PyObject_New(FunctionObject, &function_type);
  Owned made = Owned::take(reinterpret_cast<PyObject*>(object));
  object->vectorcall = call_first;
  object->overloads = nullptr;
  object->name = Py_NewRef(name);
  object->role = role;
  return made;
}

PyObject* function_attribute(PyObject* self, PyObject* name) {
  PyObject* found = PyObject_GenericGetAttr(self, name);
  if (found || function_of(self).role != Role::packet || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  return guarded([&]() -> PyObject* {
    const std::string_view wanted = text_of(name);
    for (const Op* op : overloads_of(self).ops) {
      if (wanted != (*op->info.overload ? op->info.overload : "default")) continue;
      PyErr_Clear();
      static auto& known = *new std::unordered_map<const Op*, PyObject*>;  // one object each: graphs compare targets
      PyObject*& kept = known[op];
      if (kept == nullptr) {
        Owned made = make_function(text(op->qualified_name()).get(), Role::overload);
        function_of(made.get()).overloads = new Overloads(op->qualified_name(), {op}, true);
        function_of(made.get()).vectorcall = call_function;
        kept = made.give();
      }
      return Py_NewRef(kept);
    }
    throw PythonError();
  });
}
PyObject* packet_overloads(PyObject* self, PyObject*) {
  return guarded([&] {
    Owned list = Owned::take(PyList_New(0));
    for (const Op* op : overloads_of(self).ops)
      check(PyList_Append(list.get(), text(*op->info.overload ? op->info.overload : "default").get()));
    return list.give();
  });
}

PyObject* function_schemas(PyObject* self, void*) {
  return guarded([&] {
    Owned list = Owned::take(PyList_New(0));
    for (const Op* op : overloads_of(self).ops) check(PyList_Append(list.get(), text(op->schema().to_string()).get()));
    return list.give();
  });
}

PyGetSetDef function_properties[] = {
    {"_schemas", function_schemas, nullptr, "The schemas of all overloads, as texts.", nullptr},
    {"__doc__", function_doc, nullptr, nullptr, nullptr},
    {"__name__", function_name, nullptr, nullptr, nullptr},
    {"__qualname__", function_name, nullptr, nullptr, nullptr},
    {}};
PyMethodDef function_methods[] = {{"overloads", packet_overloads, METH_NOARGS, "The names of all overloads."}, {}};

PyTypeObject make_function_type() {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "sconce.OperatorFunction";
  type.tp_basicsize = sizeof(FunctionObject);
  type.tp_vectorcall_offset = offsetof(FunctionObject, vectorcall);
  type.tp_call = PyVectorcall_Call;
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR |
                  Py_TPFLAGS_DISALLOW_INSTANTIATION;
  type.tp_dealloc = function_dealloc;
  type.tp_repr = function_repr;
  type.tp_descr_get = function_get;
  type.tp_getattro = function_attribute;
  type.tp_getset = function_properties;
  type.tp_methods = function_methods;
  return type;
}
PyTypeObject function_type = make_function_type();

bool holds_tensor(TypePtr type) {
  if (type->is(TypeKind::optional) || type->is(TypeKind::list)) return holds_tensor(type->element());
  return type->is(TypeKind::tensor);
}
// From the text of the schema: parsing all of them takes milliseconds.
bool seems_for_python(const Op& op) {
  return std::strstr(op.schema_text(), "Tensor") != nullptr && std::strstr(op.schema_text(), "Dict(") == nullptr;
}
// TorchScript's operators on numbers, strings, lists and dicts are no functions of PyTorch's Python.
bool is_for_python(const Op& op) {
  if (!seems_for_python(op)) return false;
  const Schema& schema = op.schema();
  const auto has_tensor = [](const Argument& a) { return holds_tensor(a.type); };
  return !schema.is_vararg && (std::any_of(schema.arguments.begin(), schema.arguments.end(), has_tensor) ||
                               std::any_of(schema.returns.begin(), schema.returns.end(), has_tensor));
}
// Does `a` take tensors where `b` takes numbers, and the same otherwise?
bool takes_tensors_for_numbers(const Op& a, const Op& b) {
  const std::vector<Argument>&x = a.schema().arguments, &y = b.schema().arguments;
  if (x.size() != y.size()) return false;
  bool differs = false;
  for (size_t i = 0; i < x.size(); ++i) {
    const bool optional = x[i].type->is(TypeKind::optional) && y[i].type->is(TypeKind::optional);
    const TypePtr s = optional ? x[i].type->element() : x[i].type, t = optional ? y[i].type->element() : y[i].type;
    if (s == t) continue;
    if (!s->is(TypeKind::tensor) || !t->is(TypeKind::number)) return false;
    differs = true;
  }
  return differs;
}
// A tensor without dimensions fits both kinds of overloads; Python tries those that take tensors first.
void put_tensors_before_numbers(std::vector<const Op*>& ops) {
  for (size_t j = 1; j < ops.size(); ++j) {
    for (size_t i = 0; i < j; ++i) {
      if (!takes_tensors_for_numbers(*ops[j], *ops[i])) continue;
      std::rotate(ops.begin() + static_cast<ptrdiff_t>(i), ops.begin() + static_cast<ptrdiff_t>(j),
                  ops.begin() + static_cast<ptrdiff_t>(j) + 1);
      break;
    }
  }
}
// Overloads with out= come last: a call without it cannot mean them.
std::vector<const Op*> for_python(std::vector<const Op*> ops) {
  std::erase_if(ops, [](const Op* op) { return !is_for_python(*op); });
  put_tensors_before_numbers(ops);
  std::stable_partition(ops.begin(), ops.end(), [](const Op* op) { return !op->has(Trait::out); });
  return ops;
}

std::vector<const Op*> overloads_for(std::string_view name, Role role) {
  if (role == Role::packet) return find_overloads(name);
  std::vector<const Op*> ops = for_python(find_overloads("aten::" + std::string(name)));
  if (role == Role::method) {
    std::erase_if(ops, [](const Op* op) {
      const std::vector<Argument>& arguments = op->schema().arguments;
      return op->has(Trait::out) || arguments.empty() || arguments[0].name != "self" ||
             !arguments[0].type->is(TypeKind::tensor);
    });
  }
  return ops;
}

// What overloads_for would keep as a method.
bool seems_method(const Op& op) {
  std::string_view text = op.schema_text();
  text.remove_prefix(text.find('(') + 1);
  if (op.has(Trait::out) || !text.starts_with("Tensor")) return false;
  text = text.substr(0, text.find_first_of(",=)", text.starts_with("Tensor(") ? text.find(')') + 1 : 0));
  return text.ends_with(" self") && text.find_first_of("[?") == text.npos;
}

// Adds a function to a dict that has none of the name yet.
void add_function(PyObject* dict, std::string_view name, Role role) {
  Owned key = text(name);
  PyObject* interned = key.give();
  PyUnicode_InternInPlace(&interned);
  key = Owned::take(interned);
  const int known = PyDict_Contains(dict, key.get());
  check(known);
  if (!known) check(PyDict_SetItem(dict, key.get(), make_function(key.get(), role).get()));
}

}  // namespace

Owned find_function(std::string_view name) {
  if (overloads_for(name, Role::function).empty()) return {};
  return make_function(text(name).get(), Role::function);
}

Owned find_packet(std::string_view qualified) {
  if (find_overloads(qualified).empty()) return {};
  return make_function(text(qualified).get(), Role::packet);
}

void add_functions(PyObject* dict) {
  for (const Op* op : all_ops()) {
    const std::string_view name = op->info.name;
    if (!name.starts_with("aten::") || name.starts_with("aten::__") || !seems_for_python(*op)) continue;
    add_function(dict, name.substr(6), Role::function);
  }
}
void add_methods(PyObject* dict) {
  for (const Op* op : all_ops()) {
    const std::string_view name = op->info.name;
    if (name.starts_with("aten::") && seems_method(*op)) add_function(dict, name.substr(6), Role::method);
  }
}

std::vector<std::string> function_names() {
  std::set<std::string> names;
  for (const Op* op : all_ops()) {
    const std::string_view name = op->info.name;
    if (name.starts_with("aten::") && !name.starts_with("aten::__") && is_for_python(*op))
      names.emplace(name.substr(6));
  }
  return {names.begin(), names.end()};
}

Owned call(const Overloads& overloads, std::span<PyObject* const> args, bool or_not_implemented) {
  Owned result = call_overloads(overloads, {args, nullptr, nullptr}, or_not_implemented, nullptr);
  return result ? std::move(result) : Owned::share(Py_NotImplemented);
}
const Overloads& overloads_for_slot(const char* name) {
  return *new Overloads(name, overloads_for(name, Role::function));
}

Owned call_with_values(const Op& op, Value* values, Face face) {
  const Schema* parsed = __atomic_load_n(&op.parsed, __ATOMIC_ACQUIRE);
  const Schema& schema = parsed ? *parsed : op.schema();
  InlineVector<Value, 4> returns(std::max<size_t>(schema.returns.size(), 1));
  if (is_tracing()) {
    op.call_boxed(values, returns.data());  // the recorder asks Python where it is
  } else {
    run_long(work_of(op, values, schema.arguments.size()), [&] { op.call_boxed(values, returns.data()); });
  }
  if (schema.returns.size() == 1 && returns.data()[0].is_tensor()) return wrap(returns.data()[0].to_tensor());
  return results_of(op, returns.data(), face);
}

bool is_library_function(PyObject* object) { return Py_IS_TYPE(object, &function_type); }

void add_binder(PyObject* module) { check(PyModule_AddType(module, &function_type)); }

}  // namespace sconce::python
