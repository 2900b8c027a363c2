// What programs write.
#include "sconce/base/text/program_output.h"
#include "sconce/dispatch/op.h"
#include "sconce/generated/environment_kernels.h"
#include "sconce/types/script_text.h"

namespace sconce::boxed {

void print_values(const Op&, KeySet, Value* args, Value*) {
  std::string line;
  for (const Value& v : args[0].to_tuple().items) {
    if (!line.empty()) line += ' ';
    line += script_text(v);
  }
  line += '\n';
  print_text(line);
}

}  // namespace sconce::boxed
