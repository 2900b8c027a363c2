// The cache of a code object under one configuration, as an object of Python: compiled functions share it, and the collector sees
// through it, from entries to the resume functions in their code, which have caches again.
#pragma once

#include <memory>
#include <vector>

#include "capture/compiled/code_cache.h"
#include "object.h"

namespace sconce::python::capture {

// The one that lives, or a new one. Whoever holds it keeps the code object alive.
Owned cache_for(PyCodeObject* code, const std::shared_ptr<const CompileConfig>& config);
CodeCache& cache_in(PyObject* object);

// Frames of a code object that the hook asks about: under the configuration of the region they are in.
class HookedCode final : public FrameEntry {
 public:
  explicit HookedCode(PyCodeObject* code) : code_(code) {}
  Owned enter(PyFunctionObject* function, PyObject* const* locals) override;

 private:
  PyCodeObject* code_;  // it owns this
  std::vector<std::pair<std::shared_ptr<const CompileConfig>, Owned>> caches_;
};

void add_cache_type();

}  // namespace sconce::python::capture
