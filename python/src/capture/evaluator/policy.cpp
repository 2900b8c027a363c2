#include "capture/evaluator/policy.h"

#include "capture/evaluator/evaluator.h"

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace sconce::python::capture {
namespace {

std::unordered_map<PyObject*, Known> table;

// Finds "list.append" or "len" in a module; null: this version of Python has none.
PyObject* find(const char* module, std::string_view path) {
  PyObject* at = PyImport_ImportModule(module);
  while (at != nullptr && !path.empty()) {
    const size_t dot = path.find('.');
    const std::string part(path.substr(0, dot));
    PyObject* next = PyObject_GetAttrString(at, part.c_str());
    Py_DECREF(at);
    at = next;
    path = dot == std::string_view::npos ? "" : path.substr(dot + 1);
  }
  if (at == nullptr) PyErr_Clear();
  return at;
}

struct Row {
  const char* module;
  const char* names;  // apart by spaces
  Treatment treatment;
  bool iterables;
};
constexpr Row kRows[] = {
    // Look at no element.
    {"builtins",
     "list.append list.insert list.pop list.reverse list.clear list.copy dict.clear dict.copy dict.items dict.values "
     "dict.popitem set.clear set.copy slice id BaseExceptionGroup.__init__",
     Treatment::blind, false},
    {"builtins", "list list.__init__ list.extend tuple enumerate zip reversed", Treatment::blind, true},
    {"itertools",
     "chain chain.from_iterable islice cycle repeat count zip_longest pairwise tee product combinations permutations "
     "combinations_with_replacement compress",
     Treatment::blind, true},
    {"collections",
     "deque deque.append deque.appendleft deque.pop deque.popleft deque.extend deque.extendleft deque.clear deque.copy "
     "deque.rotate deque.reverse OrderedDict.move_to_end",
     Treatment::blind, true},
    // Look at elements, but run no code of Python when these have none.
    {"builtins",
     "abs ascii bin chr divmod hex max min oct ord pow round sorted sum any all dict set frozenset bytes bytearray "
     "complex memoryview object range BaseException.__init__ BaseException.with_traceback dict.fromkeys str.maketrans "
     "bytes.fromhex int.from_bytes float.fromhex",
     Treatment::native, true},
    {"collections", "defaultdict", Treatment::blind, true},
    {"collections", "OrderedDict OrderedDict.fromkeys", Treatment::native, true},
    {"itertools", "accumulate groupby", Treatment::native, true},
    {"sys", "intern", Treatment::native, false},
    {"posix", "_path_normpath _path_splitroot _path_splitroot_ex", Treatment::native, false},
    {"_bisect", "bisect bisect_left bisect_right insort insort_left insort_right", Treatment::native, false},
    {"_heapq", "heappush heappop heapify heapreplace heappushpop", Treatment::native, false},
    // Write to the world.
    {"builtins", "print input open", Treatment::output, false},
};
// All functions of these modules are functions of their arguments alone.
constexpr const char* kPureModules[] = {"math", "cmath", "_operator", "_struct", "unicodedata", "_string", "_json"};

std::unordered_set<std::string_view>& pure_modules() {
  static std::unordered_set<std::string_view> all(std::begin(kPureModules), std::end(kPureModules));
  return all;
}

bool filled = false;
void fill() {
  filled = true;
  for (const Row& row : kRows) {
    std::string_view names = row.names;
    while (!names.empty()) {
      const size_t space = names.find(' ');
      const std::string name(names.substr(0, space));
      add_known(row.module, name.c_str(), Known{row.treatment, nullptr, row.iterables});
      names = space == std::string_view::npos ? "" : names.substr(space + 1);
    }
  }
  add_builtins();
  add_library_calls();
  add_training_calls();
  add_control_flow_calls();
}

Owned seed_generator(Evaluator& e, PyObject* callable, Arguments& args) {
  if (args.values.size() != 2 || !is_constant(args[1]) || args[1] == Py_None || e.origins.outside(args[0]))
    break_here(Reason::state);
  return e.native(callable, args, true);
}

PyObject* polyfills(const char* name) {
  PyObject* module = PyImport_ImportModule("sconce._polyfills");
  if (module == nullptr) throw PythonError();
  const Owned owned = Owned::take(module);
  return Owned::take(PyObject_GetAttrString(module, name)).give();
}

}  // namespace

void add_known(const char* module, const char* name, Known known) {
  if (PyObject* found = find(module, name)) table[found] = known;  // kept for good
}

void add_known(PyObject* callable, Known known) { table[Py_NewRef(callable)] = known; }

Known known_of(PyObject* callable) {
  if (!filled) fill();
  const auto at = table.find(callable);
  if (at != table.end()) return at->second;
  PyTypeObject* type = Py_TYPE(callable);
  if (type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type || type == &PyClassMethodDescr_Type) {
    PyTypeObject* of = PyDescr_TYPE(callable);
    // Equal descriptors may be other objects: super().append of a subclass finds the same one, so address is enough.
    static const std::unordered_set<std::string_view> over_iterables = {"extend",
                                                                        "extendleft",
                                                                        "update",
                                                                        "union",
                                                                        "intersection",
                                                                        "difference",
                                                                        "symmetric_difference",
                                                                        "issubset",
                                                                        "issuperset",
                                                                        "isdisjoint",
                                                                        "join",
                                                                        "__init__",
                                                                        "intersection_update",
                                                                        "difference_update",
                                                                        "symmetric_difference_update",
                                                                        "fromkeys",
                                                                        "sort"};
    if (std::string_view(of->tp_name) == "_random.Random")  // seed() without a number asks the world
      return {text_of(PyDescr_NAME(callable)) == "seed" ? Treatment::handler : Treatment::native, seed_generator,
              false};
    if (std::string_view(of->tp_name).starts_with("datetime.")) {  // the clock, the zone and the language of the world
      static const std::unordered_set<std::string_view> of_the_world = {
          "now",        "today",     "utcnow",   "fromtimestamp", "utcfromtimestamp",
          "astimezone", "timestamp", "strftime", "strptime",      "__format__"};
      if (of_the_world.contains(text_of(PyDescr_NAME(callable)))) return {};
    }
    const bool iterables = over_iterables.contains(text_of(PyDescr_NAME(callable)));
    return is_plain_class(of) ? Known{Treatment::native, nullptr, iterables} : Known{};
  }
  if (type == &PyCFunction_Type) {
    PyObject* self = PyCFunction_GET_SELF(callable);
    if (self != nullptr && PyModule_Check(self)) {
      const char* name = PyModule_GetName(self);
      if (name == nullptr)
        PyErr_Clear();
      else if (pure_modules().contains(name))
        return {Treatment::native, nullptr, true};
    }
    return {};
  }
  if (PyType_Check(callable)) {
    auto* made = reinterpret_cast<PyTypeObject*>(callable);
    if (std::string_view(made->tp_name).starts_with("decimal.") && is_plain_class(made))
      return {Treatment::native, nullptr, true};
    if (made->tp_flags & Py_TPFLAGS_HEAPTYPE) return {};
    if (PyType_IsSubtype(made, reinterpret_cast<PyTypeObject*>(PyExc_BaseException)))
      return {Treatment::blind, nullptr, false};
    if (is_plain_class(made)) return {Treatment::native, nullptr, true};
  }
  return {};
}

bool is_plain_class(PyTypeObject* type) {
  static std::unordered_map<PyTypeObject*, bool> known;
  const auto [at, fresh] = known.try_emplace(type, false);
  if (!fresh) return at->second;
  const std::string_view name(type->tp_name);
  bool plain = false;
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
    plain = name.find('.') == std::string_view::npos || name.starts_with("collections.") ||
            name.starts_with("itertools.") || name.starts_with("_collections.") || name.starts_with("types.") ||
            name == "torch.dtype" || name == "torch.device" || name == "torch.layout" ||
            name == "torch.memory_format" || name == "torch.Size" || name == "torch.finfo" || name == "torch.iinfo" ||
            name == "sconce.device" || name == "sconce.Size";
    for (const std::string_view never : {"type", "frame", "generator", "coroutine", "async_generator", "function",
                                         "module", "super", "property", "builtin_function_or_method", "method"}) {
      if (name == never) plain = false;
    }
    plain = plain || name.starts_with("datetime.") || name == "decimal.Decimal";
  } else {  // classes of C on the heap: iterators of itertools (3.12), operator.itemgetter
    plain = name.starts_with("itertools.") || name.starts_with("collections.") || name.starts_with("_operator.") ||
            name.starts_with("operator.") || name.starts_with("re.") || name == "decimal.Decimal";
    if (_PyType_Lookup(type, Owned::take(PyUnicode_InternFromString("__weakref__")).get()) != nullptr) plain = false;
  }
  known[type] = plain;
  return plain;
}

PyObject* polyfill_of(PyObject* callable, bool of_instances) {
  static PyObject* functions = polyfills("TABLE");
  static PyObject* calls = polyfills("CALLS");
  PyObject* key = of_instances ? reinterpret_cast<PyObject*>(Py_TYPE(callable)) : callable;
  if (!of_instances && Py_TYPE(callable)->tp_hash == PyObject_HashNotImplemented) return nullptr;
  PyObject* found = PyDict_GetItemWithError(of_instances ? calls : functions, key);
  if (found == nullptr && PyErr_Occurred()) PyErr_Clear();
  return found;
}

}  // namespace sconce::python::capture
