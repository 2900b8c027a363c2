// Modes of the thread that a program changed (gradients, inference mode, autocast), as code that changes them again.
// The graph leaves them as it found them, so this comes behind it: at a break, and where the function returns.
#pragma once

#include "capture/graph/modes.h"
#include "capture/output/writer.h"

namespace sconce::python::capture {

void write_modes(const Modes& before, const Modes& now, Writer& writer);

}  // namespace sconce::python::capture
