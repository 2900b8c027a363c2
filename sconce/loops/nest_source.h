// C++ source of a nest: the loops as a function of plain C++, for reading, and for other compilers. Sizes and strides
// are arguments, as they are in kernels.
//
//   // nest [64, 32]: relu, neg
//   extern "C" void nest_0(void* const* buffers, const int64_t* sizes, const int64_t* const* strides) {
//     for (int64_t i0 = 0; i0 < sizes[0]; ++i0) {
//       for (int64_t i1 = 0; i1 < sizes[1]; ++i1) {
//         const float v0 = ...
//
// Elementary functions are those of the C library, whose last bits differ from eager's.
#pragma once

#include <string>

#include "sconce/loops/nest.h"

namespace sconce::loops {

// What stands before the functions: includes, and what the expressions call that C++ lacks.
SCONCE_API std::string source_prelude();

// One function. Throws Error and names the call where there is no source: row operators, 16-bit and complex numbers,
// special functions that the C library lacks.
SCONCE_API std::string to_source(const Nest& nest, const std::string& name);

}  // namespace sconce::loops
