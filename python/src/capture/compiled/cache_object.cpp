#include "capture/compiled/cache_object.h"

#include <map>

#include "capture/compiled/newcomers.h"
#include "capture/evaluator/policy.h"
#include "interop/torch_function.h"

namespace sconce::python::capture {
namespace {

struct CacheObject {
  PyObject_HEAD CodeCache* cache;
  PyCodeObject* code;
  const CompileConfig* config;
};
CacheObject& of(PyObject* self) { return *reinterpret_cast<CacheObject*>(self); }

using Key = std::pair<PyCodeObject*, const CompileConfig*>;
std::map<Key, PyObject*>& living() {
  static auto& all = *new std::map<Key, PyObject*>();
  return all;
}

int traverse(PyObject* self, visitproc visit, void* arg) { return of(self).cache->traverse(visit, arg); }
// Before the code may be gone, and another at its address.
void forget(PyObject* self) {
  const auto known = living().find({of(self).code, of(self).config});
  if (known != living().end() && known->second == self) living().erase(known);
}
int clear(PyObject* self) {
  forget(self);
  of(self).cache->clear();
  return 0;
}
void dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  forget(self);
  delete of(self).cache;
  PyObject_GC_Del(self);
}

PyTypeObject make_type() {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "sconce.compiler.CodeCache";
  type.tp_basicsize = sizeof(CacheObject);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  type.tp_dealloc = dealloc;
  type.tp_traverse = traverse;
  type.tp_clear = clear;
  return type;
}
PyTypeObject cache_type = make_type();

}  // namespace

Owned cache_for(PyCodeObject* code, const std::shared_ptr<const CompileConfig>& config) {
  PyObject*& known = living()[{code, config.get()}];
  if (known != nullptr) return Owned::share(known);
  auto cache = std::make_unique<CodeCache>(code, config);
  auto* self = PyObject_GC_New(CacheObject, &cache_type);
  if (self == nullptr) throw PythonError();
  self->cache = cache.release();
  self->code = code;
  self->config = config.get();
  PyObject_GC_Track(self);
  known = reinterpret_cast<PyObject*>(self);
  return Owned::take(known);
}
CodeCache& cache_in(PyObject* object) { return *of(object).cache; }

Owned HookedCode::enter(PyFunctionObject* function, PyObject* const* locals) {
  const std::shared_ptr<const CompileConfig> config = current_config();
  if (!config || is_evaluating() || FunctionModes::any() || settings().stance == Stance::force_eager) return {};
  // What a graph calls as it is (steps of the library's optimisers) has nothing inside to capture.
  if (known_of(reinterpret_cast<PyObject*>(function)).treatment == Treatment::handler) return {};
  CodeCache* cache = nullptr;
  for (const auto& [known, object] : caches_)
    if (known == config) cache = &cache_in(object.get());
  if (cache == nullptr) {
    caches_.emplace_back(config, cache_for(code_, config));
    cache = &cache_in(caches_.back().second.get());
  }
  cache->need_code();
  if (cache->gave_up()) return {};
  Answer answer;
  cache->find_or_compile(function, locals, answer);
  if (answer.entry == nullptr || !answer.entry->code) return {};
  count_captured_frame();
  return Owned::share(answer.entry->code.get());
}

void add_cache_type() { check(PyType_Ready(&cache_type)); }

}  // namespace sconce::python::capture
