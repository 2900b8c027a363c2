// Comparison of error messages: PyTorch's, for a program that is refused or that fails, and ours.
//
// A recorded message is a reason and places:
//
//   undefined value y:                      builtins.ValueError: negative: -1    (run time: behind the places)
//     File "<string>", line 2
//   def f(x):
//       return x + y
//                  ~ <--- HERE
//
// Reasons are compared line by line, blank lines and spaces at the ends aside; "Tensor (inferred)" is Tensor, and a
// line of ours may go on with "; did you mean ...". Exceptions, and why:
// - A list of candidates ("Arguments for call are not valid.") has another order and more candidates here: the first
//   line must be the same, and one of PyTorch's reasons must be among ours.
// - `"gelu" not implemented for 'Long'`: the name in front is that of a kernel, and need not be ours.
// - An "INTERNAL ASSERT FAILED" of PyTorch is not a reason: any refusal will do.
// - At run time, the refusal of an operator itself ("mat1 and mat2 shapes cannot be multiplied") has Sconce's words:
//   the place must be the same.
#pragma once

#include <string>

#include "sconce/testing/compare/compare.h"

namespace sconce {
class CompileError;
class Error;
namespace runtime {
class ScriptError;
}
}  // namespace sconce

namespace sconce::testing {

struct RecordedError {
  std::string reason;     // without the places
  int line = 0;           // of the first place (compile time) or the last (run time); 0 when there is none
  std::string line_text;  // that line of the program, without spaces around it
  bool internal = false;  // an assertion of PyTorch's own
};

RecordedError parse_compile_error(const std::string& message);
RecordedError parse_run_error(const std::string& message);

// By the number of the line.
Difference compare_error(const CompileError& got, const RecordedError& expected);
// By the text of the line: recorded programs were cut out of a file.
Difference compare_error(const runtime::ScriptError& got, const RecordedError& expected);

}  // namespace sconce::testing
