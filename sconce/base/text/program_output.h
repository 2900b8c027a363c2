// Program output: print() and warnings.warn() of scripts. A host language installs functions that write where its own
// output goes (sys.stdout, which programs of Python replace); without them both go to the C library's streams.
#pragma once

#include <string_view>

#include "sconce/base/export.h"

namespace sconce {

struct ProgramOutput {
  void (*print)(std::string_view text) = nullptr;    // with its newline
  void (*warn)(std::string_view message) = nullptr;  // may throw, where warnings are errors
};

// Set once, before programs run.
SCONCE_API void set_program_output(const ProgramOutput& output) noexcept;
SCONCE_API const ProgramOutput& program_output() noexcept;
// Through the host's function, or to standard output.
void print_text(std::string_view text);

}  // namespace sconce
