// Script bodies: the kernel of custom operators that are written in the script language, and the seam to the code that
// can read it. (Bodies of the operator table are C++: opgen/script.py.)
//
//   d = (a - b).abs()
//   return where(d < 1, d * d / 2, d - 0.5)
//
// The front end compiles such a text to a graph and the interpreter runs it, so the language is TorchScript's, with its
// static types. Of its statements a body has assignments (also of tuples, += and the like), if, for, while, break,
// continue, return, assert, raise, pass; comprehensions and dicts have no place in it.
//   f(x, y=1), torch.f(x)      operators of aten, else of the operator's own namespace
//   x.f(y=1)                   operators of aten; x.shape, x.dtype, x.device, x.ndim
//   torch.ops.ns.f(x)          operators of another namespace
//   inf, nan, pi               numbers
// `x += y` is `x = x + y` for tensors and lists too: a body changes an argument only where it says so (x.add_(y)).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sconce/dispatch/op.h"

namespace sconce {

struct FormulaCall;

// Reads and runs bodies and derivatives. All of it throws Error, with line and column in front of the message, and may
// be called from any thread.
class BodyRunner {
 public:
  virtual ~BodyRunner() = default;
  // The names that a text uses, but does not assign: they have to be arguments. `line` and `column` are where it stands
  // in a larger text. Nothing where there is an interpreter, but no front end.
  virtual std::optional<std::vector<std::string>> free_names(std::string_view text, int line, int column) = 0;
  // The result of the body of `op`: None if it ends without a return; many values are a tuple.
  virtual Value run_body(const Op& op, const Value* args) = 0;
  // The result of formula number `index` of OpInfo::derivatives, as Formula::run.
  virtual Value run_formula(const Op& op, size_t index, const FormulaCall& call) = 0;
};

// The one runner, which lives forever. Null in a program that has only the core: custom operators with bodies can be
// defined there, but not run.
SCONCE_API BodyRunner* body_runner();
// The interpreter answers (Note [Connections]); null where there is none.
using BodyRunnerSource = BodyRunner* (*)();
extern const BodyRunnerSource body_runner_source;
// Throws Error that names the operator and what is missing.
SCONCE_API BodyRunner& require_body_runner(const Op& op);
[[noreturn]] SCONCE_API SCONCE_COLD void fail_no_front_end(const Op& op);

// A kernel for any backend: runs the operator's body. An operator that returns what it writes needs
// no return statement.
SCONCE_API void run_body(const Op& op, KeySet keys, Value* args, Value* returns);

}  // namespace sconce
