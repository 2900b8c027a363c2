// Number: an int of 64 bits or a float of the program, with Python's arithmetic: for relations that guards check, and for
// numbers that are not fixed while a graph is recorded.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "object.h"

namespace sconce::python::capture {

struct Number {
  int64_t i = 0;
  double d = 0;
  bool is_float = false;

  Number() = default;
  Number(int64_t value) : i(value) {}
  Number(double value) : d(value), is_float(true) {}
  double real() const { return is_float ? d : static_cast<double>(i); }
  // Same class and value, floats bit by bit.
  bool same(const Number& other) const;
};

// "+" "-" "*" "//" "%" "**" "min" "max" "==" "!=" "<" "<=" ">" ">=" "and" "or" "/": their place here; -1 for others.
int find_binary(std::string_view name);
std::string_view binary_name(int op);
// "neg" "not".
int find_unary(std::string_view name);

// As Python computes. None where Python raises, where an int has more than 64 bits, and for what is not computed here:
// floats divided by "//" and "%", powers of floats that are not positive, ints that no float has.
std::optional<Number> compute(int binary, Number a, Number b);
std::optional<Number> compute(int unary, Number a);

// Of an int or a float, not of their subclasses; none for other objects and for ints of more than 64 bits.
std::optional<Number> number_of(PyObject* object);
Owned object_of_number(Number number);

}  // namespace sconce::python::capture
