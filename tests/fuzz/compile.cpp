#include <cstdlib>

#include "sconce/frontend/script/program/program.h"
#include "sconce/ir/verifier.h"
#include "tests/fuzz/targets.h"

namespace sconce::fuzz {

void compile(std::string_view bytes) {
  for (const auto dialect : {syntax::Dialect::python, syntax::Dialect::archive}) {
    script::ProgramOptions options;
    options.dialect = dialect;
    try {
      const script::Program program(bytes, options);
      // What was compiled is in order, and can be printed.
      for (ir::Function* f : program.unit().functions()) {
        ir::verify(*f->graph());
        f->graph()->to_string();
      }
    } catch (const Error& e) {
      if (e.kind() == ErrorKind::internal) std::abort();
    }
  }
}

}  // namespace sconce::fuzz
