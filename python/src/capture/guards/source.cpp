#include "capture/guards/source.h"

namespace sconce::python::capture {
namespace {

size_t mixed(size_t hash, uint64_t with) { return (hash ^ with) * 0x9e3779b97f4a7c15ull + (hash >> 29); }

std::string quoted(std::string_view name) { return "'" + std::string(name) + "'"; }

// The repr of a key; of one whose repr would run code of Python, its class.
std::string key_text(PyObject* key) {
  const bool plain = key == Py_None || PyUnicode_CheckExact(key) || PyLong_CheckExact(key) || PyFloat_CheckExact(key) ||
                     PyBool_Check(key) || PyBytes_CheckExact(key) || PyTuple_CheckExact(key);
  if (plain) {
    if (PyObject* text = PyObject_Repr(key)) {
      const Owned owned = Owned::take(text);
      return std::string(text_of(text));
    }
    PyErr_Clear();
  }
  if (PyType_Check(key)) return reinterpret_cast<PyTypeObject*>(key)->tp_name;
  return "<" + std::string(class_name(key)) + ">";
}

// The name of the module that a dict of globals belongs to.
std::string module_name(PyObject* globals) {
  PyObject* name = globals ? PyDict_GetItemString(globals, "__name__") : nullptr;
  return name && PyUnicode_Check(name) ? std::string(text_of(name)) : "?";
}

std::string constant_text(PyObject* object) {
  if (PyType_Check(object)) return reinterpret_cast<PyTypeObject*>(object)->tp_name;
  if (PyModule_Check(object)) return PyModule_GetName(object) ? PyModule_GetName(object) : "?";
  if (PyFunction_Check(object)) return std::string(text_of(reinterpret_cast<PyFunctionObject*>(object)->func_qualname));
  return key_text(object);
}

}  // namespace

std::string source_text(const std::vector<Source>& all, SourceId source, const std::vector<std::string>& locals,
                        const std::vector<std::string>& free, PyObject* globals) {
  if (source < 0) return "?";
  const Source& s = all[static_cast<size_t>(source)];
  const auto base = [&] { return source_text(all, s.base, locals, free, globals); };
  const auto name = [](const std::vector<std::string>& names, int32_t at) {
    return static_cast<size_t>(at) < names.size() ? quoted(names[static_cast<size_t>(at)]) : std::to_string(at);
  };
  switch (s.step) {
    case Step::local:
      return "L[" + name(locals, s.index) + "]";
    case Step::free_variable:
      return "___closure[" + name(free, s.index) + "]";
    case Step::global: {
      if (s.object == nullptr || globals == nullptr || s.object == globals) return "G[" + key_text(s.key) + "]";
      std::string module = module_name(s.object), spelled;
      for (const char c : module) spelled += c == '.' ? std::string("_dot_") : std::string(1, c);
      return "G['__import_" + spelled + "']." + std::string(text_of(s.key));
    }
    case Step::builtin:
      return "G['__builtins_dict___0'][" + key_text(s.key) + "]";
    case Step::constant:
      return constant_text(s.object);
    case Step::attribute:
    case Step::instance_item:
    case Step::class_item:
      return base() + "." + (PyUnicode_Check(s.key) ? std::string(text_of(s.key)) : key_text(s.key));
    case Step::instance_dict:
      return base() + ".__dict__";
    case Step::type:
      return "type(" + base() + ")";
    case Step::item:
      return base() + "[" + key_text(s.key) + "]";
    case Step::key_at:
      return "list(dict.keys(" + base() + "))[" + std::to_string(s.index) + "]";
    case Step::element:
      return base() + "[" + std::to_string(s.index) + "]";
    case Step::contents:
      if (s.base >= 0 && all[static_cast<size_t>(s.base)].step == Step::free_variable)
        return "L[" + name(free, all[static_cast<size_t>(s.base)].index) + "]";
      return base() + ".cell_contents";
    case Step::defaults:
      return base() + ".__defaults__";
    case Step::keyword_defaults:
      return base() + ".__kwdefaults__";
    case Step::closure:
      return base() + ".__closure__";
    case Step::code:
      return base() + ".__code__";
    case Step::globals:
      return base() + ".__globals__";
    case Step::method_function:
      return base() + ".__func__";
    case Step::method_self:
      return base() + ".__self__";
    case Step::gradient:
      return base() + ".grad";
    case Step::inner:
      return base() + ".__reduce__()[1][" + std::to_string(s.index) + "]";
    case Step::iterated:
      return base() + ".__reduce__()[1][0]";
    case Step::ahead:
      return "___ahead(" + base() + ", " + std::to_string(s.index) + ")";
  }
  return "?";
}

size_t Sources::Hash::operator()(const Source& s) const {
  size_t h = mixed(static_cast<size_t>(s.step), static_cast<uint64_t>(s.base));
  h = mixed(h, static_cast<uint64_t>(s.index));
  h = mixed(h, reinterpret_cast<uint64_t>(s.key));
  return mixed(h, reinterpret_cast<uint64_t>(s.object));
}
size_t Sources::Hash::operator()(const Fact& f) const {
  size_t h = mixed(static_cast<size_t>(f.kind), static_cast<uint64_t>(f.source));
  h = mixed(h, reinterpret_cast<uint64_t>(f.object));
  return mixed(h, static_cast<uint64_t>(f.number));
}

PyObject* Sources::kept(PyObject* object) {
  if (object == nullptr) return nullptr;
  kept_.try_emplace(object, Owned::share(object));
  return object;
}

SourceId Sources::add(Step step, SourceId base, int32_t index, PyObject* key, PyObject* object) {
  Owned interned;  // names that are equal are one object
  if (key != nullptr && PyUnicode_CheckExact(key) && !PyUnicode_CHECK_INTERNED(key)) {
    PyObject* copy = Py_NewRef(key);
    PyUnicode_InternInPlace(&copy);
    interned = Owned::take(copy);
    key = copy;
  }
  const Source source{base, step, index, key, object};
  const auto [at, added] = ids_.try_emplace(source, static_cast<SourceId>(sources_.size()));
  if (added) {
    kept(key);
    kept(object);
    sources_.push_back(source);
  }
  return at->second;
}

void Sources::guard(SourceId source, FactKind kind, PyObject* object, int64_t number) {
  const Fact fact{source, kind, object, number};
  if (!known_.try_emplace(fact, true).second) return;
  kept(object);
  facts_.push_back(fact);
}

std::string Sources::text(SourceId source, const std::vector<std::string>& locals,
                          const std::vector<std::string>& free) const {
  return source_text(sources_, source, locals, free, globals_);
}

std::string Sources::input_name(SourceId source, const std::vector<std::string>& locals,
                                const std::vector<std::string>& free) const {
  std::string name;
  for (const char c : text(source, locals, free)) {
    const bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (word)
      name += c;
    else if (!name.ends_with('_'))
      name += '_';
  }
  return name;
}

}  // namespace sconce::python::capture
