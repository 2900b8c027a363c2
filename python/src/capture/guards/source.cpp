#include "capture/guards/source.h"

#include <algorithm>

namespace sconce::python::capture {
namespace {

size_t mixed(size_t hash, uint64_t with) { return (hash ^ with) * 0x9e3779b97f4a7c15ull + (hash >> 29); }

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

namespace {

// Appends to one text: sources are long chains, and their texts are made for each input.
class SourceWriter {
 public:
  SourceWriter(const std::vector<Source>& all, const std::vector<std::string>& locals,
               const std::vector<std::string>& free, PyObject* globals)
      : all_(all), locals_(locals), free_(free), globals_(globals) {}

  void write(SourceId source) {
    if (source < 0) {
      text += "?";
      return;
    }
    const Source& s = all_[static_cast<size_t>(source)];
    switch (s.step) {
      case Step::local:
        text += "L[";
        write_name(locals_, s.index);
        text += "]";
        break;
      case Step::free_variable:
        text += "___closure[";
        write_name(free_, s.index);
        text += "]";
        break;
      case Step::global: {
        if (s.object == nullptr || globals_ == nullptr || s.object == globals_) {
          write_key("G[", s.key);
          break;
        }
        text += "G['__import_";
        for (const char c : module_name(s.object))
          if (c == '.')
            text += "_dot_";
          else
            text += c;
        text += "'].";
        text += text_of(s.key);
        break;
      }
      case Step::builtin:
        write_key("G['__builtins_dict___0'][", s.key);
        break;
      case Step::constant:
        text += constant_text(s.object);
        break;
      case Step::attribute:
      case Step::instance_item:
      case Step::class_item:
        write(s.base);
        text += ".";
        if (PyUnicode_Check(s.key))
          text += text_of(s.key);
        else
          text += key_text(s.key);
        break;
      case Step::instance_dict:
        around("", s.base, ".__dict__");
        break;
      case Step::type:
        around("type(", s.base, ")");
        break;
      case Step::item:
        write(s.base);
        write_key("[", s.key);
        break;
      case Step::key_at:
        around("list(dict.keys(", s.base, "))[", s.index);
        break;
      case Step::element:
        around("", s.base, "[", s.index);
        break;
      case Step::contents:
        if (s.base >= 0 && all_[static_cast<size_t>(s.base)].step == Step::free_variable) {
          text += "L[";
          write_name(free_, all_[static_cast<size_t>(s.base)].index);
          text += "]";
          break;
        }
        around("", s.base, ".cell_contents");
        break;
      case Step::defaults:
        around("", s.base, ".__defaults__");
        break;
      case Step::keyword_defaults:
        around("", s.base, ".__kwdefaults__");
        break;
      case Step::closure:
        around("", s.base, ".__closure__");
        break;
      case Step::code:
        around("", s.base, ".__code__");
        break;
      case Step::globals:
        around("", s.base, ".__globals__");
        break;
      case Step::method_function:
        around("", s.base, ".__func__");
        break;
      case Step::method_self:
        around("", s.base, ".__self__");
        break;
      case Step::gradient:
        around("", s.base, ".grad");
        break;
      case Step::inner:
        around("", s.base, ".__reduce__()[1][", s.index);
        break;
      case Step::iterated:
        around("", s.base, ".__reduce__()[1][0]");
        break;
      case Step::ahead:
        around("___ahead(", s.base, ", ");
        text += std::to_string(s.index);
        text += ")";
        break;
    }
  }

  std::string text;

 private:
  void around(const char* before, SourceId base, const char* behind) {
    text += before;
    write(base);
    text += behind;
  }
  void around(const char* before, SourceId base, const char* behind, int32_t index) {
    around(before, base, behind);
    text += std::to_string(index);
    text += "]";
  }
  void write_name(const std::vector<std::string>& names, int32_t at) {
    if (static_cast<size_t>(at) >= names.size()) {
      text += std::to_string(at);
      return;
    }
    text += "'";
    text += names[static_cast<size_t>(at)];
    text += "'";
  }
  void write_key(const char* before, PyObject* key) {
    text += before;
    if (PyUnicode_CheckExact(key) && is_word(text_of(key))) {  // its repr is itself
      text += "'";
      text += text_of(key);
      text += "'";
    } else {
      text += key_text(key);
    }
    text += "]";
  }
  static bool is_word(std::string_view name) {
    return std::all_of(name.begin(), name.end(), [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.';
    });
  }

  const std::vector<Source>& all_;
  const std::vector<std::string>&locals_, &free_;
  PyObject* globals_;
};

}  // namespace

std::string source_text(const std::vector<Source>& all, SourceId source, const std::vector<std::string>& locals,
                        const std::vector<std::string>& free, PyObject* globals) {
  SourceWriter writer(all, locals, free, globals);
  writer.text.reserve(96);
  writer.write(source);
  return std::move(writer.text);
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

SourceId Sources::add(Step step, SourceId base, int32_t index, PyObject* key, PyObject* object) {
  Owned interned;  // names that are equal are one object
  if (key != nullptr && PyUnicode_CheckExact(key) && !PyUnicode_CHECK_INTERNED(key)) {
    PyObject* copy = Py_NewRef(key);
    PyUnicode_InternInPlace(&copy);
    interned = Owned::take(copy);
    key = copy;
  }
  bool added = false;
  const SourceId id = ids_.find_or_add(sources_, Source{base, step, index, key, object}, Hash(), added);
  if (added) {
    keep(key);
    keep(object);
  }
  return id;
}

void Sources::guard(SourceId source, FactKind kind, PyObject* object, int64_t number) {
  bool added = false;
  known_.find_or_add(facts_, Fact{source, kind, object, number}, Hash(), added);
  if (added) keep(object);
}

std::string Sources::text(SourceId source, const std::vector<std::string>& locals,
                          const std::vector<std::string>& free) const {
  return source_text(sources_, source, locals, free, globals_);
}

std::string Sources::input_name(SourceId source, const std::vector<std::string>& locals,
                                const std::vector<std::string>& free) const {
  std::string name;
  name.reserve(96);
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
