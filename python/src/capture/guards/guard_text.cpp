// How guards print themselves and their failures, in PyTorch's words.
#include "capture/guards/guards.h"

namespace sconce::python::capture {
namespace {

// Values in messages: short, and never by code of Python.
std::string value_text(PyObject* object) {
  if (object == nullptr) return "nothing";
  const bool plain = object == Py_None || PyUnicode_CheckExact(object) || PyLong_CheckExact(object) ||
                     PyFloat_CheckExact(object) || PyBool_Check(object) || PyBytes_CheckExact(object) ||
                     PyTuple_CheckExact(object) || PyType_CheckExact(object);
  std::string text = "<" + std::string(class_name(object)) + " object>";
  if (plain || PyType_Check(object) || Py_TYPE(object)->tp_repr != nullptr) {
    if (!plain && (Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE)) return text;
    PyObject* repr = PyObject_Repr(object);
    if (repr == nullptr) return PyErr_Clear(), text;
    const Owned owned = Owned::take(repr);
    text = std::string(text_of(repr));
  }
  constexpr size_t kLongest = 200;
  if (text.size() > kLongest) text.replace(kLongest, std::string::npos, "...");
  return text;
}

std::string id_text(const void* address) { return std::to_string(reinterpret_cast<uintptr_t>(address)); }

std::string class_text(PyObject* type) {
  PyObject* repr = PyObject_Repr(type);
  if (repr == nullptr) return PyErr_Clear(), "?";
  const Owned owned = Owned::take(repr);
  return std::string(text_of(repr));
}

const char* kind_name(FactKind kind, PyObject* object) {
  switch (kind) {
    case FactKind::present:
      return "HASATTR";
    case FactKind::absent:
      return "DICT_CONTAINS";
    case FactKind::type:
      return "TYPE_MATCH";
    case FactKind::identity:
      return object == Py_None ? "NONE_MATCH" : "ID_MATCH";
    case FactKind::equal:
      return object == Py_None ? "NONE_MATCH" : PyBool_Check(object) ? "BOOL_MATCH" : "EQUALS_MATCH";
    case FactKind::length:
      return "LENGTH_CHECK";
    case FactKind::keys:
      return "MAPPING_KEYS_CHECK";
    case FactKind::tensor:
      return "TENSOR_MATCH";
    case FactKind::same_object:
      return "OBJECT_ALIASING";
    case FactKind::other_object:
    case FactKind::distinct:
      return "NO_TENSOR_ALIASING";
    case FactKind::truth:
      return "BOOL_MATCH";
    case FactKind::relation:
    case FactKind::sizes:
      return "SYMBOLIC_SHAPE_GUARD";
  }
  return "GUARD";
}

}  // namespace

std::string Guards::text_of_step(int32_t step) const {
  const SourceId source = fetches_[static_cast<size_t>(step)].source;
  return source_text(sources_, source, locals_, free_, globals_);
}

std::string Guards::fact_text(const Fetch& f, const Row& row) const {
  const std::string what = source_text(sources_, f.source, locals_, free_, globals_);
  const auto other = [&] { return text_of_step(row.other); };
  const auto contains = [&](const char* in, const char* has) {
    const Source& s = sources_[static_cast<size_t>(f.source)];
    const std::string key = s.key ? value_text(s.key) : what;
    const auto base = [&] { return source_text(sources_, s.base, locals_, free_, globals_); };
    switch (s.step) {
      case Step::item:
        return key + in + base();
      case Step::instance_item:
        return key + in + base() + ".__dict__";
      case Step::global:
        return key + in + "G";
      case Step::builtin:
        return key + in + "G['__builtins_dict___0']";
      case Step::attribute:
      case Step::class_item:
        return has + ("(" + base() + ", ") + key + ")";
      default:
        return has + ("(" + what) + ")";
    }
  };
  switch (row.kind) {
    case FactKind::present:
      return contains(" in ", "hasattr");
    case FactKind::absent:
      return contains(" not in ", "not hasattr");
    case FactKind::type: {
      const bool lives = row.weak == nullptr || PyWeakref_GET_OBJECT(row.weak) == row.object;
      return "___check_type_id(" + what + ", " + id_text(row.object) + ")" +
             (lives ? ", type=" + class_text(row.object) : "");
    }
    case FactKind::identity: {
      if (row.object == Py_None) return what + " is None";
      const bool lives = row.weak == nullptr || PyWeakref_GET_OBJECT(row.weak) == row.object;
      return "___check_obj_id(" + what + ", " + id_text(row.object) + ")" +
             (lives ? ", type=" + class_text(reinterpret_cast<PyObject*>(Py_TYPE(row.object))) : "");
    }
    case FactKind::equal:
      return row.object == Py_None ? what + " is None" : what + " == " + value_text(row.object);
    case FactKind::length:
      return "len(" + what + ") == " + std::to_string(row.number);
    case FactKind::keys: {
      const Owned list = Owned::take(PySequence_List(row.object));
      std::string keys;
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(row.object); ++i)
        keys += (i ? ", " : "") + value_text(PyTuple_GET_ITEM(row.object, i));
      return "list(dict.keys(" + what + ")) == [" + keys + "]";
    }
    case FactKind::tensor:
      return tensors_[static_cast<size_t>(row.other)].text(what);
    case FactKind::same_object:
      return what + " is " + other();
    case FactKind::other_object:
      return what + " is not " + other();
    case FactKind::truth:
      return "bool(" + what + ") == " + (row.number ? "True" : "False");
    case FactKind::relation:
      return relations_[static_cast<size_t>(row.other)].text([&](int32_t step) { return text_of_step(step); });
    case FactKind::distinct: {
      std::string all;
      for (const int32_t step : distinct_[static_cast<size_t>(row.other)])
        all += (all.empty() ? "" : ", ") + text_of_step(step);
      return "check_no_aliasing(" + all + ")";
    }
    case FactKind::sizes: {
      std::string from;
      for (const int32_t step : sizes_[static_cast<size_t>(row.other)].steps)
        from += (from.empty() ? "" : ", ") + text_of_step(step);
      return "sizes of results follow from " + from + " as they were recorded";
    }
  }
  return what;
}

std::string Guards::failure_text(const Fetch& f, const Row& row, PyObject* object, PyObject* const*) const {
  if (row.kind == FactKind::tensor && object != nullptr)
    return tensors_[static_cast<size_t>(row.other)].failure(source_text(sources_, f.source, locals_, free_, globals_),
                                                            object);
  const std::string text = fact_text(f, row);
  switch (row.kind) {
    case FactKind::type:
      return text + "  # actual " + (object ? class_text(reinterpret_cast<PyObject*>(Py_TYPE(object))) : "nothing");
    case FactKind::equal:
      return text + "  # actual " + value_text(object);
    case FactKind::length: {
      const Py_ssize_t n = object ? PyObject_Size(object) : -1;
      if (n < 0) PyErr_Clear();
      return text + "  # actual " + (n < 0 ? "none" : std::to_string(n));
    }
    default:
      return text;
  }
}

std::vector<std::string> Guards::texts() const {
  std::vector<std::string> all;
  for (const Fetch& f : fetches_)
    for (uint32_t k = 0; k < f.count; ++k) {
      const Row& row = facts_[f.first + k];
      all.push_back(std::string(kind_name(row.kind, row.object)) + ": " + fact_text(f, row));
    }
  return all;
}

}  // namespace sconce::python::capture
