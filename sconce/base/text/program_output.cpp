#include "sconce/base/text/program_output.h"

#include <cstdio>

namespace sconce {
namespace {

constinit ProgramOutput current;

}  // namespace

void set_program_output(const ProgramOutput& output) noexcept { current = output; }
const ProgramOutput& program_output() noexcept { return current; }

void print_text(std::string_view text) {
  if (current.print) return current.print(text);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace sconce
