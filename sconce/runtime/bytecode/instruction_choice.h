// Instruction selection: the instruction for an operator. Arithmetic is read off the operator table's scalar
// expressions, so that a new overload of the same meaning gets the instruction too; operators on containers are named
// in one list.
#pragma once

#include <optional>

#include "sconce/dispatch/op.h"

namespace sconce::runtime {

enum class Arithmetic : uint8_t {
  add,
  sub,
  mul,
  div,
  floordiv,
  mod,
  bit_and,
  bit_or,
  bit_xor,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  neg,
  logical_not,
  to_float,
  to_int,
  to_bool,
  derive_index,
};
// Of an operator over ints, floats and bools only; empty when there is no instruction for it.
std::optional<Arithmetic> arithmetic_of(const Op& op);
inline bool is_comparison(Arithmetic a) { return a >= Arithmetic::eq && a <= Arithmetic::ge; }

// Instructions that the operator table names in its column `instruction`.
#define SCONCE_CONTAINERS(X) \
  X(list_len)                \
  X(list_get)                \
  X(list_set) X(list_append) X(dict_get) X(dict_set) X(dict_contains) X(str_concat) X(is) X(is_not) X(wait) X(warn)

enum class Container : uint8_t {
  none,
#define SCONCE_CONTAINER(name) name,
  SCONCE_CONTAINERS(SCONCE_CONTAINER)
#undef SCONCE_CONTAINER
};
Container container_of(const Op& op);

// Operators whose kernel has one of the commonest signatures are called without boxing.
enum class Signature : uint8_t { other, t, tt, ts, tts, tss, ttt };
Signature signature_of(const Op& op);
// The operator that does the same in place, for pointwise operators that keep the dtype of floats (add has add_, lt has
// none); null when there is none. It lets a result be written over an argument that dies.
const Op* in_place_twin(const Op& op, Signature signature);

}  // namespace sconce::runtime
