// SizeCheck: asked by guards whether sizes that were guessed when a graph was recorded are right for what a call brings.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "capture/guards/source.h"
#include "object.h"

namespace sconce::python::capture {

class SizeCheck {
 public:
  virtual ~SizeCheck() = default;
  // What it has to be given, in this order.
  virtual const std::vector<SourceId>& sources() const = 0;
  virtual bool holds(std::span<PyObject* const> objects) = 0;
};

// As an object of FactKind::sizes.
Owned size_check_object(std::shared_ptr<SizeCheck> check);
std::shared_ptr<SizeCheck> size_check_in(PyObject* object);

}  // namespace sconce::python::capture
