#include "capture/compiled/recipe_result.h"

namespace sconce::python::capture {

Owned make_result(const Recipe& recipe, const Owned* outputs, PyObject* const* slots) {
  switch (recipe.what) {
    case Recipe::What::output:
      return Owned::share(outputs[recipe.index].get());
    case Recipe::What::input:
      return Owned::share(slots[recipe.index]);
    case Recipe::What::constant:
      return Owned::share(recipe.object.get());
    case Recipe::What::tuple: {
      Owned tuple = Owned::take(PyTuple_New(static_cast<Py_ssize_t>(recipe.parts.size())));
      for (size_t i = 0; i < recipe.parts.size(); ++i)
        PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), make_result(recipe.parts[i], outputs, slots).give());
      return tuple;
    }
    case Recipe::What::list: {
      Owned list = Owned::take(PyList_New(static_cast<Py_ssize_t>(recipe.parts.size())));
      for (size_t i = 0; i < recipe.parts.size(); ++i)
        PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), make_result(recipe.parts[i], outputs, slots).give());
      return list;
    }
    case Recipe::What::dict: {
      Owned dict = Owned::take(PyDict_New());
      for (size_t i = 0; i + 1 < recipe.parts.size(); i += 2) {
        const Owned key = make_result(recipe.parts[i], outputs, slots);
        check(PyDict_SetItem(dict.get(), key.get(), make_result(recipe.parts[i + 1], outputs, slots).get()));
      }
      return dict;
    }
  }
  return Owned::share(Py_None);
}

int traverse_recipe(const Recipe& recipe, visitproc visit, void* arg) {
  Py_VISIT(recipe.object.get());
  for (const Recipe& part : recipe.parts)
    if (const int status = traverse_recipe(part, visit, arg)) return status;
  return 0;
}

}  // namespace sconce::python::capture
