// Body: the low-level IR of a joined loop. Instructions over vectors whose lanes all have one width, in SSA form; what
// a call's steps become once dtypes, comparisons and literals are resolved.
//
// A number is a lane of its own kind: float32, bfloat16 and float16 as float32 (the latter two rounded), bool and small
// integers as int32; in loops of 8 bytes a lane, float64 and int64 likewise. A mask is a lane of ones or zeros.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sconce/base/small_vector.h"
#include "sconce/codegen/tiles/tile_graph.h"
#include "sconce/loops/nest.h"
#include "sconce/tensor/dtype.h"

namespace sconce::codegen {

enum class Prim : uint8_t {
  load,      // operand `number`
  constant,  // `bits`, in every lane
  add,
  sub,
  mul,
  div,
  fma,  // a * b + c, rounded once
  abs,  // of integers
  sqrt,
  floor,
  ceil,
  trunc,
  round,    // to even
  maximum,  // NaN wins; of equal ones the second: vec.h
  minimum,
  fmax,  // a number wins over NaN
  fmin,
  eq,  // comparisons give masks
  ne,
  lt,
  le,
  gt,
  ge,
  bit_and,
  bit_or,
  bit_xor,
  select,  // a ? b : c
  to_float,
  to_int,      // towards zero
  round_bf16,  // to the nearest bfloat16, still a float32
  round_f16,
  wrap,  // to an integer of `dtype`, keeping the low bits
};

struct Inst {
  Prim op;
  bool real = false;  // lanes are floats
  DType dtype = DType::float32;
  uint16_t number = 0;
  uint16_t a = 0, b = 0, c = 0;
  uint64_t bits = 0;
  friend bool operator==(const Inst&, const Inst&) = default;
};
int operands_of(Prim op);

struct BodyOperand {
  DType dtype;
  bool uniform = false;  // one element, repeated for 64 bytes
  bool mask = false;     // of a result: the instruction is a mask, and a byte of 0 or 1 is stored
  friend bool operator==(const BodyOperand&, const BodyOperand&) = default;
};

struct Body {
  int width = 4;  // bytes of a lane
  std::vector<Inst> insts;
  std::vector<BodyOperand> operands;  // loaded ones first, then `results`
  std::vector<uint16_t> results;      // instructions, in the order of their operands
};

// Everything that code depends on, as bytes.
std::string key_of(const Body& body);
std::string to_string(const Body& body);

// Whether a value of a graph can be part of a body of lanes of so many bytes.
bool is_joinable(const loops::Nest& nest, const TileGraph& graph, uint16_t value, int width);

// The body that computes `values` (in order) and stores `outputs`. `loads` becomes the list of values that are read
// from outside: operands are those, then the outputs. All of the values are joinable.
Body build_body(const loops::Nest& nest, const TileGraph& graph, const std::vector<uint16_t>& values,
                const std::vector<uint16_t>& outputs, int width, std::vector<uint16_t>& loads);

}  // namespace sconce::codegen
