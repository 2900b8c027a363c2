// Derivative formulas: the script text of OpInfo::derivatives, split by argument. A formula is one expression behind
// the argument's name, or a body with `return` on the indented lines below it.
//
//   self: grad * other
//   other:
//     g = grad * self
//     return g.sum_to_size(other.shape)
//
// Several arguments before the colon (`weight, bias: f(grad, needs)`) have one formula that gives a tuple; `needs` is a
// list of bools that says which of them are wanted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sconce/dispatch/schema.h"

namespace sconce {

struct Derivative {
  std::string argument;                // as written: "weight, bias"
  std::vector<std::string> arguments;  // those that it gives gradients for
  std::string body;                    // with a return
  int line, column;                    // where it stands in the text: what BodyRunner wants for its errors
};

// Throws Error when a line belongs to no argument or an argument comes twice.
std::vector<Derivative> split_derivatives(std::string_view text);

// The names that stand in a formula, but for attributes, what is assigned and the names of keywords: all that it may
// read, and perhaps more. No parser is needed for that.
std::vector<std::string> names_in(std::string_view text);

// Throws Error naming the operator unless every formula parses, belongs to an argument of the schema and uses nothing
// but the arguments, `grad` and `result`. Where there are several returns, `grad` and `result` belong to the first one;
// `grads[1]`, `result1` and the names of returns are the others. Where there is no front end (body.h), the names of
// arguments are checked only.
void check_derivatives(const Schema& schema, std::string_view text);

}  // namespace sconce
