// Texts: where the CUDA source of a kernel comes from.
//
// A kernel's source is put together when it is first needed, from files that are embedded (text/*.cuh), the expression
// of an operator as the table has it (opgen/loops/device.py) and some lines that say which types and which layout.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sconce/kernels/cpu/engine/reduce_loop.h"
#include "sconce/tensor/dtype.h"

namespace sconce::cuda {

enum class Class : uint8_t { boolean, integer, real, complex };

// One operator: its expression for each class of dtypes, null where there is none.
struct DeviceText {
  const char* name;      // a C identifier, unique: div_Tensor_mode_1
  const char* texts[4];  // by Class
  uint8_t specials;      // files of special functions that it calls: opgen/loops/device.py
};

struct NamedText {
  const char* name;  // of the file, without .cuh
  const char* text;
};

// Generated.
std::span<const std::span<const DeviceText>> pointwise_texts();
std::span<const std::span<const DeviceText>> reduce_texts();
std::span<const NamedText> text_files();

// The text of an operator's loops. Throws Error where libsconce and this library are not of one build.
const DeviceText& text_of(const PointwiseLoops& loops);
// Null for the hand-written ones, which reduce.cpp knows by name.
const DeviceText* text_of(const ReduceLoops& loops);

// An embedded file.
std::string_view text_file(std::string_view name);
// The files that expressions need: prelude, vocabulary, complex numbers and special functions where they are used.
std::string vocabulary(bool complex, uint8_t specials, bool special_vectors);
// Whether an expression calls functions of simd/math/special_vectors.h.
bool uses_special_vectors(std::string_view expression);
// Lines that make V (Z, P), L and the constants those of a compute type.
std::string compute_lines(Compute compute);
Class class_of(Compute compute);
// The type of an element in memory, as texts call it: "bf16".
const char* stored_type(DType dtype);
// The type of the same size that only moves: "u16".
const char* moved_type(int64_t item_size);

}  // namespace sconce::cuda
