// A door for tests to kernel variants (sconce/base/variants/variants.h).
#pragma once

#include "object.h"

namespace sconce::python {

// Adds _variants and _forget_variants to the module.
void add_variants(PyObject* module);

}  // namespace sconce::python
