#include "capture/guards/size_check.h"

namespace sconce::python::capture {
namespace {

constexpr const char* kName = "sconce.size_check";
using Held = std::shared_ptr<SizeCheck>;

void drop(PyObject* capsule) { delete static_cast<Held*>(PyCapsule_GetPointer(capsule, kName)); }

}  // namespace

Owned size_check_object(std::shared_ptr<SizeCheck> check) {
  auto held = std::make_unique<Held>(std::move(check));
  Owned made = Owned::take(PyCapsule_New(held.get(), kName, drop));
  held.release();
  return made;
}

std::shared_ptr<SizeCheck> size_check_in(PyObject* object) {
  void* held = PyCapsule_GetPointer(object, kName);
  if (held == nullptr) throw PythonError();
  return *static_cast<Held*>(held);
}

}  // namespace sconce::python::capture
