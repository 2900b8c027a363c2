// Body: an operator written in the script language, and its interpreter. It runs compound operators of custom libraries
// and checks what the generator makes from the bodies of the operator table.
//
//   d = (a - b).abs()
//   return where(d < 1, d * d / 2, d - 0.5)
//
// The language is a part of Python: assignments (also of tuples, += and the like), if, for over range() or a list,
// while, break, continue, return, assert, raise, pass; numbers, strings, f-strings, lists, tuples, None; all of
// Python's operators; indexing and slicing of lists, tuples and tensors; `x if c else y`.
//   x.shape, x.dtype, x.device, x.ndim     facts about a tensor
//   f(x, y=1), x.f(y=1), torch.f(x)        operators of aten, else of the operator's own namespace
//   torch.ops.ns.f(x)                      operators of another namespace
//   torch.float32, torch.channels_last     dtypes and memory formats, which are ints
// Numbers compute as in Python, except that int wraps at 64 bits and `and`, `or`, `not` give a bool. `x += y` is
// `x = x + y` for tensors and lists too: a body changes an argument only where it says so (x.add_(y)).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sconce/dispatch/op.h"

namespace sconce {

namespace body {
struct Program;
}

class Body {
 public:
  // Throws Error with line and column of `text` when it is not part of the language. `space` is the namespace that
  // names of operators are looked up in after aten. Where the text is a part of another, its place there can be given.
  Body(std::string_view text, std::string_view space, int first_line = 1, int first_column = 1);
  Body(Body&&) noexcept;
  ~Body();

  // The value that it returns, None where it ends without a return; many are a tuple. `names` and `values` are what it
  // can use. Throws Error, with line and column in front of the message.
  Value run(const std::vector<std::string_view>& names, const Value* values) const;

  // Names that it uses, but does not assign itself: they have to be arguments.
  std::vector<std::string> free_names() const;

 private:
  std::unique_ptr<body::Program> program_;
};

// The parsed body of an operator that has one (OpInfo::body), parsed once. Throws Error where it has none.
const Body& body_of(const Op& op);

// A kernel for any backend: runs the operator's body. An operator that returns what it writes needs no return
// statement.
SCONCE_API void run_body(const Op& op, KeySet keys, Value* args, Value* returns);

}  // namespace sconce
