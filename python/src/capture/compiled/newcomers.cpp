#include "capture/compiled/newcomers.h"

#include <string>
#include <vector>

#include "capture/code_state.h"
#include "capture/compiled/cache_object.h"

namespace sconce::python::capture {
namespace {

uint64_t captured = 0;

struct Folders {
  std::string library;   // of the standard library
  std::string packages;  // site-packages, inside of it
  std::string sconce;
};

std::string text_or_empty(PyObject* object) {
  if (object == nullptr || !PyUnicode_Check(object)) {
    PyErr_Clear();
    Py_XDECREF(object);
    return "";
  }
  const Owned owned = Owned::take(object);
  return std::string(text_of(object));
}

// The folder of a module's file.
std::string folder_of(const char* name) {
  const Owned module = Owned::take(PyImport_ImportModule(name));
  const std::string file = text_or_empty(PyObject_GetAttrString(module.get(), "__file__"));
  return file.substr(0, file.rfind('/') + 1);
}

const Folders& folders() {
  static const Folders* found = [] {
    auto* f = new Folders();
    f->library = folder_of("os");
    f->packages = f->library + "site-packages/";
    f->sconce = folder_of("sconce");
    return f;
  }();
  return *found;
}

bool is_of_interest(PyCodeObject* code) {
  if (code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) return false;
  const std::string_view name = text_of(code->co_name), file = text_of(code->co_filename);
  if (name.starts_with('<') && name != "<lambda>") return false;
  if (file.starts_with("<frozen")) return false;
  const Folders& f = folders();
  if (!f.sconce.empty() && file.starts_with(f.sconce)) {
    const std::string_view inside = file.substr(f.sconce.size());
    if (inside == "nn/parameter.py") return false;
    if (inside.starts_with("optim/")) return name == "wrapped";  // around the steps of the program's own optimisers
    return inside.starts_with("nn/") || inside.starts_with("script/");
  }
  return f.library.empty() || !file.starts_with(f.library) || file.starts_with(f.packages);
}

}  // namespace

void meet_newcomer(PyCodeObject* code) {
  if (!current_config()) return;  // the hook is in for another thread
  guarded_int([&] {
    CodeState& state = code_state(code);
    state.met = true;
    const HookPause pause;
    if (is_of_interest(code)) state.on_entry = std::make_shared<HookedCode>(code);
    return 0;
  });
  PyErr_Clear();
}

void expect_frames(PyCodeObject* code) {
  CodeState& state = code_state(code);
  if (!state.on_entry) state.on_entry = std::make_shared<HookedCode>(code);
  state.met = true;
}

void leave_alone(PyObject* code) { code_state(reinterpret_cast<PyCodeObject*>(code)).met = true; }

uint64_t captured_frames() { return captured; }
void count_captured_frame() { ++captured; }

}  // namespace sconce::python::capture
